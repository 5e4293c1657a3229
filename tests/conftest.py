"""What all tests rely on: interrupts that arrive, one profile for Hypothesis, notes of what was skipped or computed.

An interrupt arrives even where a shell that started the tests in the background ignores it. Examples are the same on
every run, so that a failure is the change's and not the day's; `HYPOTHESIS_PROFILE=fresh` draws new ones, as a nightly
run should. No example has a deadline: how long one takes says nothing on a busy machine.
"""

import functools
import os
import re
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

import seeds
from wordveil.kernels.compiled import library

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

ENGINE = "engine"
"""The property of a report whose test asked for an engine that the environment chooses."""

_skipped: list[str] = []
_computed: set[str] = set()
_computing_files: set[str] = set()
_asked = 0


def pytest_configure() -> None:
    """Count how often the engine is asked for where a test names none: to know whose bytes may depend on it."""
    engines, environment = library.available_engines, os.environ.get(library.VARIABLE)

    @functools.wraps(engines)
    def counted() -> tuple[str, ...]:
        global _asked
        _asked += os.environ.get(library.VARIABLE) == environment
        return engines()

    library.available_engines = counted


def pytest_report_header() -> str:
    return f"seeds: {seeds.VARIABLE}={seeds.SHIFT}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    before = _asked
    report = yield
    if _asked > before:
        _computing_files.add(collector.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """What a fixture computes may serve every test of its file."""
    before = _asked
    yield
    if _asked > before:
        _computing_files.add(item.nodeid.split("::")[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = _asked
    try:
        yield
    finally:
        if _asked > before or item.nodeid.split("::")[0] in _computing_files:
            item.user_properties.append((ENGINE, True))


def _test(report: pytest.TestReport) -> str:
    return re.sub(r"@[^]@]*$", "", report.nodeid)  # pytest-xdist ends an id with the test's group


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(_test(report))
    if (ENGINE, True) in map(tuple, report.user_properties):
        _computed.add(_test(report))
    if report.failed and seeds.SHIFT:
        report.sections.append(("seeds", f"This run's seeds are those of {seeds.VARIABLE}={seeds.SHIFT}."))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the ids of what was skipped and of what was computed by the engine: `.ci/run` goes on with these."""
    if not hasattr(session.config, "workerinput") and hasattr(session.config, "cache"):
        session.config.cache.set("wordveil/skipped", sorted(set(_skipped)))
        session.config.cache.set("wordveil/engine", sorted(_computed))
