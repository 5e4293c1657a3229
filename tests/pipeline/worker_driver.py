"""Runs two workers over a file, and kills them, resumes, or hangs.

Run as: worker_driver.py VOCABULARY SOURCE DESTINATION kill|resume|hang.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time

import wordveil as wv
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.pipeline.runs import run_source, sanitize_documents
from wordveil.randomness import RandomSource

KEY = bytes(range(16))


def main(vocabulary: str, source: str, destination: str, mode: str) -> None:
    """Do one run."""
    randomness = run_source(destination, resume=True) if mode == "resume" else RandomSource(KEY)
    sanitizer = wv.Sanitizer(wv.load_embeddings(vocabulary), wv.TEM(epsilon=2.0), source=randomness, threads=1)

    def after_block(done: int, total: int | None, documents: int, tokens: int) -> None:
        workers = [child.pid for child in multiprocessing.active_children() if child.pid is not None]
        if mode == "hang":
            print(json.dumps(workers), flush=True)
            time.sleep(600)
        if mode == "kill" and documents > 40:  # the first checkpoint is at 40
            # All of them: one that is left could finish so short a run before the death is noticed.
            for worker in workers:
                os.kill(worker, signal.SIGKILL)

    try:
        report = sanitize_documents(
            source,
            destination,
            sanitizer,
            settings=DocumentSettings(
                columns=("text",), block_characters=4000, details=FormatDetails(section_documents=20)
            ),
            resume=mode == "resume",
            workers=2,
            progress=after_block,
        )
    except ChildProcessError as error:
        print(error)
        sys.exit(2)
    print(json.dumps({"resumed": report.resumed_documents, "documents": report.documents}))


if __name__ == "__main__":
    main(*sys.argv[1:])
