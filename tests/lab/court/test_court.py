"""Scores of releases whose truth is known, of which no word gets out; the court's methods do what papers say."""

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.text.minilm import model_installed
from wordveil_lab.corpora import encode
from wordveil_lab.court import utility
from wordveil_lab.court.identification import Claim, Matches, hit_bound, identify, matched
from wordveil_lab.court.pairs import PairedTexts, read_column, shifted
from wordveil_lab.court.scoring import score
from wordveil_lab.court.signs import signs, survival
from wordveil_lab.leagues import court
from wordveil_lab.rows import data_folder, locate
from worlds import distances

SEEDS = [int(s) for s in np.random.SeedSequence(18).generate_state(20)]
WORDS = [f"{a}{b}{c}q{b}x" for a in "bdfgklmn" for b in "aeiou" for c in "rstvz"]
CLAIM = Claim(epsilon=7.0)


def texts(n, seed=0):
    """Return n different texts of five made-up words."""
    generator = seeds.rng(seed)
    found: dict[str, None] = {}
    while len(found) < n:
        found.setdefault(" ".join(generator.choice(WORDS, 5)))
    return list(found)


def responded(originals, epsilon, seed):
    """Randomized response over the texts: local DP of exactly epsilon, and the best that any rule can match."""
    generator, n = seeds.rng(seed), len(originals)
    kept = generator.random(n) < math.exp(epsilon) / (math.exp(epsilon) + n - 1)
    other = (np.arange(n) + generator.integers(1, n, n)) % n
    chosen = np.where(kept, np.arange(n), other)
    return PairedTexts(originals=originals, released=[originals[i] for i in chosen])


def findings(pairs, claim, alpha=1e-6):
    return {finding.check: finding for finding in identify(pairs, {}, claim, alpha)[1]}


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_channel_matches_oftener_than_the_bound(size, epsilon):
    # Variables P(named j | given i); maximize the mean diagonal under every inequality of local DP.
    place = np.arange(size * size).reshape(size, size)
    rows = []
    for a in range(size):
        for b in range(size):
            for out in range(size):
                if a != b:
                    row = np.zeros(size * size)
                    row[place[a, out]], row[place[b, out]] = 1, -math.exp(epsilon)
                    rows.append(row)
    sums = np.kron(np.eye(size), np.ones(size))
    best = linprog(-np.eye(size).ravel() / size, np.array(rows), np.zeros(len(rows)), sums, np.ones(size))
    assert -best.fun == pytest.approx(hit_bound(epsilon, size), rel=1e-7)


def test_with_two_the_bound_is_that_of_membership_advantage():
    for epsilon in (0.5, 2.0, 6.0):
        advantage = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
        assert 2 * hit_bound(epsilon, 2) - 1 == pytest.approx(advantage)


def test_honest_claims_are_not_contradicted_and_false_ones_are():
    # Power: the twin draws at 9 nats where 7 are claimed; all of 20 seeds. False alarms: 20 x 1e-6.
    originals = texts(600)
    for seed in SEEDS:
        assert not findings(responded(originals, 7.0, seed), CLAIM)["claimed epsilon"].refuted
        assert findings(responded(originals, 9.0, seed), CLAIM)["claimed epsilon"].refuted


def test_the_lower_bound_on_epsilon_is_below_the_truth_and_near_it():
    originals = texts(600)
    for seed in SEEDS:
        found = findings(responded(originals, 7.0, seed), None)["epsilon of a text"].observed
        assert 5.5 < float(found.split()[2]) <= 7.0


def test_a_constant_output_contradicts_no_claim():
    originals = texts(300)
    found = findings(PairedTexts(originals=originals, released=["word"] * 300), Claim(epsilon=0.001))
    assert not found["claimed epsilon"].refuted
    assert "at least 0 nats" in found["epsilon of a text"].observed


