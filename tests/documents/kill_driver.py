"""Kills runs with SIGKILL at every step that touches the disk, resumes them, prints what came of it as JSON.

Run as: python -m tests.documents.kill_driver SOURCE DESTINATION COLUMNS SECTION BLOCK. A child process is forked for
every point of death: before and after each fsync, rename and removal, and inside the transform. A second child resumes.
"""

import json
import pathlib
import shutil
import signal
import sys
from collections import Counter
from functools import partial

from tests.dying import Death, in_child

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, FormatDetails, Record
from wordveil.files.journal import is_resumable
from wordveil.runs.documents import run_documents


def run(arguments: list[str], steps: int, *, resume: bool) -> None:
    source, destination, columns, section, block = arguments
    death, counts = Death(steps), Counter()
    death.around_the_disk()

    def process(records: list[Record]) -> list[list[ReleasedText | None]]:
        death.step()
        counts["characters"] += sum(len(text or "") for record in records for text in record.texts)
        return [
            [None if t is None else ReleasedText(f"{t.upper()}#{r.text_key(i)}") for i, t in enumerate(r.texts)]
            for r in records
        ]

    settings = DocumentSettings(
        columns=tuple(columns.split(",")) if columns else (),
        keep_others=True,
        details=FormatDetails(section_documents=int(section), row_group_rows=7),
        block_characters=int(block),
    )
    summary = run_documents(source, destination, process, settings=settings, resume=resume, counts=counts)
    print(json.dumps([summary.documents, summary.resumed_documents, counts["characters"]]), flush=True)


def content(path: pathlib.Path) -> dict[str, str]:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return {p.relative_to(path.parent).as_posix(): p.read_bytes().hex() for p in files}


def finished_tree(path: pathlib.Path) -> bool:
    """Whether a tree is in place and nothing is left to resume: a run that died after its last step."""
    return path.is_dir() and any(path.iterdir()) and not is_resumable(path)


def remove(path: pathlib.Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def main(arguments: list[str]) -> None:
    destination = pathlib.Path(arguments[1])
    if destination.suffix == ".parquet":
        import pyarrow.parquet  # noqa: F401 (once for all children)
    status, counted = in_child(partial(run, arguments, 0, resume=False))
    assert status == 0
    expected = content(destination)
    remove(destination)
    outcomes = []
    for steps in range(1, 10_000):
        killed, _ = in_child(partial(run, arguments, steps, resume=False))
        early = bool(content(destination)) if destination.exists() else False
        half = is_resumable(destination)
        for limit in (3 + steps % 5, 0):  # the resumed run may be killed too
            if finished_tree(destination):
                resumed, recounted = 0, [counted[0], 0, counted[2]]
                break
            resumed, recounted = in_child(partial(run, arguments, limit, resume=True))
            if resumed == 0:
                break
            assert (resumed, limit > 0) == (-signal.SIGKILL, True)
        outcomes.append(
            {
                "killed": killed,
                "resumed": resumed,
                "same": content(destination) == expected,
                "early_and_wrong": early and content(destination) != expected,
                "half": half,
                "taken_over": recounted[1],
                "counts_equal": [recounted[0], recounted[2]] == [counted[0], counted[2]],
                "left": sorted(p.name for p in destination.parent.iterdir() if p.name.startswith(".")),
            }
        )
        remove(destination)
        if killed == 0:
            break
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])
