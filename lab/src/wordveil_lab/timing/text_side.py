"""What a run costs from text to text: stages in processor time, beside what any program would pay for the same bytes.

The mechanism is neighbour response, a table gather. References, in the same rounds: a copy of the texts, a plain gather
of as many ids, the JSON module alone, zlib alone. Beside splitting the texts at blanks stands redaction: the compiled
pass, which writes placeholders that nothing links, and the reference in Python, which does everything else.

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
SPARED = 20  # one text in so many is read by the slow reference, whose time counts so many times
GZIP_LEVEL = 4  # as the outputs
GZIP = ("decompress", "compress")


Documents = list[list[PrivateText]]


class Stages(dict[str, float]):
    """Processor seconds of a round by stage."""

    def timed(self, name: str, work: Callable[[], Any]) -> Any:
        """Do the work; its time is added to the stage's."""
        start = time.process_time()
        result = work()
        self[name] = self.get(name, 0.0) + time.process_time() - start
        return result


def one_round(
    stages: Stages, source: Path, column: str, sanitizer: wv.Sanitizer, output: Path
) -> tuple[int, Documents]:
    """Do by hand what a run does, stage by stage; returns the number of tokens, and the texts."""
    stages.timed("decompress", lambda: InputStream(str(source)).stream.read())
    reader = DocumentSettings(columns=(column,), keep_others=True).open(source)
    records = stages.timed("decompress and parse", lambda: list(reader))
    tokens, read, released, writer = 0, list[list[PrivateText]](), [], sanitizer.parts.writer
    for first in range(0, len(records), BLOCK_DOCUMENTS):
        block = records[first : first + BLOCK_DOCUMENTS]
        documents = [[PrivateText(record.texts[0] or "")] for record in block]
        places = sanitizer.places(record.key for record in block)
        where = stages.timed("place of noise", partial(nonces, sanitizer.source, places, documents))
        prepared = stages.timed("encode", partial(sanitizer.prepare, documents))
        drawn = stages.timed("draw", partial(sanitizer.release_ids, prepared.tokens, prepared.cost, where))
        released += stages.timed("write words", partial(writer.write_parts, prepared.parts, drawn))
        tokens, read = tokens + len(drawn), read + documents
    pairs = list(zip(records, released, strict=True))
    lines = stages.timed("serialize", lambda: [reader.format.render(record, [text]) for record, text in pairs])
    compressor = MemberCompressor("gz")
    packed = stages.timed("compress", lambda: [*map(compressor.feed, lines), compressor.close_member()])
    output.write_bytes(b"".join(packed))
    return tokens, read


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


def redaction(stages: Stages, documents: Documents) -> None:
    """Redact the texts, and split them at blanks."""
    compiled, reference = wv.Redactor(), wv.Redactor(link="document")
    stages.timed("split at blanks", lambda: [text.split() for (text,) in documents])
    stages.timed("redact", partial(compiled.release_rows, documents, judged=False))
    name = "redact, reference"
    stages.timed(name, partial(reference.release_rows, documents[::SPARED], judged=False))
    stages[name] *= len(documents) / len(documents[::SPARED])


def main(source: Path, column: str, rounds: int) -> None:
    """Print the table."""
    sanitizer = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(epsilon=8.0))
    stages, limits, whole = list[Stages](), list[Stages](), []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.jsonl.gz"
        for _ in range(rounds):
            stages.append(Stages())
            tokens, documents = one_round(stages[-1], source, column, sanitizer, output)
            limits.append(Stages())
            references(limits[-1], source, output, tokens)
            redaction(limits[-1], documents)
            settings = DocumentSettings(columns=(column,), keep_others=True)
            run = partial(wv.sanitize_documents, source, output, sanitizer, settings=settings, again=True)
            whole.append(best_timing(run, 1))
    best, beside = ({name: min(one[name] for one in rounds) for name in rounds[0]} for rounds in (stages, limits))
    parse = best.pop("decompress and parse") - best["decompress"]
    own = {"parse": parse} | {name: seconds for name, seconds in best.items() if name not in GZIP}
    for name, seconds in (own | {name: best[name] for name in GZIP} | beside).items():
        share = f"{seconds / sum(own.values()):6.1%}" if name in own else ""
        print(f"{name:22s} {seconds:7.3f} s {1e9 * seconds / tokens:7.1f} ns/token {share}")
    print(f"without gzip: {tokens / sum(own.values()):,.0f} tokens/s/core of {tokens:,} tokens")
    print(f"whole run: {tokens / min(run.cpu for run in whole):,.0f} tokens/s by processor time,")
    print(f"{tokens / min(run.wall for run in whole):,.0f} tokens/s on the clock, best of {rounds}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
