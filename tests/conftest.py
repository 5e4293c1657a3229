"""What all tests rely on: interrupts that arrive, one profile for Hypothesis, notes of what was skipped or computed.

An interrupt arrives even where a shell that started the tests in the background ignores it. Examples are the same on
every run, so that a failure is the change's and not the day's; `HYPOTHESIS_PROFILE=fresh` draws new ones, as a nightly
run should. No example has a deadline: how long one takes says nothing on a busy machine.
"""

import functools
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import seeds
from wordveil.arrays import PrivateText
from wordveil.kernels.compiled import library
from wordveil.text.encoding import EncodedBatch, Encoder
from wordveil.vocabulary.table import Embeddings, load_embeddings
from worlds import shared

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

NOTED = ("engine", "seeded")
"""The properties of a report whose test asked for an engine that the environment chooses, or for a seed or a key."""

_skipped: list[str] = []
_tests: dict[str, set[str]] = {name: set() for name in NOTED}
_files: dict[str, set[str]] = {name: set() for name in NOTED}
_asked = dict.fromkeys(NOTED, 0)


@pytest.fixture
def engine(request, monkeypatch) -> str:
    """The engine of the parameter, which the environment then names."""
    monkeypatch.setenv(library.VARIABLE, request.param)
    return request.param


@pytest.fixture
def short_turns() -> Iterator[None]:
    """Let threads change turns every microsecond, as they would on a busy machine."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def encoded(monkeypatch) -> list[str]:
    """The texts that encoders were given to read since the test began."""
    texts: list[str] = []
    encode_parts = Encoder.encode_parts

    def noted(encoder: Encoder, given: Iterable[PrivateText]) -> Iterator[EncodedBatch]:
        given = list(given)
        texts.extend(given)
        return encode_parts(encoder, given)

    monkeypatch.setattr(Encoder, "encode_parts", noted)
    return texts


@pytest.fixture(scope="session")
def packaged() -> Embeddings:
    """The vocabulary that the package brings."""
    return load_embeddings()


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The folder of the shared data sets; without it the test is skipped."""
    return shared()


def pytest_configure() -> None:
    """Count how often an engine is asked for where a test names none, and seeds: to know what may depend on which.

    What the operating system is asked for comes from the seeds, too.
    """
    engines, environment = library.available_engines, os.environ.get(library.VARIABLE)
    numbered, entropy = seeds.seed, seeds.entropy

    @functools.wraps(engines)
    def counted_engines() -> tuple[str, ...]:
        _asked["engine"] += os.environ.get(library.VARIABLE) == environment
        return engines()

    @functools.wraps(numbered)
    def counted_seed(number: int) -> int:
        _asked["seeded"] += 1
        return numbered(number)

    @functools.wraps(entropy)
    def counted_entropy(size: int) -> bytes:
        _asked["seeded"] += 1
        return entropy(size)

    library.available_engines, seeds.seed, os.urandom = counted_engines, counted_seed, counted_entropy


def _grown(before: dict[str, int]) -> list[str]:
    return [name for name in NOTED if _asked[name] > before[name]]


def pytest_report_header() -> str:
    return f"seeds: {seeds.VARIABLE}={seeds.SHIFT}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    before = dict(_asked)
    report = yield
    for name in _grown(before):
        _files[name].add(collector.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """What a fixture computes may serve every test of its file."""
    before = dict(_asked)
    seeds.begin(_without_group(item.nodeid))
    yield
    for name in _grown(before):
        _files[name].add(item.nodeid.split("::")[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = dict(_asked)
    try:
        yield
    finally:
        grown, file = _grown(before), item.nodeid.split("::")[0]
        item.user_properties += [(name, True) for name in NOTED if name in grown or file in _files[name]]


def _without_group(name: str) -> str:
    """Return a test's name without the group with which pytest-xdist ends it."""
    return re.sub(r"@[^]@]*$", "", name)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(_without_group(report.nodeid))
    for name, _ in report.user_properties:
        if name in NOTED:
            _tests[name].add(_without_group(report.nodeid))
    if report.failed and seeds.SHIFT:
        report.sections.append(("seeds", f"This run's seeds are those of {seeds.VARIABLE}={seeds.SHIFT}."))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the ids of what was skipped, computed by the engine and seeded: `.ci/run` goes on with these."""
    if not hasattr(session.config, "workerinput") and hasattr(session.config, "cache"):
        for name, tests in {"skipped": set(_skipped), **_tests}.items():
            session.config.cache.set(f"wordveil/{name}", sorted(tests))
