"""Run `wordveil certify`, save after every step, and die by a signal at the step named; run by test_one_rate.py.

python certify_driver.py SIGNAL STEP ARGUMENTS...
"""

import os
import signal
import sys
from contextlib import contextmanager

from wordveil.certification import normalizer_lipschitz as interruption
from wordveil.cli import certify as command
from wordveil.cli.main import main

number, last = signal.Signals[sys.argv[1]], int(sys.argv[2])
interruption._SECONDS = 0.0


@contextmanager
def deadly(unit):
    steps = 0

    def report(visited):
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), number)

    yield report


command.count_bar = deadly
sys.argv[1:] = ["certify", *sys.argv[3:]]
main()
