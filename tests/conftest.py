"""What all tests rely on: interrupts that arrive, and one profile for Hypothesis.

An interrupt arrives even where a shell that started the tests in the background ignores it. Examples are the same on
every run, so that a failure is the change's and not the day's; `HYPOTHESIS_PROFILE=fresh` draws new ones, as a nightly
run should. No example has a deadline: how long one takes says nothing on a busy machine.
"""

import os
import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
