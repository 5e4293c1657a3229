"""What a run over documents may read and write: places that would do harm are refused, and files left out are named."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordveil.documents.reader import guess_format
from wordveil.documents.settings import DocumentSettings
from wordveil.documents.trees import TreeFiles, tree_files
from wordveil.errors import DocumentFormatError, ParameterError, printable
from wordveil.files.atomic import is_replaceable
from wordveil.files.journal import file_identity, is_resumable
from wordveil.runs.engine import Notice

_NAMED = 10  # files that a notice names


def check_file(source: str, destination: str, *, resume: bool) -> None:
    """Refuse outputs that would harm the input, differ in format, or cannot be resumed."""
    if resume and (source == "-" or not is_replaceable(destination)):
        raise ParameterError("resume", resume, "needs an input file and an output file.")
    if source != "-" and not Path(source).exists():
        raise DocumentFormatError(source, "no such file.", remedy="Check the path.")
    if not is_replaceable(destination):
        return
    if not Path(destination).resolve().parent.is_dir():
        raise ParameterError("destination", destination, "must lie in an existing directory.")
    if Path(destination).is_dir():
        raise ParameterError("destination", destination, "must be a file, as the input is.")
    if source == "-":
        return
    if Path(destination).exists() and os.path.samefile(source, destination):
        raise ParameterError("destination", destination, "must differ from the input.")
    theirs, ours = guess_format(source), guess_format(destination)
    if theirs and ours and theirs != ours:
        raise ParameterError("destination", destination, f"stands for {ours}, but the output is {theirs} as the input.")


def tree_to_run(
    root: str, destination: str, settings: DocumentSettings, *, resume: bool, settled: bool = True
) -> TreeFiles:
    """Return the files of a tree, and refuse one of which none would be read.

    Outputs are refused that are no folder outside the input; and where that is not settled otherwise, those that are
    not new or empty, but for one whose run is to be finished.
    """
    target = Path(destination).resolve()
    if destination == "-" or (target.exists() and not target.is_dir()):
        raise ParameterError("destination", destination, "must be a directory for a tree.")
    if not target.parent.is_dir():
        raise ParameterError("destination", destination, "must lie in an existing directory.")
    origin = Path(root).resolve()
    if target.is_relative_to(origin) or origin.is_relative_to(target):
        raise ParameterError("destination", destination, "must lie outside the input directory.")
    if not settled and target.is_dir() and any(target.iterdir()) and not (resume and is_resumable(target)):
        raise ParameterError("destination", destination, "must be a new or empty directory for a tree.")
    found = tree_files(Path(root), settings)
    if not found.taken:
        raise ParameterError("source", root, "holds no file of a known format that fits the pattern.")
    return found


def tree_file_identity(root: str, name: str) -> dict[str, Any]:
    """Return what tells a file of a tree from any other; of one that cannot be read, its name."""
    try:
        return file_identity(Path(root) / name, name)
    except OSError:
        return {"name": name}  # it is left out when its turn comes


def tree_identity(identities: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], list[int]]:
    """Return what tells a tree from any other, and the sizes of its files, given what tells these apart, by name."""
    whole = hashlib.sha256(json.dumps(identities, sort_keys=True).encode("ascii")).hexdigest()
    return {"files": len(identities), "sha256": whole}, [identity.get("size", 0) for identity in identities.values()]


def tell(bad_files: Sequence[str], files: TreeFiles, notice: Notice) -> None:
    """Name the files that are not in the output, a few of each kind."""
    for message in bad_files:
        notice(f"left out: {message}")
    kinds = {
        "of another format": files.other,
        "hidden": files.hidden,
        "links, and other names of a file that is read": files.links,
    }
    for kind, names in kinds.items():
        if names:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            notice(f"not read ({kind}): {', '.join(map(printable, names[:_NAMED]))}{more}")
