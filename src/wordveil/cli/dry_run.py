"""`--dry-run` of `sanitize` and `redact`: what the run would do, told on standard error; nothing is released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.cli.common import end_of_run, say
from wordveil.cli.exit_codes import MISTAKE
from wordveil.errors import counted
from wordveil.runs.dry_run import Looked, in_time, look, tokens_per_second

if TYPE_CHECKING:
    from wordveil.documents import DocumentSettings
    from wordveil.runs.beforehand import UserBudget


def dry_sanitize(
    source: str,
    output: str,
    settings: DocumentSettings,
    sanitizer: wv.Sanitizer,
    budget: UserBudget | None,
    ids: str | None,
    *,
    allowed: bool,
) -> int:
    """Tell what `sanitize` would do, and end as it would by what was read; for a budget or ids that is all."""
    from wordveil.runs.beforehand import FirstReading

    looked, counts = look(source, output, settings, say), Counter[str]()
    lines = [_sanitized(looked, sanitizer)]
    first = FirstReading.asked_for(sanitizer, settings, counts, budget, ids)
    if first is not None:
        looked.bad = [str(known.problem) for known in first(looked.named) if known.problem is not None]
        over = f"{counts['users_over']:,} persons are over it, {counts['documents_left_out']:,} documents left out"
        found = [f"the bound: {over}"] * (budget is not None) + ["ids, which are unique"] * (ids is not None)
        lines.append(iter([f"all was read for {' and '.join(found)}"]))
    return _told(looked, lines, allowed=allowed)


def dry_redact(source: str, output: str, settings: DocumentSettings, redactor: wv.Redactor, *, allowed: bool) -> int:
    """Tell what `redact` would do, and end as it would by what was looked into."""
    looked = look(source, output, settings, say)
    return _told(looked, [_redacted(looked, redactor)], allowed=allowed)


def _told(looked: Looked, lines: Sequence[Iterator[str]], *, allowed: bool) -> int:
    for line in chain(looked.lines(), *lines):
        say(line)
    say("dry run: nothing was released or written. These counts are private, as the texts are.")
    if looked.bad and len(looked.bad) == looked.files:
        say(f"wordveil: nothing can be read, so that the run would stop (exit code {MISTAKE}).")
        return MISTAKE
    return end_of_run(len(looked.bad), allowed=allowed)


def _sanitized(looked: Looked, sanitizer: wv.Sanitizer) -> Iterator[str]:
    from wordveil.runs.evidence import over_longest

    def released(texts: Sequence[PrivateText]) -> int:
        return sanitizer.looking().release_batch(texts).tokens

    prepared, watch = sanitizer.prepare(looked.documents), sanitizer.watch(lambda warning: say(f"warning: {warning}"))
    watch.look([*chain.from_iterable(looked.documents)], prepared.tokens, prepared.exempt)
    tokens, longest = int(prepared.cost.sum()), int(prepared.cost.max(initial=0))
    found = [f"looked into: {counted(len(looked.documents), 'document')}, {counted(tokens, 'token')}"]
    yield "; ".join([*found, *filter(None, [watch.in_words()])])
    if kinds := _kinds(prepared.tokens, sanitizer):
        yield f"kinds, which are shown: {', '.join(f'{kind} {number:,}' for kind, number in kinds)}"
    yield f"losses: {over_longest(sanitizer.explained(max(1, longest), longest=True))}"
    yield _time(looked.whole(tokens), tokens_per_second(released))


def _kinds(tokens: np.ndarray, sanitizer: wv.Sanitizer) -> list[tuple[str, int]]:
    """Return how many tokens there are of each kind, the most frequent first."""
    typed = sanitizer.parts.encoder.typed
    if typed is None:
        return []
    numbers = Counter[str]()
    codes, found = np.unique(tokens[tokens < -1], return_counts=True)
    for code, number in zip(codes.tolist(), found.tolist(), strict=True):
        numbers[next(span.kind for span in typed.spans if code in span.codes)] += number
    return numbers.most_common()


def _redacted(looked: Looked, redactor: wv.Redactor) -> Iterator[str]:
    def released(texts: Sequence[PrivateText]) -> int:
        counts = Counter[str]()
        redactor.release_all(texts, counts) or [redactor.release(text, counts) for text in texts]
        return counts["kept"] + counts["hidden"]

    counts = Counter[str]()
    for text in chain.from_iterable(looked.documents):
        redactor.release(text, counts)
    tokens = counts["kept"] + counts["hidden"]
    share = f", of which {counts['kept'] / tokens:.0%} would be kept" if tokens else ""
    hidden = ", ".join(f"{kind} {counts[kind]:,}" for kind in ("name", "number", "link", "word") if counts[kind])
    yield f"looked into: {counted(len(looked.documents), 'document')}, {counted(tokens, 'token')}{share}"
    yield f"hidden: {hidden or 'nothing'}"
    yield _time(looked.whole(tokens), tokens_per_second(released))


def _time(tokens: int, rate: float) -> str:
    about = f"time: about {in_time(tokens / rate)} for about {tokens:,} tokens"
    return f"{about}, at {rate:,.0f} tokens/s as on public sentences; the start and reading and writing come on top"
