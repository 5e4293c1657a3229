"""What lies in a folder, but for the records of complete releases, which stay beside their outputs."""

from pathlib import Path

from wordveil.files.records import ENDING


def names(folder: Path) -> list[str]:
    """The names of everything else, sorted."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(ENDING))


def hidden(folder: Path) -> list[str]:
    """The names of what only an unfinished run needs, sorted."""
    return [name for name in names(folder) if name.startswith(".")]


def content(path: Path) -> dict[str, bytes]:
    """The bytes of a file, or of all files of a folder by their paths in it."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in files}


def stamped(path: Path) -> list[tuple[str, bytes, int]]:
    """The names, the bytes and the times of the same files: equal where nothing was written meanwhile."""
    return [(name, data, (path / name).stat().st_mtime_ns) for name, data in content(path).items()]
