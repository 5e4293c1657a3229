"""Writes build/NAME.txt: the ids of tests that a run noted under NAME, less those that it noted under other names.

Run as: python tests/remembered.py FOLDER NAME [OTHER ...]. FOLDER is where that run's cache lies.
"""

import json
import pathlib
import sys


def noted(folder: str, name: str) -> set[str]:
    return set(json.loads((pathlib.Path(folder) / ".pytest_cache/v/wordveil" / name).read_text()))


folder, name, *others = sys.argv[1:]
tests = noted(folder, name).difference(*(noted(folder, other) for other in others))
pathlib.Path("build").mkdir(exist_ok=True)
pathlib.Path(f"build/{name}.txt").write_text("".join(f"{test}\n" for test in sorted(tests)))
