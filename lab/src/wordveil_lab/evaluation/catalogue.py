"""Every task by name, at three sizes: full, reduced and miniature; and which of them can run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pkgutil import resolve_name
from typing import Any

from wordveil.api import ParameterError, check_choice
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.evidence import PUBLIC_LIST
from wordveil_lab.package import told
from wordveil_lab.rows import file_digest, locate

TASKS: Mapping[str, type[Task]] = {
    name: resolve_name(f"wordveil_lab.evaluation.{facts['place']}")
    for name, facts in told("evaluation/tasks.toml").items()
}
"""Task name -> class."""

SIZES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {"full": {}, **told("evaluation/sizes.toml")}
"""Size -> settings of the tasks that differ from their defaults."""

_FILES = ("path", "train", "test", "public", "frequencies", "judge", "head")


def chosen_tasks(
    names: tuple[str, ...] | None, *, size: str = "reduced", data: Mapping[str, str] | None = None
) -> tuple[Task, ...]:
    """Return tasks by name, all of them for None, with files of the user's own.

    These are named "task" or "task.field"; "task" alone means its first file. A task that trains and tests then holds
    out a fifth of that file: it never tests on other data than it was given.
    """
    check_choice("size", size, SIZES)
    wanted = tuple(TASKS) if names is None else names
    own: dict[str, dict[str, str]] = {}
    for key, path in (data or {}).items():
        task, _, field = key.partition(".")
        own.setdefault(task, {})[field or next((name for name in _FILES if name in _fields(task)), "path")] = path
    for name in (*wanted, *own):
        if name not in TASKS:
            raise ParameterError("task", name, f"must be all or among {', '.join(TASKS)}.")
    return tuple(_build(name, {**SIZES[size].get(name, {}), **_own_split(name, own.get(name, {}))}) for name in wanted)


def _own_split(name: str, given: Mapping[str, str]) -> Mapping[str, str | None]:
    """Return the user's files of one task, and no test file where they named a training file only."""
    if "test" in given and "train" not in given:
        raise ParameterError("data", f"{name}.test", f"must come with {name}.train: both or a split of one file.")
    return {"test": None, **given} if "train" in given else given


def _build(name: str, settings: Mapping[str, Any]) -> Task:
    for key in settings.keys() - _fields(name):
        raise ParameterError("data", f"{name}.{key}", f"must name one of {', '.join(sorted(_fields(name)))}.")
    return TASKS[name](**settings)


def _fields(name: str) -> set[str]:
    task: Any = TASKS.get(name)
    return {field.name for field in fields(task)} if task else set()


def data_files(task: Task) -> tuple[str, ...]:
    """Return the files a task reads, as its settings name them."""
    named = (getattr(task, field, None) for field in _FILES)
    return tuple(str(name) for name in named if name not in (None, PUBLIC_LIST))


def data_text(task: Task) -> str:
    """Return in words which files a task reads, and how it splits them; "" where it reads none."""
    named = {field: getattr(task, field) for field in _FILES if hasattr(task, field)}
    text = ", ".join(f"{field} {name}" for field, name in named.items() if name is not None)
    return f"{text}, of which a fixed fifth is held out as test" if named.get("test", "") is None else text


def runnable(tasks: tuple[Task, ...]) -> tuple[tuple[Task, ...], dict[str, str]]:
    """Return the tasks whose data and packages are here, and why each of the others cannot run."""
    left_out = {}
    for task in tasks:
        absent = [name for name in data_files(task) if not _found(name)]
        reason = f"no file {', '.join(absent)}" if absent else task.lacking
        if reason:
            left_out[task.name] = reason
    return tuple(task for task in tasks if task.name not in left_out), left_out


def _found(name: str) -> bool:
    try:
        return locate(name).is_file()
    except ParameterError:
        return False


def data_digests(task: Task) -> dict[str, str]:
    """Return the SHA-256 of every file a task reads: what its cached results depend on."""
    return {name: file_digest(name) for name in data_files(task)}
