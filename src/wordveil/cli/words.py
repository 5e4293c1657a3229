"""`wordveil words`: the public words that `wordveil redact` may keep, those that it hides, and classes of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

import wordveil as wv
from wordveil.cli.printing import JsonOption, show
from wordveil.cli.redact import PublicLists
from wordveil.withholding.words import Mark, closed_list


def words(
    which: Annotated[list[str] | None, Argument(metavar="WORD", help="With --classes: these words alone.")] = None,
    classes: Annotated[
        int | None, Option(metavar="K", min=2, help="Print each word and the face of its class of K.")
    ] = None,
    kept: Annotated[bool, Option("--kept", help="Print all words that may leave, the commonest first.")] = False,
    sensitive: Annotated[bool, Option("--sensitive", help="Print the words hidden unless they are asked for.")] = False,
    as_json: JsonOption = False,
    *,
    public: PublicLists,
) -> None:
    """Print the public words, or how many there are and their digest.

    A mark says how sure a spelling is a word: ^ is often written with a capital, = is a name too but kept in small
    letters, ~ is a name too and never kept. Capitals, and words with a mark, are judged by their place.
    """
    if classes is not None:
        faces = _faces(classes, which or ())
        return show(faces, (f"{word}\t{face or '-'}" for word, face in faces.items()), as_json=as_json)
    lists = public.lists()
    marks = {word: mark.value for word, mark in lists.marks().items()}
    asked = frozenset[str]().union(*map(closed_list, {"titles", "calendar"} & set(public.keep_words or ())))
    asked -= lists.hidden | marks.keys()
    hidden = sorted(closed_list("sensitive"))
    if sensitive:
        show(hidden, hidden, as_json=as_json)
    elif kept:
        marks |= dict.fromkeys(sorted(asked), "")
        show(marks, (f"{word}{mark}" for word, mark in marks.items()), as_json=as_json)
    else:
        unsure = sum(mark is not Mark.SURE for mark in lists.marks().values())
        lines = (
            f"{len(lists):,} public words, {unsure:,} of them marked: --kept prints them",
            f"{len(asked)} titles, months and days besides, with a capital, as --keep-words asks",
            f"{len(hidden):,} sensitive words, {'kept where they are listed' if lists.sensitive else 'hidden'}",
            f"digest {lists.digest}",
        )
        numbers = {"marked": unsure, "asked": len(asked), "sensitive_words": len(hidden)}
        show(lists.choices() | numbers, lines, as_json=as_json)


def _faces(classes: int, which: Sequence[str]) -> dict[str, str | None]:
    table = wv.load_embeddings()
    mapped = wv.ClassMap(wv.Sanitizer(table, wv.NeighbourResponse(outputs=f"classes:{classes}")))
    return {word: mapped.face(word) for word in which or table.words}
