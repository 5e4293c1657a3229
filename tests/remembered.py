"""Writes build/NAME.txt: the ids of tests that runs noted under NAME, less those that they noted under other names.

Run as: python tests/remembered.py FOLDER NAME [OTHER ...]. FOLDER is where the caches of those runs lie.
"""

import json
import pathlib
import sys


def noted(folder: str, name: str) -> set[str]:
    notes = pathlib.Path(folder, ".pytest_cache").glob(f"**/v/wordveil/{name}")
    return {test for note in notes for test in json.loads(note.read_text())}


folder, name, *others = sys.argv[1:]
tests = noted(folder, name).difference(*(noted(folder, other) for other in others))
pathlib.Path("build").mkdir(exist_ok=True)
pathlib.Path(f"build/{name}.txt").write_text("".join(f"{test}\n" for test in sorted(tests)))
