"""The decoder's three kernels in Triton's language: best scores of groups of words, groups that can win, exact winner.

A tile is ROWS queries by WORDS words. Its WORDS scores a query are reduced to LANES maxima, each over the words whose
place in the tile is the same modulo LANES: on tensor cores those scores lie in one thread's registers, so that the
reduction needs no exchange. Group g is lane g % LANES of tile g // LANES. Callers: `screening` and `nearest`.
"""

# The language inside is Triton's: arguments have no Python types, and sizes known to the compiler are in capitals.
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, PLR0913

from __future__ import annotations

from wordveil.kernels.gpu.backend import jit, tl


@jit
def screen(
    left,
    right,
    maxima,
    groups,
    tiles,
    span,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    WORDS: tl.constexpr,
    DEPTH: tl.constexpr,
    LANES: tl.constexpr,
    WIDEN: tl.constexpr,
):
    """Write the largest score of every group: program (i, j) takes ROWS queries and `span` tiles of words."""
    first = tl.program_id(1) * span
    top = tl.program_id(0) * ROWS
    rows = (top + tl.arange(0, ROWS)).to(tl.int64)
    out = maxima + rows[:, None] * groups + tl.arange(0, LANES)[None, :]
    # Flattened, so that loads for the next tile are under way while this one's maxima are taken.
    for tile in tl.range(first, tl.minimum(first + span, tiles), flatten=True):
        scores = tl.zeros((ROWS, WORDS), tl.float32)
        for k in range(0, COLUMNS, DEPTH):
            queries = left.load([top, k])
            words = right.load([tile * WORDS, k])
            if WIDEN:  # Triton's interpreter knows no product of bfloat16; in float32 its terms are as exact
                queries, words = queries.to(tl.float32), words.to(tl.float32)
            scores = tl.dot(queries, words.T, scores)
        tl.store(out + tile * LANES, tl.max(tl.reshape(scores, (ROWS, WORDS // LANES, LANES)), axis=1))


@jit
def bounded(maxima, scales, facts, groups, group):
    """Return maxima of one query and how far each may lie from the exact one."""
    real = group < groups
    length = tl.load(facts + group, real, other=0.0)
    residue = tl.load(facts + groups + group, real, other=0.0)
    own = tl.load(facts + 2 * groups + group, real, other=0.0)
    bound = tl.load(scales) * length + tl.load(scales + 1) * residue + own
    return tl.load(maxima + group, real, other=-3e38), bound


@jit
def collect(
    maxima, groups, scales, facts, floors, allowance, hits, counts, room, GIVEN: tl.constexpr, WIDE: tl.constexpr
):
    """List the groups whose maximum plus bound reaches the query's floor: given, or the best maximum less its bound."""
    row = tl.program_id(0).to(tl.int64)
    mine, factors = maxima + row * groups, scales + 2 * row
    wide = tl.arange(0, WIDE)
    floor = tl.load(floors + row)
    if not GIVEN:
        best = tl.full((WIDE,), -3e38, tl.float32)
        for start in range(0, groups, WIDE):
            top, bound = bounded(mine, factors, facts, groups, start + wide)
            best = tl.maximum(best, top - bound)
        floor = tl.max(best, axis=0)
    floor -= tl.load(allowance + row)
    found = tl.zeros((), tl.int32)
    for start in range(0, groups, WIDE):
        group = start + wide
        top, bound = bounded(mine, factors, facts, groups, group)
        hit = (top + bound >= floor) & (group < groups)
        slot = found + tl.cumsum(hit.to(tl.int32), axis=0) - 1
        tl.store(hits + row * room + slot, group, hit & (slot < room))
        found += tl.sum(hit.to(tl.int32), axis=0)
    tl.store(counts + row, found)


@jit
def rescore(
    queries,
    table,
    hits,
    counts,
    chosen,
    least,
    second,
    count,
    d,
    room,
    WORDS: tl.constexpr,
    LANES: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Find the word of a query's groups with the least float64 squared distance, and the least of all others."""
    row = tl.program_id(0).to(tl.int64)
    step = tl.arange(0, WORDS // LANES)
    depth = tl.arange(0, DEPTH)
    best = tl.full((WORDS // LANES,), float("inf"), tl.float64)
    other = tl.full((WORDS // LANES,), float("inf"), tl.float64)
    place = tl.zeros((WORDS // LANES,), tl.int64)
    for i in range(0, tl.minimum(tl.load(counts + row), room)):
        group = tl.load(hits + row * room + i)
        word = ((group // LANES) * WORDS + step * LANES + group % LANES).to(tl.int64)
        squared = tl.zeros((WORDS // LANES,), tl.float64)
        for k in range(0, d, DEPTH):
            column = k + depth
            here = (word < count)[:, None] & (column < d)[None, :]
            theirs = tl.load(table + word[:, None] * d + column[None, :], here, other=0.0).to(tl.float64)
            mine = tl.load(queries + row * d + column, column < d, other=0.0)
            gap = tl.where(here, mine[None, :] - theirs, 0.0)
            squared += tl.sum(gap * gap, axis=1)
        squared = tl.where(word < count, squared, float("inf"))
        other = tl.where(squared < best, best, tl.minimum(other, squared))
        place = tl.where(squared < best, word, place)
        best = tl.minimum(best, squared)
    winner = tl.argmin(best, axis=0)
    tl.store(chosen + row, tl.sum(tl.where(step == winner, place, 0), axis=0))
    tl.store(least + row, tl.min(best, axis=0))
    tl.store(second + row, tl.min(tl.where(step == winner, other, best), axis=0))
