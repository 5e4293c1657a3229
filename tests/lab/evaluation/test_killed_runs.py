"""A run that is killed, not interrupted: the next one goes on from its cells and writes the same bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ARGUMENTS = ["evaluate", "-m", "tem", "-e", "3", "--local-epsilon", "6", "--size", "miniature", "--repeats", "2"]
TASKS = ["word-similarity", "odd-man-out", "deniability", "bayes"]


def command(vocabulary: Path, workers: int) -> list[str]:
    chosen = [part for task in TASKS for part in ("-t", task)]
    start = [sys.executable, "-c", "from wordveil.cli.main import main; main()", *ARGUMENTS, *chosen]
    return [*start, "--vocabulary", str(vocabulary), "--workers", str(workers), "--report", "league.json"]


def finished_cells(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("league.json.cells/*.json")}


def kill_after(cells: int, arguments: list[str], folder: Path) -> int:
    """Start a run, kill it and its workers once so many files lie in the cache; return how many there were."""
    run = subprocess.Popen(arguments, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while len(finished_cells(folder)) < cells:
            assert run.poll() is None, "the run ended before it could be killed"
            time.sleep(0.002)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    return len(finished_cells(folder))


@pytest.mark.slow
def test_a_killed_run_goes_on_and_writes_the_same_bytes(world, use_world, tmp_path):
    world.save(tmp_path / "world")
    arguments = command(tmp_path / "world", workers=2)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    subprocess.run(arguments, cwd=whole, check=True, capture_output=True)
    assert 8 <= kill_after(8, arguments, broken) < len(finished_cells(whole))
    kept = {path: path.stat().st_mtime_ns for path in broken.glob("league.json.cells/*.json")}
    subprocess.run(arguments, cwd=broken, check=True, capture_output=True)
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert finished_cells(broken) == finished_cells(whole)
    assert (broken / "league.json").read_bytes() == (whole / "league.json").read_bytes()
