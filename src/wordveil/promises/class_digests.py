"""What a class of a user's own is: one digest of its attributes and of the code of its functions.

Two classes may have one name and equal fields and compute different things: a function made both, a notebook cell was
run again after an edit, or each lies in a module of its own. The digest goes down into the functions, classes and
values that the code names, as far as they are of no installed package; those are known by name. What it cannot show it
refuses, so that nobody takes two for one; so with code that names a usual way out, to files, settings or the clock, but
no list holds them all. It differs between versions of Python, whose code does.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from wordveil.errors import CertificateError

__all__ = ["class_digest", "is_ours"]

_NOTES = (
    "abstractmethods annotate annotate_func annotations annotations_cache dataclass_fields dataclass_params doc "
    "firstlineno match_args module name orig_bases parameters qualname repr slots static_attributes type_params"
)
_PASSED_OVER = frozenset(["_abc_impl", *(f"__{name}__" for name in _NOTES.split())])
"""What Python itself notes of a class or a function: documentation, annotations and so on."""
_MODULES = (
    "_io ctypes glob http importlib io mmap nt os pathlib posix random secrets shelve shutil socket sqlite3 subprocess "
    "tempfile time urllib uuid"
)
_FUNCTIONS = {
    "builtins": "__import__ compile eval exec globals input locals open vars",
    "numpy": "fromfile genfromtxt load loadtxt memmap",
}
"""Modules, and functions of modules, by which code reaches what is not its own: files, settings, the clock."""


def is_ours(module: str) -> bool:
    """Whether a module is of wordveil itself."""
    return module.partition(".")[0] == "wordveil"


def class_digest(kind: type, shown: Callable[[Any], str]) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of all that a class is.

    Args:
        kind: The class.
        shown: Returns what differs wherever a value does.

    Raises:
        CertificateError: If it, or what its code names, cannot be shown; `shown` raises it too.
    """
    try:
        return hashlib.sha256(_Walk(kind.__module__, shown).show(kind).encode()).hexdigest()[:12]
    except (ValueError, RecursionError):  # a variable without a value, an import, or what holds itself
        raise CertificateError(f"{kind.__name__} cannot be named: nobody can show all that its code does.") from None


