"""Finds the selected strings inside a JSON text and cuts the rest into raw pieces.

One pass parses, checks and locates: members that are not selected are skipped by the C scanner of the standard
library and copied as they stand, so numbers, spacing and escapes outside the selected strings do not change.
It reads no files and knows no lines; positions in its errors are character positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from json.decoder import JSONDecodeError, JSONDecoder, scanstring  # type: ignore[attr-defined]
from typing import Any

from wordveil.documents.base import Missing, Selection, absent_column
from wordveil.documents.json_layout import Gap, layout_of
from wordveil.errors import ParameterError

skip_space: Callable[[str, int], Any] = re.compile(r"[ \t\n\r]*").match
# Numbers are only skipped: `str` spares their conversion and the digit limit of `int`.
_scan_once: Callable[[str, int], tuple[Any, int]] = JSONDecoder(parse_int=str, parse_float=str).scan_once  # type: ignore[attr-defined]
_MAX_NAMES = 1000
_MAX_DOTS = 8
_FURTHER = f"further members (only the first {_MAX_NAMES:,} names are listed)"
_MOST_LAYOUTS = 8  # that are learnt of one file: each takes as long as some dozens of records
_SLACK = 16  # longest token that a truncated text can cut (escape pairs, -Infinity)
_KINDS = {"{": "an object", "t": "true or false", "f": "true or false"}


@dataclass(slots=True)
class SelectionNode:
    """One level of the selected columns."""

    column: str | None = None  # the selected column that ends here, or None
    children: dict[str, SelectionNode] = field(default_factory=dict)  # deeper levels by member name
    copies_rest: bool = True  # whether members without a child are copied
    kept: bool = False  # the value is copied as it stands, but for the columns under it
    below: set[str] = field(default_factory=set)  # the selected columns at or under this node
    keeps: bool = False  # whether this node, or one under it, is to be copied by its name

    @property
    def is_copied_whole(self) -> bool:
        return self.kept and not self.below


def selection_tree(selection: Selection) -> SelectionNode:
    """Build the levels of a selection; each dot of a name may lead into a member or belong to the member's own name."""
    root = SelectionNode(copies_rest=selection.keep_others)
    if not selection.columns:
        root.column = ""
    # The texts first: what is kept must not cover them.
    for kept, names in ((False, selection.columns), (True, selection.keep or ())):
        for name in names:
            for path in _readings(name):
                _insert(root, path, name, kept=kept)
    return root


def _readings(name: str) -> Iterator[tuple[str, ...]]:
    """Yield every path of member names that is written as this name: a.b as (a, b) and as (a.b)."""
    first, *rest = name.split(".")
    if len(rest) > _MAX_DOTS:
        raise ParameterError("columns", name, f"must have at most {_MAX_DOTS} dots.")
    for joints in product((True, False), repeat=len(rest)):
        path = [first]
        for part, leads_in in zip(rest, joints, strict=True):
            if leads_in:
                path.append(part)
            else:
                path[-1] += f".{part}"
        yield tuple(path)


def _insert(root: SelectionNode, path: Iterable[str], name: str, *, kept: bool) -> None:
    node = root
    if not kept:
        root.below.add(name)
    for part in path:
        node = node.children.setdefault(part, SelectionNode(copies_rest=root.copies_rest))
        node.keeps |= kept
        if not kept:
            node.below.add(name)
    if kept:
        _copy_below(node)
    else:
        node.column = name


def _copy_below(node: SelectionNode) -> None:
    """Copy the value of a node, but for the texts in it: their nodes stay as they are."""
    if node.column is None:
        node.kept = node.copies_rest = True
        for child in node.children.values():
            _copy_below(child)


@dataclass(eq=False)
class WalkError(Exception):
    """The text is not JSON, or a selected column is missing or not text."""

    problem: str  # what is wrong, without content
    position: int  # of a character
    incomplete: bool = field(default=False, kw_only=True)  # whether more text could still mend it
    remedy: str = field(default="", kw_only=True)


