"""Apply each fault of the catalogue to a copy of the tree and see whether the tests notice: `python run.py [ID ...]`.

Prints one line a mutation: the verdict, the time, what goes wrong and the test that noticed, which must pass again once
the fault is out. Exits 1 if a fault survives that is not known to be equivalent, or could not be put in. It takes long,
runs at low priority, and is no part of the unit run. With `--resume FILE` verdicts are kept in FILE, and those found on
the same tree are not sought again.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from catalogue import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis", "build", "dist")
NICE = 15
FAILED_FILE = Path(".pytest_cache", "v", "cache", "lastfailed")


def run_tests(tree: Path, *arguments: str) -> int:
    """Run pytest in the copy on the copy's own code; return 0 where all passed and 1 where a test failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree / 'lab' / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False)
    if answer.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {answer.returncode}:\n{answer.stdout.decode()[-2000:]}")
    return answer.returncode


def noticed_by(mutation: Mutation, tree: Path) -> str:
    """Return the test that fails with the fault in place and passes without it; empty where all named ones pass."""
    place = tree / "src" / "wordveil" / mutation.path
    sound = place.read_text(encoding="utf-8")
    if sound.count(mutation.old) != 1:
        raise RuntimeError(f"its text stands {sound.count(mutation.old)} times in {mutation.path}")
    names, left_out = [f"tests/{name}" for name in mutation.tests], []
    while True:
        shutil.rmtree(tree / ".pytest_cache", ignore_errors=True)
        place.write_text(sound.replace(mutation.old, mutation.new), encoding="utf-8")
        try:
            failed = run_tests(tree, *names, *(f"--deselect={test}" for test in left_out))
        finally:
            place.write_text(sound, encoding="utf-8")
        if not failed:
            return ""
        test = next(iter(json.loads((tree / FAILED_FILE).read_text(encoding="utf-8"))))
        if not run_tests(tree, test):
            return test
        print(f"{test} fails without a fault too and is left out", file=sys.stderr, flush=True)
        left_out.append(test)


def tree_mark(tree: Path) -> str:
    """Return a hash of all files of the copy, names and contents."""
    digest = hashlib.sha256()
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(tree)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def main(arguments: list[str]) -> int:
    """Run the chosen mutations, or all; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", choices=[[], *(m.id for m in MUTATIONS)])
    parser.add_argument("--resume", type=Path, metavar="FILE", help="where verdicts are kept")
    options = parser.parse_args(arguments)
    os.nice(NICE)
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "wordveil"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        mark = tree_mark(tree)
        known = _verdicts(options.resume, mark)
        for mutation in MUTATIONS:
            if options.ids and mutation.id not in options.ids:
                continue
            if mutation.id not in known:
                started = time.monotonic()
                try:
                    test = noticed_by(mutation, tree)
                except (RuntimeError, OSError) as error:
                    print(f"{mutation.id}  NOT TRIED: {error}", flush=True)
                    bad += 1
                    continue
                known[mutation.id] = {"id": mutation.id, "tree": mark, "test": test, "s": time.monotonic() - started}
                if options.resume:
                    with options.resume.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(known[mutation.id]) + "\n")
            bad += _print(mutation, **known[mutation.id])
    return 1 if bad else 0


def _verdicts(file: Path | None, mark: str) -> dict[str, dict]:
    """Return the verdicts kept for this tree, by mutation."""
    if file is None or not file.exists():
        return {}
    kept = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {verdict["id"]: verdict for verdict in kept if verdict["tree"] == mark}


def _print(mutation: Mutation, *, test: str, s: float, **_: str) -> bool:
    """Print the line of one mutation; return whether it survived and should not have."""
    bad = not test and not mutation.equivalent
    verdict = "killed" if test else "SURVIVED" if bad else "equivalent"
    print(f"{mutation.id}  {verdict:10}  {s:5.0f} s  {mutation.what}  {test.removeprefix('tests/')}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
