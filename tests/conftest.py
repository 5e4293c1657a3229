"""What all tests rely on: interrupts that arrive, and one profile for Hypothesis.

An interrupt arrives even where a shell that started the tests in the background ignores it. Examples are the same on
every run, so that a failure is the change's and not the day's; `HYPOTHESIS_PROFILE=fresh` draws new ones, as a nightly
run should. No example has a deadline: how long one takes says nothing on a busy machine.

Where WORDVEIL_SKIPPED names a file, the tests that were skipped are listed there, one a line: a later run in a fuller
environment takes these (`pytest @FILE`).
"""

import os
import signal
from pathlib import Path

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_terminal_summary(terminalreporter):
    if place := os.environ.get("WORDVEIL_SKIPPED"):
        names = dict.fromkeys(report.nodeid for report in terminalreporter.stats.get("skipped", ()))
        Path(place).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