class JsonWalker:
    """Walks values with one selection."""

    def __init__(self, root: SelectionNode, missing: Missing = "refuse") -> None:
        self.root = root
        self.missing = missing
        self.any_value = False  # take numbers and booleans in a selected column as they are written
        self.no_lists = False  # refuse a selected column that lies in a list
        self.copied: dict[str, None] = {}  # members copied so far; of more than 1000 the rest is named as such
        # Of the last value: the members left out, the raw text around its texts, and these; None for null.
        self.dropped: dict[str, None] = {}
        self.pieces: list[str] = []
        self.texts: list[str | None] = []
        self.lacking = 0  # selected columns that it does not have
        self.not_text = 0  # those that held something else than text; null stands there now
        self._copied_before = 0
        self._pending: list[str] = []  # parts of a piece that is not done: a string would be copied by each
        self._cursor = 0
        self._found: set[str] = set()
        self._path: list[str] = []
        self._layout: tuple[Gap, ...] = ()
        self._layouts_left = _MOST_LAYOUTS

    @property
    def skipped(self) -> bool:
        return self.missing == "skip" and self.lacking + self.not_text > 0

    def walk(self, text: str, begin: int, start: int) -> int:
        """Walk the value at `start`; the first piece begins at `begin`. Leaves the result in the attributes.

        Returns:
            The position after the value; the caller adds what follows to the last piece.
        """
        self.pieces, self.texts, self._pending, self._cursor = [], [], [], begin
        self.lacking = self.not_text = 0
        self.dropped = {}
        self._copied_before = len(self.copied)
        self._found.clear()
        self._path.clear()
        failure: WalkError
        try:
            end = self._as_before(text, begin, start) or self._anew(text, start)
        except WalkError as error:
            raise self._judged(error, text) from None
        except JSONDecodeError as error:
            failure = WalkError("not valid JSON.", error.pos, incomplete="Unterminated" in error.msg)
        except StopIteration as error:
            failure = WalkError("not valid JSON.", int(error.value))
        except RecursionError:
            failure = WalkError("nested too deeply.", start)
        else:
            self.pieces.append("".join((*self._pending, text[self._cursor : end])))
            if self.skipped:
                self._forget_copied()
            return end
        raise self._judged(failure, text)

    def _as_before(self, text: str, begin: int, at: int) -> int:
        """Cut a value of the known layout; returns its end, 0 where it has another."""
        for number, gap in enumerate(self._layout, 1):
            found = gap(text, at)
            if found is None:
                self.pieces, self.texts, self._cursor = [], [], begin
                return 0
            if number == len(self._layout):
                return found.end()
            value, at = scanstring(text, found.end(), True)
            self._cut(text, found.end() - 1, value)
            self._cursor = at
        return 0

    def _anew(self, text: str, start: int) -> int:
        """Walk a value step by step, and learn its layout."""
        end = self._value(text, start, self.root)
        self._check_found(text, start, self.root)
        if self._layouts_left and self.texts and not (self.lacking or self.not_text or self.dropped):
            self._layouts_left -= 1
            texts = {name for name, child in self.root.children.items() if child.column is not None}
            self._layout = layout_of(text, start, texts, self._is_copied) or self._layout
        return end

    def _is_copied(self, name: str) -> bool:
        child = self.root.children.get(name)
        return self.root.copies_rest if child is None else child.is_copied_whole

    def _forget_copied(self) -> None:
        while len(self.copied) > self._copied_before:
            self.copied.popitem()

    def _judged(self, error: WalkError, text: str) -> WalkError:
        self._forget_copied()
        if "JSON" in error.problem and error.position >= len(text) - _SLACK:
            error.incomplete = True
        return error

    def _check_found(self, text: str, at: int, node: SelectionNode) -> None:
        """Count the columns at or under a node that were not found; refuse if so chosen."""
        missing = node.below - self._found
        if missing and self.missing == "refuse":
            self._refuse_absent(text, at, missing)
        self.lacking += len(missing)

    def _refuse_absent(self, text: str, at: int, missing: set[str]) -> None:
        problem, remedy = absent_column(min(missing), member_names(text, at))
        raise WalkError(problem, at, remedy=f"{remedy} {_GO_ON}")

    def _value(self, text: str, at: int, node: SelectionNode) -> int:
        first = text[at : at + 1]
        if first == "[":
            return self._array(text, at, node)
        if node.column is not None and first == '"':
            value, end = scanstring(text, at + 1, True)
            self._cut(text, at, value)
            self._cursor = end
            self._found |= node.below
            return int(end)
        if node.children and node.column is None and first == "{":
            return self._object(text, at, node)
        value, end = _scan_once(text, at)
        if value is None:
            self._found |= node.below
            if node.column is not None:
                self._cut(text, at, None)
        elif node.column is not None or node.below:
            self._not_text(text, at, end, node)
        elif not node.copies_rest:
            raise WalkError(f"column {'.'.join(self._path)!r} holds no members, so it cannot be copied in part.", at)
        elif self._path:
            self._note_copied()
        return end

    def _cut(self, text: str, at: int, value: str | None) -> None:
        self.pieces.append("".join((*self._pending, text[self._cursor : at])))
        self.texts.append(value)
        self._pending, self._cursor = [], at

    def _not_text(self, text: str, at: int, end: int, node: SelectionNode) -> None:
        """Put null in the place of a value that is no text, or refuse it: it must never be copied."""
        first = text[at : at + 1]
        if self.any_value and first == "{":
            raise WalkError(f"column {node.column!r} holds an object, neither text nor number.", at, remedy=_CHOOSE)
        if self.any_value:
            self._cut(text, at, text[at:end])
            self._found |= node.below
            return
        if not node.column and first == "{":
            present = len(member_names(text, at))
            raise WalkError(f"the value is an object and no column was chosen among its {present}.", at, remedy=_CHOOSE)
        if self.missing == "refuse":
            if node.column is None:
                self._refuse_absent(text, at, node.below)
            kind = _KINDS.get(first, "a number")
            holder = f"column {node.column!r} holds" if node.column else "the value is"
            raise WalkError(f"{holder} {kind}, not text.", at, remedy=f"{_CHOOSE} {_GO_ON}")
        self._jump(text, at, end)
        self._pending.append("null")
        self._found |= node.below
        self.not_text += 1

    def _array(self, text: str, at: int, node: SelectionNode) -> int:
        if self.no_lists and node.below:
            raise WalkError(IN_A_LIST.format(min(node.below)), at)
        self._found |= node.below
        found = set(self._found)
        at = skip_space(text, at + 1).end()
        if text[at : at + 1] == "]":
            return at + 1
        while True:
            # Each element must have the columns by itself: one complete element does not excuse the next.
            self._found -= node.below
            end = self._value(text, at, node)
            if node.below - self._found:
                self._check_found(text, at, node)
            at = skip_space(text, end).end()
            mark = text[at : at + 1]
            if mark == "]":
                self._found |= found
                return at + 1
            if mark != ",":
                raise WalkError("not valid JSON.", at)
            at = skip_space(text, at + 1).end()

    def _object(self, text: str, at: int, node: SelectionNode) -> int:
        at = skip_space(text, at + 1).end()
        if text[at : at + 1] == "}":
            return at + 1
        kept_end = at  # end of the last member written, or where the first one begins
        any_kept = dropped = False
        children, copies_rest = node.children, node.copies_rest
        entered: set[str] = set()
        previous_end = at
        while True:
            start = at
            if text[at : at + 1] != '"':
                raise WalkError("not valid JSON.", at)
            name, at = scanstring(text, at + 1, True)
            at = skip_space(text, at).end()
            if text[at : at + 1] != ":":
                raise WalkError("not valid JSON.", at)
            at = skip_space(text, at + 1).end()
            child = children.get(name)
            if child is None and not copies_rest:
                end = _scan_once(text, at)[1]
                self.dropped[".".join((*self._path, name))] = None
                dropped = True
            else:
                if dropped:
                    self._jump(text, kept_end, previous_end if any_kept else start)
                    dropped = False
                if child is None or child.keeps:
                    if name in entered:
                        problem = f"{name!r}, which holds what is to be copied, stands twice in one object."
                        raise WalkError(problem, start)
                    entered.add(name)
                end = self._member(text, at, name, child)
                any_kept, kept_end = True, end
            previous_end = end
            at = skip_space(text, end).end()
            mark = text[at : at + 1]
            if mark == "}":
                if dropped:
                    self._jump(text, kept_end, end)
                return at + 1
            if mark != ",":
                raise WalkError("not valid JSON.", at)
            at = skip_space(text, at + 1).end()

    def _member(self, text: str, at: int, name: str, child: SelectionNode | None) -> int:
        if child is None or child.is_copied_whole:
            self._note_copied(name)
            return _scan_once(text, at)[1]
        self._path.append(name)
        end = self._value(text, at, child)
        self._path.pop()
        return end

    def _note_copied(self, *name: str) -> None:
        full = len(self.copied) >= _MAX_NAMES
        whole = ".".join((*self._path, *name))
        assert whole not in self.root.below, "a text column must never be copied"
        if not full or whole not in self.copied:
            self.copied[_FURTHER if full else whole] = None

    def _jump(self, text: str, upto: int, onward: int) -> None:
        """Leave out text[upto:onward] from the pieces."""
        self._pending.append(text[self._cursor : upto])
        self._cursor = onward


_CHOOSE = "Choose with --column."
IN_A_LIST = "column {!r} lies in a list, so that a record may name several persons or leave some out."
_GO_ON = "With --missing keep the record goes on without it, with --missing skip it is left out."


def member_names(text: str, at: int) -> list[str]:
    """Names of the members of the object at `at`, or of the first one in an array; empty for any other value."""
    try:
        value, _ = _scan_once(text, at)
    except (StopIteration, ValueError):
        return []
    if isinstance(value, list):
        value = next((element for element in value if isinstance(element, dict)), None)
    return list(value) if isinstance(value, dict) else []
