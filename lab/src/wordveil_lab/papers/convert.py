"""Makes the file of a paper's role from the original download, as `originals.toml` says.

python -m wordveil_lab.papers.convert ROLE ORIGINAL OUT

ORIGINAL is an archive (.zip, .tar, .tar.gz), a folder or a file, read as it is written; OUT ends in .tsv, .jsonl or
.jsonl.gz, and a table of vectors has the name that it has inside.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any, TextIO

from wordveil.api import DataFormatError, ParameterError, WordveilError, check_choice
from wordveil_lab.package import told
from wordveil_lab.rows import file_digest

Form = Mapping[str, Any]


def members(original: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the bytes of each file inside an archive or folder, or those of the file itself."""
    if original.is_dir():
        for path in filter(Path.is_file, sorted(original.rglob("*"))):
            yield from members(path)
    elif zipfile.is_zipfile(original):
        with zipfile.ZipFile(original) as archive:
            yield from ((name, archive.open(name)) for name in archive.namelist())
    elif tarfile.is_tarfile(original):
        with tarfile.open(original) as tar:
            yield from ((member.name, stream) for member in tar if (stream := tar.extractfile(member)))
    else:
        with original.open("rb") as stream:
            yield original.as_posix(), stream


def _lines(stream: TextIO, form: Form) -> Iterator[list[str]]:
    for number, line in enumerate(stream):
        if number >= form.get("skip", 0) and line.strip() and not line.startswith(form.get("comment", "\0")):
            whole = line.rstrip("\r\n")
            yield re.split(form["split"], whole, maxsplit=form.get("most", 0)) if "split" in form else [whole]


def _trees(stream: TextIO, form: Form) -> Iterator[list[str]]:
    for (line,) in _lines(stream, form):
        words = " ".join(re.findall(r"\(\d ([^()]+)\)", line))
        yield [line[1], words.replace("-LRB-", "(").replace("-RRB-", ")")]


READERS: dict[str, Callable[[TextIO, Form], Iterator[list[str]]]] = {
    "lines": _lines,
    "trees": _trees,
    "whole": lambda stream, form: iter([[stream.read()]]),
    "csv": lambda stream, form: csv.reader(stream),
    "json": lambda stream, form: ([str(json.loads(line)[key]) for key in form["fields"]] for line in stream),
}


def records(original: Path, form: Form) -> Iterator[dict[str, str]]:
    """Yield the rows that an original holds in a form of `originals.toml`."""
    labels = form.get("labels")
    for name, raw in members(original):
        for part in [part for pattern, part in form["parts"].items() if fnmatch(f"/{name}", pattern)]:
            text = io.TextIOWrapper(raw, encoding=form.get("encoding", "utf-8"), newline="")
            for cells in READERS[form.get("form", "lines")](text, form):
                try:
                    given = {"part": part, "rest": "|".join(cells[2:])}
                    row = {column: made.format(*cells, **given) for column, made in form["columns"].items()}
                except IndexError:
                    raise DataFormatError(original, f"has a record in {name} with too few cells.") from None
                if labels is None or row["label"] in labels:
                    yield row if labels is None else row | {"label": labels[row["label"]]}


def _encoded(original: Path, form: Form, name: str) -> Iterator[bytes]:
    """Yield the lines of the new file, without its header; a table of vectors is copied."""
    if "copy" in form:
        for inside, raw in members(original):
            yield from raw if Path(inside).name == name.removesuffix(".gz") else ()
        return
    for row in records(original, form):
        if "score" in row:
            row["score"] = str(float(row["score"]))
        plain = "\t".join(re.sub(r"[\t\r\n]", " ", cell) for cell in row.values())
        yield ((plain if name.endswith(".tsv") else json.dumps(row, ensure_ascii=False)) + "\n").encode()


def convert(role: str, original: Path, out: Path) -> int:
    """Write the file of a role, all or nothing, and return how many records it has."""
    forms, count, partial = told("papers/originals.toml"), 0, out.with_name(f"{out.name}.part")
    check_choice("role", role, forms)
    form = forms[role]
    if "copy" not in form and not out.name.endswith((".tsv", ".jsonl", ".jsonl.gz")):
        raise ParameterError("out", out.name, "must end in .tsv, .jsonl or .jsonl.gz.")
    algorithm, _, known = form.get("checksum", "").partition(":")
    if known and original.is_file() and file_digest(original, algorithm) != known:
        raise DataFormatError(original, f"has not the {algorithm} of the original, {known}. Download it again.")
    with gzip.open(partial, "wb") if out.suffix == ".gz" else partial.open("wb") as target:
        if out.suffix == ".tsv":
            target.write(("\t".join(form["columns"]) + "\n").encode())
        for count, line in enumerate(_encoded(original, form, out.name), start=1):  # noqa: B007 (returned)
            target.write(line)
    if not count:
        raise DataFormatError(original, f"holds nothing of {role}: {', '.join(form.get('parts', [out.name]))}.")
    partial.replace(out)
    return count


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        made = convert(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    except WordveilError as error:
        sys.exit(str(error))
    print(f"{sys.argv[3]}: {made} records, sha256 {file_digest(sys.argv[3])}")
