"""What lies in a folder but for the records of complete releases, which stay beside their outputs."""

from pathlib import Path

from wordveil.files.records import ENDING


def names(folder: Path) -> list[str]:
    """The names of everything else, sorted."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(ENDING))


def hidden(folder: Path) -> list[str]:
    """The names of what only an unfinished run needs, sorted."""
    return [name for name in names(folder) if name.startswith(".")]
