"""What a run costs from text to text: stages in processor time, beside what any program would pay for the same bytes.

The mechanism is neighbour response, a table gather. References, in the same rounds: a copy of the texts, a plain gather
of as many ids, the JSON module alone, zlib alone.

Usage: python -m wordveil_lab.timing.text_side FILE.jsonl.gz COLUMN [ROUNDS]
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import wordveil as wv
from wordveil.api import DocumentSettings, InputStream, MemberCompressor, PrivateText, nonces
from wordveil_lab.benchmarks.machine import best_timing

BLOCK_DOCUMENTS = 18_000  # about a block of a run
GZIP_LEVEL = 4  # as the outputs
GZIP = ("decompress", "compress")


class Stages:
    """Processor seconds by stage, the best of all rounds."""

    def __init__(self) -> None:
        self.best: dict[str, float] = {}
        self._round: dict[str, float] = {}

    def timed(self, name: str, work: Callable[[], Any]) -> Any:
        """Do the work; its time is added to the stage's in this round."""
        start = time.process_time()
        result = work()
        self._round[name] = self._round.get(name, 0.0) + time.process_time() - start
        return result

    def end_round(self) -> None:
        """Keep what was better than before."""
        for name, seconds in self._round.items():
            self.best[name] = min(seconds, self.best.get(name, seconds))
        self._round = {}


def one_round(stages: Stages, source: Path, column: str, sanitizer: wv.Sanitizer, output: Path) -> int:
    """Do by hand what a run does, stage by stage; returns the number of tokens."""
    stages.timed("decompress", lambda: InputStream(str(source)).stream.read())
    reader = DocumentSettings(columns=(column,), keep_others=True).open(source)
    records = stages.timed("decompress and parse", lambda: list(reader))
    tokens, released, writer = 0, [], sanitizer.parts.writer
    for first in range(0, len(records), BLOCK_DOCUMENTS):
        block = records[first : first + BLOCK_DOCUMENTS]
        texts = [PrivateText(record.texts[0] or "") for record in block]
        places = sanitizer.places(record.key for record in block)
        documents = [[text] for text in texts]
        where = stages.timed("place of noise", partial(nonces, sanitizer.source, places, documents))
        prepared = stages.timed("encode", partial(sanitizer.prepare, documents))
        drawn = stages.timed("draw", partial(sanitizer.release_ids, prepared.tokens, prepared.cost, where))
        released += stages.timed("write words", partial(writer.write_parts, prepared.parts, drawn))
        tokens += len(drawn)
    pairs = list(zip(records, released, strict=True))
    lines = stages.timed("serialize", lambda: [reader.format.render(record, [text]) for record, text in pairs])
    compressor = MemberCompressor("gz")
    packed = stages.timed("compress", lambda: [*map(compressor.feed, lines), compressor.close_member()])
    output.write_bytes(b"".join(packed))
    return tokens


def references(stages: Stages, source: Path, output: Path, tokens: int) -> None:
    """Do what any program has to do for the same bytes."""
    packed = source.read_bytes()
    plain = zlib.decompress(output.read_bytes(), wbits=31)
    stages.timed("zlib alone", lambda: (gzip.decompress(packed), zlib.compress(plain, GZIP_LEVEL)))
    lines = plain.splitlines()
    stages.timed("json alone", lambda: [json.dumps(json.loads(line)) for line in lines])
    data, table = np.frombuffer(plain, np.uint8), np.arange(1 << 19, dtype=np.int32)
    places = np.random.default_rng(0).integers(0, len(table), tokens)
    stages.timed("copy of the texts", data.copy)
    stages.timed("plain gather", lambda: table[places])


def main(source: Path, column: str, rounds: int) -> None:
    """Print the table."""
    sanitizer = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(epsilon=8.0))
    stages, limits, whole = Stages(), Stages(), []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.jsonl.gz"
        for _ in range(rounds):
            tokens = one_round(stages, source, column, sanitizer, output)
            stages.end_round()
            references(limits, source, output, tokens)
            limits.end_round()
            settings = DocumentSettings(columns=(column,), keep_others=True)
            run = partial(wv.sanitize_documents, source, output, sanitizer, settings=settings, again=True)
            whole.append(best_timing(run, 1))
    parse = stages.best.pop("decompress and parse") - stages.best["decompress"]
    own = {"parse": parse} | {name: seconds for name, seconds in stages.best.items() if name not in GZIP}
    for name, seconds in (own | {name: stages.best[name] for name in GZIP} | limits.best).items():
        share = f"{seconds / sum(own.values()):6.1%}" if name in own else ""
        print(f"{name:22s} {seconds:7.3f} s {1e9 * seconds / tokens:7.1f} ns/token {share}")
    print(f"without gzip: {tokens / sum(own.values()):,.0f} tokens/s/core of {tokens:,} tokens")
    print(f"whole run: {tokens / min(run.cpu for run in whole):,.0f} tokens/s by processor time,")
    print(f"{tokens / min(run.wall for run in whole):,.0f} tokens/s on the clock, best of {rounds}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