class _Walk:
    """Goes down from one class; what it has met stands for itself by its number."""

    def __init__(self, module: str, shown: Callable[[Any], str]) -> None:
        self._home = module.partition(".")[0]
        self._shown = shown
        self._met: dict[int, tuple[int, Any]] = {}  # the second keeps it alive, and its id its own

    def show(self, entry: Any) -> str:
        """Return what differs wherever the entry does."""
        if (name := self._known_name(entry)) is not None:
            return name
        if id(entry) in self._met:
            return f"#{self._met[id(entry)][0]}"
        parts = self._parts(entry)
        if parts is None:
            return self._shown(entry)
        self._met[id(entry)] = (len(self._met), entry)
        return f"{type(entry).__name__}({', '.join(parts)})"

    def _parts(self, entry: Any) -> Iterator[str] | None:
        """Return what a class, a function or a wrapper of functions is made of; None for anything else."""
        kind = type(entry)  # exactly: a derived class may hold more
        if isinstance(entry, type):
            return self._class(entry)
        if kind is FunctionType:
            return chain(self._function(entry), self._attributes(entry))
        if kind is property:
            return map(self.show, (entry.fget, entry.fset, entry.fdel))
        if kind is functools.cached_property:
            return map(self.show, (entry.func,))
        if kind is functools.partial:
            held = map(self.show, (entry.func, *entry.args, *chain.from_iterable(entry.keywords.items())))
            return chain(held, self._attributes(entry))
        if kind in (MethodType, staticmethod, classmethod):
            return map(self.show, (entry.__func__, getattr(entry, "__self__", None)))
        if kind is functools._lru_cache_wrapper:
            return self._attributes(entry)  # the function is one of them
        return None

    def _attributes(self, entry: Any) -> Iterator[str]:
        for name, held in sorted(vars(entry).items()):
            if name not in _PASSED_OVER:
                yield f"{name}={self.show(held)}"

    def _class(self, kind: type) -> Iterator[str]:
        yield f"{kind.__module__}.{kind.__qualname__}"
        yield from map(self.show, (type(kind), *kind.__bases__))
        for name, held in sorted(vars(kind).items()):
            if name in _PASSED_OVER or isinstance(held, MemberDescriptorType | GetSetDescriptorType):
                continue
            if not getattr(getattr(held, "__code__", None), "co_qualname", "").startswith("__create_fn__"):  # dataclass
                yield f"{name}={self.show(held)}"
        for name, field in sorted(getattr(kind, "__dataclass_fields__", {}).items()):
            if field.default_factory is not MISSING:
                yield f"{name}={self.show(field.default_factory)}"

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield _code(function.__code__)
        yield from map(self.show, function.__defaults__ or ())
        yield from (f"{name}={self.show(held)}" for name, held in sorted((function.__kwdefaults__ or {}).items()))
        for cell in function.__closure__ or ():
            yield self.show(cell.cell_contents)
        names, attributes, imports = _names(function.__code__)
        _refuse_ways_out("builtins", names - function.__globals__.keys())
        yield from (self._module(sys.modules[name], attributes) for name in sorted(imports))
        for name in sorted(names & function.__globals__.keys()):
            held = function.__globals__[name]
            yield f"{name}={self._module(held, attributes) if isinstance(held, ModuleType) else self.show(held)}"

    def _module(self, module: ModuleType, attributes: set[str]) -> str:
        """Return a module as the code uses it."""
        if self._is_installed(module.__name__):
            _refuse_ways_out(module.__name__, attributes)
            return module.__name__
        used = [f"{name}={self.show(getattr(module, name))}" for name in sorted(attributes & vars(module).keys())]
        return f"{module.__name__}({', '.join(used)})"

    def _known_name(self, entry: Any) -> str | None:
        """Return the name of what an installed package holds under it."""
        module = "numpy" if isinstance(entry, np.ufunc) else getattr(entry, "__module__", None)
        name = getattr(entry, "__qualname__", getattr(entry, "__name__", None))
        if not (isinstance(module, str) and isinstance(name, str) and self._is_installed(module)):
            return None
        _refuse_ways_out(module, {name})
        found = functools.reduce(lambda held, part: getattr(held, part, None), name.split("."), sys.modules.get(module))
        return f"{module}.{name}" if found is entry else None

    def _is_installed(self, module: str) -> bool:
        top = module.partition(".")[0]
        if is_ours(module) or top in sys.stdlib_module_names:
            return True
        path = Path(getattr(sys.modules.get(top), "__file__", None) or "")
        return top != self._home and not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _refuse_ways_out(module: str, names: set[str]) -> None:
    """Refuse what reaches for something that is not the code's own.

    Raises:
        ValueError: If it does.
    """
    top = module.partition(".")[0]
    if top in _MODULES.split() or not names.isdisjoint(_FUNCTIONS.get(top, "").split()):
        raise ValueError(module)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for held in code.co_consts:
        if isinstance(held, CodeType):
            yield from _codes(held)


def _code(code: CodeType) -> str:
    """Return what the code does, without the lines and files it stands in."""
    found = []
    for part in _codes(code):
        constants = [sorted(map(repr, held)) if isinstance(held, frozenset) else repr(held) for held in part.co_consts
                     if not isinstance(held, CodeType)]  # fmt: skip
        counts = (part.co_argcount, part.co_posonlyargcount, part.co_kwonlyargcount, part.co_flags)
        names = (part.co_names, part.co_varnames, part.co_freevars, part.co_cellvars)
        found.append(repr((part.co_code, part.co_exceptiontable, counts, names, constants)))
    return "; ".join(found)


def _names(code: CodeType) -> tuple[set[str], set[str], set[str]]:
    """Return the global names that code looks up, every name in it, and the modules it imports.

    Raises:
        ValueError: If it imports something that is not there yet, or by a relative name: nobody knows what that is.
    """
    names: set[str] = set()
    every: set[str] = set()
    imports: set[str] = set()
    for part in _codes(code):
        every.update(part.co_names)
        steps = list(dis.get_instructions(part))
        names |= {step.argval for step in steps if "GLOBAL" in step.opname or step.opname == "LOAD_NAME"}
        for level, step in zip(steps, steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":
                if level.argval != 0 or step.argval not in sys.modules:
                    raise ValueError(step.argval)
                imports.add(step.argval)
    return names, every, imports
