"""What a run costs apart from the mechanism: stages in processor time, and whole runs, in turns with the zlib limit.

The mechanism measured with gives every word back, so it promises nothing and exists only here. Everything else is the
run a user starts: documents, tokens, ids, stand-ins for unknown words (drawn for every token), texts, output.

Usage: python tools/measure_text_side.py FILE.jsonl.gz COLUMN [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import wordveil as wv
from wordveil.arrays import IdArray
from wordveil.documents import DocumentSettings, open_documents
from wordveil.documents.streams import InputStream, MemberCompressor
from wordveil.mechanisms.base import Progress, WordMechanism, WordRandomizer
from wordveil.pipeline.runs import sanitize_documents
from wordveil.promises.guarantees import Guarantee, NoGuarantee
from wordveil.randomness import Draws, Stream
from wordveil.text.encoded import tokens_per_text
from wordveil.vocabulary.table import Embeddings

BLOCK_DOCUMENTS = 18_000  # about a block of a run
GZIP_LEVEL = 4  # as the outputs


@dataclass(frozen=True, kw_only=True)
class Unchanged(WordMechanism):
    """Gives every word back."""

    name = "unchanged"
    paper = ""

    def fit(self, embeddings: Embeddings) -> WordRandomizer:
        return UnchangedWords(embeddings)


class UnchangedWords(WordRandomizer):
    """`Unchanged` over a vocabulary; draws nothing."""

    draw_width = 1

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings

    def guarantee(self) -> Guarantee:
        return NoGuarantee(reason="words are not changed")

    def sample(self, stream: Stream, n: int) -> Draws:
        return (np.empty(n),)

    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        return ids


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
    reader = open_documents(source, columns=(column,))
    records = stages.timed("decompress and parse", lambda: list(reader))
    encoder, writer = sanitizer.parts.encoder, sanitizer.parts.writer
    tokens, released = 0, []
    for first in range(0, len(records), BLOCK_DOCUMENTS):
        block = records[first : first + BLOCK_DOCUMENTS]
        texts = [record.texts[0] or "" for record in block]
        ids = [record.key for record in block]
        nonces = stages.timed(
            "place of noise", lambda texts=texts, ids=ids: sanitizer.nonces([[text] for text in texts], ids)
        )
        parts = stages.timed("encode", lambda texts=texts: list(encoder.encode_parts(texts)))
        encoded, counts = np.concatenate([part.ids for part in parts]), tokens_per_text(parts)
        drawn = stages.timed("stand-ins", lambda e=encoded, c=counts, n=nonces: sanitizer.release_ids(e, c, n))
        released += stages.timed("write words", lambda p=parts, d=drawn: writer.write_parts(p, d))
        tokens += len(drawn)
    pairs = list(zip(records, released, strict=True))
    lines = stages.timed("serialise", lambda: [reader.render(record, [text]) for record, text in pairs])
    with output.open("wb") as file:
        compressor = MemberCompressor("gz")
        stages.timed("compress", lambda: [file.write(compressor.feed(line)) for line in lines])
        file.write(compressor.close_member())
    return tokens


def zlib_limit(source: Path, output: Path) -> float:
    """Processor seconds to decompress the input and compress the output's bytes, nothing else."""
    data, plain = source.read_bytes(), zlib.decompress(output.read_bytes(), wbits=31)
    start = time.process_time()
    unpacker = zlib.decompressobj(wbits=31)
    unpacker.decompress(data)
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
    packer.compress(plain)
    packer.flush()
    return time.process_time() - start


def main(source: Path, column: str, rounds: int) -> None:
    """Print the table."""
    sanitizer = wv.Sanitizer(wv.load_embeddings(), Unchanged())
    stages, whole, wall, limit = Stages(), [], [], []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.jsonl.gz"
        for _ in range(rounds):
            tokens = one_round(stages, source, column, sanitizer, output)
            stages.end_round()
            limit.append(zlib_limit(source, output))
            started, clock = time.process_time(), time.perf_counter()
            settings = DocumentSettings(columns=(column,))
            report = sanitize_documents(source, output, sanitizer, settings=settings)
            whole.append(time.process_time() - started)
            wall.append(time.perf_counter() - clock)
    parts = {name: seconds for name, seconds in stages.best.items() if name != "decompress"}
    for name, seconds in stages.best.items():
        share = "" if name == "decompress" else f"{seconds / sum(parts.values()):6.1%}"
        print(f"{name:22s} {seconds:7.3f} s {1e9 * seconds / tokens:6.0f} ns/token {share}")
    print(f"stages in all: {tokens / sum(parts.values()):,.0f} tokens/s/core of {tokens:,} tokens")
    print(f"zlib alone, both ways: {tokens / min(limit):,.0f} tokens/s/core")
    print(f"whole run: {report.tokens / min(whole):,.0f} tokens/s by processor time,")
    print(f"{report.tokens / min(wall):,.0f} tokens/s on the clock, best of {rounds}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
