"""Apply each fault of the catalogue to a copy of the tree and see whether the tests notice: `python run.py [ID ...]`.

Prints one line a mutation and exits 1 if a fault survives that is not known to be equivalent. It takes long, and is no
part of the unit run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from catalogue import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]


def survives(mutation: Mutation, tree: Path) -> bool:
    """Return whether every test named still passes with the fault in place; the file is put back."""
    place = tree / "src" / "wordveil" / mutation.path
    sound = place.read_text(encoding="utf-8")
    if sound.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.id}: its text stands {sound.count(mutation.old)} times in {mutation.path}.")
    place.write_text(sound.replace(mutation.old, mutation.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    tests = [str(tree / "tests" / name) for name in mutation.tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        answer = subprocess.run([*command, *tests], cwd=tree, env=environment, capture_output=True, check=False)
    finally:
        place.write_text(sound, encoding="utf-8")
    if answer.returncode not in (0, 1):
        raise SystemExit(f"{mutation.id}: pytest ended with {answer.returncode}:\n{answer.stdout.decode()[-2000:]}")
    return answer.returncode == 0


def main(chosen: list[str]) -> int:
    """Run the chosen mutations, or all; return the exit status."""
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "wordveil"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache"))
        for mutation in MUTATIONS:
            if chosen and mutation.id not in chosen:
                continue
            started = time.monotonic()
            alive = survives(mutation, tree)
            bad = alive and not mutation.equivalent
            failed += bad
            verdict = ("SURVIVED" if bad else "equivalent") if alive else "killed"
            print(f"{mutation.id}  {verdict:10}  {time.monotonic() - started:5.0f} s  {mutation.what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
