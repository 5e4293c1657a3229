"""Selection's two kernels in Triton's language: the mass of every block of outputs, and the weights inside one block.

Squared distances are float64 products, so that near words keep their digits; root and exponential are float32, as in
the processor's kernels. exp(-rate dist) is taken as a power of 2 with the constant folded into the rate: one rounding
less than `tl.exp`. Caller: `selection`.
"""

# The language inside is Triton's: arguments have no Python types, and sizes known to the compiler are in capitals.
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, PLR0913

from __future__ import annotations

from wordveil.kernels.gpu.backend import jit, tl


@jit
def weigh(squared, same, share, scale, floor):
    """Return share * 2**max(scale * distance, floor); equal vectors are at distance exactly 0."""
    near = tl.where(same, 0.0, tl.maximum(squared.to(tl.float32), 0.0))
    return tl.exp2(tl.maximum(tl.sqrt_rn(near) * scale, floor)) * share


@jit
def block_masses(
    left,
    right,
    own,
    names,
    shares,
    out,
    n,
    blocks,
    span,
    width,
    scale,
    floor,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Write the mass of every block for ROWS inputs: program (i, j) takes `span` blocks. Sums are float64."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    depth = tl.arange(0, DEPTH)
    mine = tl.load(own + row, row < n, other=-2)
    first = tl.program_id(1) * span
    words = right + first.to(tl.int64) * (K * width)
    for block in range(first, tl.minimum(first + span, blocks)):
        total = tl.zeros((ROWS,), tl.float64)
        for start in range(0, width, COLUMNS):
            column = start + tl.arange(0, COLUMNS)
            here = column < width
            squared = tl.zeros((ROWS, COLUMNS), tl.float64)
            for k in range(0, K, DEPTH):
                a = tl.load(left + row[:, None] * K + (k + depth)[None, :], (row < n)[:, None], other=0.0)
                b = tl.load(words + (k + depth)[:, None] * width + column[None, :], here[None, :], other=0.0)
                squared = tl.dot(a, b, squared, out_dtype=tl.float64)
            theirs = tl.load(names + block * width + column, here, other=-1)
            share = tl.load(shares + block * width + column, here, other=0.0)
            weight = weigh(squared, mine[:, None] == theirs[None, :], share[None, :], scale, floor)
            total += tl.sum(weight.to(tl.float64), axis=1)
        tl.store(out + row.to(tl.int64) * blocks + block, total.to(tl.float32), row < n)
        words += K * width


@jit
def block_weights(
    left, right, own, names, shares, rows, chosen, out, width, scale, floor, K: tl.constexpr, WIDE: tl.constexpr
):
    """Write all weights of one input's one block: program i takes pair i of (row, block)."""
    pair = tl.program_id(0).to(tl.int64)
    row, block = tl.load(rows + pair), tl.load(chosen + pair)
    column = tl.arange(0, WIDE)
    here = column < width
    words = right + block * (K * width) + column
    squared = tl.zeros((WIDE,), tl.float64)
    for k in range(0, K):
        squared += tl.load(left + row * K + k) * tl.load(words + k * width, here, other=0.0)
    theirs = tl.load(names + block * width + column, here, other=-1)
    share = tl.load(shares + block * width + column, here, other=0.0)
    weight = weigh(squared, theirs == tl.load(own + row), share, scale, floor)
    tl.store(out + pair * width + column, weight, here)