def test_under_a_claim_per_word_blocks_hold_texts_of_one_length():
    n, generator = 400, seeds.rng(3)
    lengths = generator.integers(1, 4, n)
    closeness = np.eye(n)
    per_word = matched("x", closeness, 10, lengths, Claim(epsilon=1.0, per="word"))
    counts = [int((lengths == t).sum()) // 10 for t in (1, 2, 3)]
    bounds = [hit_bound(t, 10) for t in (1, 2, 3)]
    assert per_word.n == 10 * sum(counts) == per_word.hits
    assert per_word.bound == pytest.approx(np.average(bounds, weights=counts))
    assert matched("x", closeness, 500, lengths, None) is None


def test_words_by_themselves_are_held_against_a_claim_per_word():
    # Randomized response over the 200 words, in texts of one word each, so that each first occurrence counts once.
    def released(epsilon, seed):
        pairs = responded(WORDS, epsilon, seed)
        return findings(pairs, Claim(epsilon=4.0, per="word"))["claimed epsilon"].refuted

    assert [released(4.0, seed) for seed in SEEDS] == [False] * 20
    assert [released(7.0, seed) for seed in SEEDS] == [True] * 20


def test_too_many_hits_only_count_where_the_binomial_bounds_the_tail():
    assert Matches(attack="x", size=2, hits=5, n=10, bound=0.6).chance() == 1.0
    exact = sum(math.comb(10, k) * 0.2**k * 0.8 ** (10 - k) for k in range(8, 11))
    assert Matches(attack="x", size=2, hits=8, n=10, bound=0.2).chance() == pytest.approx(exact)


def test_survival_counts_tokens_with_multiplicity_by_kind():
    own = ["the cat saw 3 cats on 12/05/2024"] * 8
    out = ["The cat met 3 dogs of 12/05/2024 cat"] * 8
    found = {measure.name: (measure.value, measure.n) for measure in survival(PairedTexts(originals=own, released=out))}
    assert found["tokens"] == (4 / 7, 56)
    assert found["function words"] == (1 / 2, 16)
    assert found["content words"] == (1 / 3, 24)
    assert found["typed tokens"] == found["typed tokens"] == (1.0, 16)
    assert found["date"] == found["number"] == (1.0, 8)
    assert found["whole texts"] == (0.0, 8)


@pytest.mark.parametrize("n", [8, 9, 100])
def test_the_baseline_pairs_every_text_with_another_one(n):
    other = shifted(n)
    assert sorted(other) == list(range(n))
    assert (other != np.arange(n)).all()


def seen(pairs):
    return {one.check for one in signs(pairs, survival(pairs)[-1]) if one.status == "disclosed"}


def balanced(lists, seed):
    """Release each word as every entry of its list exactly twice, in an order of the seed, in texts of five words."""
    drawn = [(word, released) for word, entries in lists.items() for released in entries for _ in range(2)]
    order = seeds.rng(seed).permutation(len(drawn)).reshape(-1, 5)
    originals, released = ([" ".join(drawn[i][side] for i in text) for text in order] for side in (0, 1))
    return PairedTexts(originals=originals, released=released)


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_lists_without_the_word_itself_are_seen_and_lists_with_it_are_not(seed):
    # The counts are the same under every seed: 213 expected and none, 187 expected and 400, 19 expected and 40.
    around = {word: (WORDS[i:] + WORDS[:i])[:9] for i, word in enumerate(WORDS)}
    without, holding = ({word: list(rest[k : k + 8]) for word, rest in around.items()} for k in (1, 0))
    anything = {word: WORDS[:20] for word in WORDS[:20]}
    assert "never the word itself" in seen(balanced(without, seed))
    assert "never the word itself" not in seen(balanced(holding, seed))
    assert "never the word itself" not in seen(balanced(anything, seed))


def test_verbatim_and_constant_releases_are_seen():
    originals = texts(100)
    spaced = [f" {text.upper()} " for text in originals]
    assert {"verbatim releases", "length"} <= seen(PairedTexts(originals=originals, released=spaced))
    assert "constant outputs" in seen(PairedTexts(originals=originals, released=["one thing", "another"] * 50))
    assert seen(PairedTexts(originals=originals, released=[text + " more" for text in texts(100, 5)])) == set()


def test_masked_words_are_named_from_their_context_alone():
    sentences = ["I would like to go to the house of my mother and father in the end of the year"] * 8
    (honest,) = utility.masked_words(PairedTexts(originals=sentences, released=sentences))
    (noise,) = utility.masked_words(PairedTexts(originals=sentences, released=["zebra " * 19] * 8))
    assert honest.value > 0.2 > noise.value  # the word itself is not looked at, or all would be named


def test_classes_and_authors_are_told_from_informative_releases_only():
    topics = {"sport": "match goal team player", "health": "doctor patient hospital nurse"}
    originals = [f"{word} {other}" for words in topics.values() for word in words.split() for other in words.split()]
    labels = [name for name, words in topics.items() for _ in range(16)]
    facts = {"label": labels, "attribute": labels, "author": labels}
    same = PairedTexts(originals=originals, released=originals, facts=facts)
    blank = replace(same, released=["thing"] * 32)
    for column in ("label", "attribute"):
        assert utility.classes(same, column)[0].value > 0.9
        assert utility.classes(blank, column)[0].value < 0.7
        assert utility.classes(blank, column)[1].beside > 0.9
    assert utility.authors(same)[0].value > 0.9
    assert utility.authors(blank)[0].value <= 0.5
    alone = replace(same, facts={"label": ["sport"] * 31 + ["health"]})
    with pytest.raises(ParameterError, match="classes are too few, or too rare, to learn from"):
        utility.classes(alone, "label")


def test_no_word_of_any_text_is_in_a_report():
    secrets = ["Xanthippe", "Quetzalcoatl", "maria@clinic.example", "4711-0815"]
    originals = [f"{text} {secrets[i % 4]}" for i, text in enumerate(texts(16))]
    facts = {"label": ["Oneirology", "Phrenology"] * 8, "author": ["Zarathustra", "Bartholomew"] * 8}
    found = score(PairedTexts(originals=originals, released=originals, facts=facts), CLAIM)
    said = found.to_json() + found.to_html() + "\n".join(found.summary_lines()) + repr(found)
    private = {*secrets, *WORDS, "Oneirology", "Phrenology", "Zarathustra", "Bartholomew"}
    assert not {word for word in private if word.lower() in said.lower()}
    assert "Xanthippe" not in repr(PairedTexts(originals=originals, released=originals, facts=facts))
    assert json.loads(found.to_json())["measures"]
    assert bool([one for one in found.left_out if "MiniLM" in one]) != model_installed()


def test_equal_texts_are_scored_as_equal():
    originals = ["I saw the doctor on Monday.", "Taxes rise again.", "The film was long."] * 4
    found = {one.name: one for one in score(PairedTexts(originals=originals, released=originals)).measures}
    assert found["tokens"].value == found["whole texts"].value == 1.0
    assert found["cosine, static"].value == pytest.approx(1.0, abs=1e-6)
    assert found["cosine, static"].beside < 0.9
    assert found["perplexity"].value == pytest.approx(found["perplexity"].beside)
    assert found["original among 3, words"].value == 1.0


def test_perplexity_rises_when_words_are_out_of_order():
    own = ["we went to the house because it was raining and the car was old"] * 8
    mixed = ["house the raining went it to car we the was and old because was"] * 8
    (found,) = utility.fluency(PairedTexts(originals=own, released=mixed))
    assert found.value > 3 * found.beside


def test_columns_are_read_from_parquet_and_must_be_named(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": ["x", None]}), tmp_path / "t.parquet")
    assert read_column(str(tmp_path / "t.parquet"), "a") == ["x", None]
    with pytest.raises(ParameterError, match="must be named for this format"):
        read_column(str(tmp_path / "t.parquet"), None)


def test_wrong_claims_and_short_files_are_refused():
    pairs = PairedTexts(originals=texts(8), released=texts(8))
    for claim, told in ((Claim(epsilon=0.0), "claimed"), (Claim(epsilon=1.0, per="sentence"), "one of text, word")):
        with pytest.raises(ParameterError, match=told):
            score(pairs, claim)
    with pytest.raises(ParameterError, match="at least 8 texts"):
        PairedTexts(originals=["a"], released=["b"])
    with pytest.raises(ParameterError, match="one entry for each"):
        PairedTexts(originals=texts(8), released=texts(9))


@pytest.mark.data
def test_published_outputs_show_their_signs():
    if data_folder() is None:
        pytest.skip("the shared data sets are absent (set WORDVEIL_DATA)")
    found = {}
    with gzip.open(locate("released/privbench.jsonl.gz"), "rt") as stream:
        rows = [row for row in map(json.loads, stream) if row["budget"] == "1x"]
    for method in {row["method"] for row in rows}:
        own = [row for row in rows if row["method"] == method]
        found[method] = seen(
            PairedTexts(originals=[row["original"] for row in own], released=[row["released"] for row in own])
        )
    assert {method for method, shown in found.items() if "constant outputs" in shown} == {"adept"}
    assert {method for method, shown in found.items() if "verbatim releases" in shown} == {"santext", "diffractor"}
    assert {method for method, shown in found.items() if "never the word itself" in shown} == {"custext"}


ROOT = Path(__file__).parents[3]
TEXTS = ["the doctor saw her family in london", "a long film about music and money", "Xanthippe went home"] * 40


@pytest.fixture(scope="module")
def table():
    return wv.load_embeddings().first(1500)


def test_lengths_are_distances(table):
    ids = np.arange(50, dtype=np.int32)
    expected = distances(wv.Euclidean(), table.vectors[ids], table.vectors[table.candidates[:50]])
    rows = table.vectors.astype(np.float64)
    found = court.distances(rows[ids], rows[table.candidates])
    np.testing.assert_allclose(found[:, :50], expected, atol=1e-6)


def test_draws_follow_their_rows():
    # alpha: 4 shares within 6 standard deviations, 8e-9.
    law = np.array([[1.0, 3.0, 0.0, 4.0]]).repeat(40_000, axis=0)
    share = np.bincount(court.drawn(law, seeds.rng(0)), minlength=4) / 40_000
    expected = law[0] / 8
    assert (np.abs(share - expected) <= 6 * np.sqrt(expected * (1 - expected) / 40_000)).all()


def test_custext_stays_on_its_list_and_keeps_unknown_words(table):
    released = court.custext(TEXTS, table, seeds.rng(0))
    outputs = {text.split()[1].lower() for text in released[::3]}
    gaps = court.distances(table.vectors[table.ids(["doctor"])], table.vectors[table.candidates])[0]
    near = {table.words[int(table.candidates[i])] for i in np.argsort(gaps)[:20]}
    assert len(outputs) > 3
    assert outputs <= near
    assert all(text.split()[0] == "Xanthippe" for text in released[2::3])


def test_santext_plus_keeps_most_common_words_and_diffractor_moves_along_its_line(table):
    corpus = encode(table, TEXTS)
    known = corpus.tokens >= 0
    common = known & (court.word_prior(table)[corpus.tokens] >= court.COMMON)
    released = court.santext_plus(corpus, table, seeds.rng(0))
    assert (released[common] == corpus.tokens[common]).mean() > 0.65
    line = court.public_line(table)
    assert sorted(line) == sorted(table.candidates)
    place = np.argsort(line)
    moved = place[court.diffractor(corpus, table, seeds.rng(0), epsilon=2.0)] - place[corpus.tokens]
    stayed = (1 - np.exp(-2)) / (1 + np.exp(-2))  # of the two-sided geometric law
    assert (moved[known] == 0).mean() == pytest.approx(stayed, abs=0.1)


def test_budgets_of_a_text_add_up(table, monkeypatch):
    seen = {}
    monkeypatch.setattr(court, "by_distance", lambda tokens, rates, *_: seen.update(rates=rates) or tokens)
    corpus = encode(table, TEXTS[:2])
    court.budgets(corpus, table, seeds.rng(0))
    totals = np.add.reduceat(seen["rates"], corpus.offsets[:-1])
    np.testing.assert_allclose(totals, court.RATE * np.diff(corpus.offsets))


def test_the_run_holds_every_row():
    assert [row["name"] for row in court.RUN.report()["rows"]] == list(court.METHODS)


def test_neighbour_response_is_that_of_the_lists_that_the_page_speaks_of(table):
    mechanism = wv.NeighbourResponse(epsilon=8.0, **court.LISTED).fit(wv.load_embeddings())
    assert (len(mechanism.outputs), mechanism.lists.shape[1]) == (4000, 16)
