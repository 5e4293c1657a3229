"""What all tests rely on: interrupts that arrive, one profile for Hypothesis, and a note of what was skipped.

An interrupt arrives even where a shell that started the tests in the background ignores it. Examples are the same on
every run, so that a failure is the change's and not the day's; `HYPOTHESIS_PROFILE=fresh` draws new ones, as a nightly
run should. No example has a deadline: how long one takes says nothing on a busy machine.
"""

import os
import re
import signal

import pytest
from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(re.sub(r"@[^]@]*$", "", report.nodeid))  # pytest-xdist ends an id with the test's group


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the ids of what was skipped, for a run with more installed: `.ci/run` goes on with these."""
    if not hasattr(session.config, "workerinput") and hasattr(session.config, "cache"):
        session.config.cache.set("wordveil/skipped", sorted(set(_skipped)))
