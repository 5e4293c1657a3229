"""`--dry-run` of `sanitize` and `redact`: what the run would do, told on standard error; nothing is released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from wordveil.arrays import PrivateText
from wordveil.cli.common import counted, say
from wordveil.cli.exit_codes import DONE
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.promises.rounding import round_up, summed
from wordveil.runs.dry_run import Looked, in_time, look, tokens_per_second

if TYPE_CHECKING:
    from wordveil.documents import DocumentSettings
    from wordveil.runs.beforehand import UserBudget
    from wordveil.sanitizing.sanitizer import Sanitizer
    from wordveil.withholding.redactor import Redactor


def dry_run(
    source: str,
    output: str,
    settings: DocumentSettings,
    releaser: Sanitizer | Redactor,
    budget: UserBudget | None = None,
    ids: str | None = None,
) -> int:
    """Look at the input and tell what a run would do; a budget or ids are counted over all files."""
    from wordveil.runs.beforehand import FirstReading
    from wordveil.sanitizing.sanitizer import Sanitizer

    looked = look(source, output, settings, say)
    about = _sanitized if isinstance(releaser, Sanitizer) else _redacted
    for line in chain(looked.lines(), about(looked, releaser)):  # type: ignore[arg-type]  # each its own
        say(line)
    if isinstance(releaser, Sanitizer) and (budget is not None or ids is not None):
        counts = Counter[str]()
        first = FirstReading(sanitizer=releaser, budget=budget, ids=ids, counts=counts)
        first.check(settings)
        first(looked.named)
        over = f"{counts['users_over']:,} persons are over it, {counts['documents_left_out']:,} documents left out"
        found = [f"the bound: {over}"] * (budget is not None) + ["ids, which are unique"] * (ids is not None)
        say(f"all was read for {' and '.join(found)}")
    say("dry run: nothing was released or written. These counts are private, as the texts are.")
    return DONE


def _sanitized(looked: Looked, sanitizer: Sanitizer) -> Iterator[str]:
    def released(texts: Sequence[PrivateText]) -> int:
        return sanitizer.looking().release_batch(texts).tokens

    prepared, watch = sanitizer.prepare(looked.documents), sanitizer.watch(lambda warning: say(f"warning: {warning}"))
    watch.look([*chain.from_iterable(looked.documents)], prepared.tokens, prepared.exempt)
    tokens, longest = int(prepared.cost.sum()), int(prepared.cost.max(initial=0))
    found = [f"looked into: {counted(len(looked.documents), 'document')}, {counted(tokens, 'token')}"]
    yield "; ".join([*found, *filter(None, [watch.in_words()])])
    if kinds := _kinds(prepared.tokens, sanitizer):
        yield f"kinds, which are shown: {', '.join(f'{kind} {number:,}' for kind, number in kinds)}"
    promise = sanitizer.guarantee
    if promise.epsilon is not None and not promise.metric and promise.unit is PrivacyUnit.TOKEN and not promise.delta:
        loss = round_up(summed([promise.epsilon] * longest) + longest * (promise.slack or 0.0))
        yield f"losses: at most {loss} nats for the longest of these documents, of {counted(longest, 'token')}"
    yield _time(looked.whole(tokens), tokens_per_second(released))


def _kinds(tokens: np.ndarray, sanitizer: Sanitizer) -> list[tuple[str, int]]:
    """Return how many tokens there are of each kind, the most frequent first."""
    typed = sanitizer.parts.encoder.typed
    if typed is None:
        return []
    numbers = Counter[str]()
    codes, found = np.unique(tokens[tokens < -1], return_counts=True)
    for code, number in zip(codes.tolist(), found.tolist(), strict=True):
        numbers[next(span.kind for span in typed.spans if code in span.codes)] += number
    return numbers.most_common()


def _redacted(looked: Looked, redactor: Redactor) -> Iterator[str]:
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
    return f"{about}, at the {rate:,.0f} tokens/s that public sentences took"
