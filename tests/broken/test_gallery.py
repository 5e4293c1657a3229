"""Every broken mechanism is refuted, in either order; every honest twin is not, whatever the seed.

Power: 20 of 20 seeds, the order turning with each, are refuted (slow test), which shows a power above .86 with
confidence .95. Honest twins are audited at alpha = 1e-9, so 1 000 runs of this file give 1e-4 false alarms.
"""

from dataclasses import replace

import numpy as np
import pytest
from gallery import CASES, DISTANCES, EPSILON, REUSE, TEXT_MISTAKES, Case, reuse_findings, text_findings

from wordveil.auditing.black_box import audit_pair
from wordveil.auditing.exact import verify_channel

ALPHA = 1e-9
SEEDS = [int(s) for s in np.random.SeedSequence(2026).generate_state(20)]
NAMES = [case.name for case in CASES]


def refuted(case: Case, broken: bool, seed: int, swap: bool) -> bool:
    pair = replace(case.pair, first=case.pair.second, second=case.pair.first) if swap else case.pair
    return audit_pair(case.make(broken, seed), pair, samples=case.samples, alpha=ALPHA).refuted


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_broken_is_refuted_and_honest_is_not(case, swap):
    assert refuted(case, True, SEEDS[0], swap)
    assert not refuted(case, False, SEEDS[0], swap)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_power_is_twenty_of_twenty(case):
    assert [refuted(case, True, seed, bool(i % 2)) for i, seed in enumerate(SEEDS)] == [True] * 20
    assert [refuted(case, False, seed, bool(i % 2)) for i, seed in enumerate(SEEDS[:4])] == [False] * 4


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", [c for c in CASES if c.channel], ids=[c.name for c in CASES if c.channel])
def test_broken_channels_are_refuted_exactly(case, backwards):
    step = -1 if backwards else 1
    table = DISTANCES[::step, ::step]
    broken, honest = (case.channel(flag)[::step] for flag in (True, False))
    assert not verify_channel(broken, table, EPSILON).holds
    assert verify_channel(honest, table, EPSILON).holds


@pytest.mark.parametrize("seed", SEEDS[:5])
@pytest.mark.parametrize(("name", "make", "private"), REUSE, ids=[r[0] for r in REUSE])
def test_reused_noise_is_found_and_fresh_noise_is_not_accused(name, make, private, seed):
    # Two calls that repeat a word each may both draw the same, with probability .06 at most; eight times with 2e-10.
    tries = (make(True, seed + i) for i in range(8))
    assert any(f.refuted for subject in tries for f in reuse_findings(subject, private))
    assert not any(f.refuted for f in reuse_findings(make(False, seed), private))


@pytest.mark.parametrize("seed", SEEDS[:5])
@pytest.mark.parametrize(("mistake", "check"), TEXT_MISTAKES.items())
def test_each_leak_of_text_is_found_by_its_own_check(mistake, check, seed):
    found = {f.check for f in text_findings(mistake, seed) if f.refuted}
    assert check in found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_mechanism_without_leaks_passes(seed):
    assert not [f.check for f in text_findings(None, seed) if f.refuted]
