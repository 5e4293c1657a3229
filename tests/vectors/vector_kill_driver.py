"""Kills releases of a file with SIGKILL at every step that touches the disk, resumes them, prints what came of it.

Run as: python -m tests.vectors.vector_kill_driver SOURCE DESTINATION KEEP. A child process is forked for every point of
death: before and after each fsync, rename and removal, and inside the release of each block. A second child resumes.
"""

import importlib
import json
import pathlib
import shutil
import sys
from functools import partial

from tests import seeds
from tests.beside import names
from tests.dying import Death, in_child

from wordveil.files.records import record_path
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.randomness import RandomSource
from wordveil.runs.vectors import VectorSettings, release_vector_file
from wordveil.runs.vectors.releasing import RowReleaser

KEY = seeds.key(16)


def run(arguments: list[str], steps: int, *, resume: bool) -> None:
    source, destination, keep = arguments
    death = Death(steps)
    death.around_the_disk()
    shutil.rmtree = death.around(shutil.rmtree)
    RowReleaser.release = death.around(RowReleaser.release)
    report = release_vector_file(
        source,
        destination,
        MultivariateLaplace(epsilon=5.0),
        settings=VectorSettings(block_rows=20 if steps else 9, keep=tuple(filter(None, [keep])) or None, threads=1),
        source=RandomSource(KEY),
        resume=resume,
    )
    print(json.dumps([report.rows, report.resumed_rows]), flush=True)


def main() -> None:
    arguments = sys.argv[1:]
    target = pathlib.Path(arguments[1])
    if target.suffix == ".parquet":
        for name in ("numpy.ma", "pyarrow.parquet", "pyarrow.compute"):
            importlib.import_module(name)  # once, and not in every child
    assert in_child(partial(run, arguments, 0, resume=False))[0] == 0
    whole = target.read_bytes()
    outcomes = []
    for steps in range(1, 1000):
        for path in (target, record_path(target)):
            path.unlink(missing_ok=True)
        killed, _ = in_child(partial(run, arguments, steps, resume=False))
        early = target.exists() and target.read_bytes() != whole
        resumed, counts = in_child(partial(run, arguments, 0, resume=True))
        outcomes.append(
            {
                "killed": killed,
                "resumed": resumed,
                "taken_over": counts[1] if counts else None,
                "same": target.exists() and target.read_bytes() == whole,
                "early_and_wrong": early,
                "left": [name for name in names(target.parent) if name != target.name],
            }
        )
        if killed == 0:
            break
    print(json.dumps(outcomes))


main()
