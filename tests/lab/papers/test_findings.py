"""What the pages of reproductions say is computed, quoted, and judges as little as a run can show."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms.truncated_law import escape, published_half_width
from wordveil.vocabulary.table import Embeddings
from wordveil_lab.commands.reproduce import PAPERS
from wordveil_lab.evaluation.base import Summary, summarize
from wordveil_lab.evaluation.overlap import MINILM, ROBERTA
from wordveil_lab.package import told
from wordveil_lab.papers import curse, privemb, tem, trlaplace_results
from wordveil_lab.papers.base import (
    FAILS,
    HOLDS,
    PARTLY,
    UNTESTED,
    VERDICTS,
    Comparison,
    Options,
    is_table,
    roles_of,
    standing,
    verdict,
)
from wordveil_lab.papers.summary import JUDGED, as_dict, as_markdown, read_reproduction, summary_table
from wordveil_lab.papers.trlaplace import CERTIFIED, CODE, PUBLISHED, Published, best_guess, contenders
from wordveil_lab.rows import data_folder, file_digest
from wordveil_lab.tables import read_table


def accuracies(**values):
    scores = {("baseline", 0.0): 0.78} | {(name, 2.0): value for name, value in values.items()}
    return {key: {"accuracy": summarize([v, v]), "auc": summarize([0.5, 0.5])} for key, v in scores.items()}


@pytest.mark.parametrize(
    ("reached", "full", "said"),
    [(0.53, False, UNTESTED), (0.53, True, FAILS), (0.75, False, HOLDS), (0.75, True, HOLDS)],
)
def test_a_reduced_run_of_tem_refutes_nothing(reached, full, said):
    found = accuracies(tem=reached, laplace=0.52)
    rows = list(tem.results(found, full=full))
    assert [row.verdict for row in rows] == [said, HOLDS, UNTESTED, UNTESTED]
    assert "at 1 of 1 epsilons" in tem.findings(found)[0]
    found |= {("tem", 4.0): found["tem", 2.0], ("laplace", 4.0): found["laplace", 2.0]}
    assert [*tem.results(found, full=full)][2].verdict == HOLDS
    found |= {("tem", 8.0): found["laplace", 2.0], ("laplace", 8.0): found["tem", 2.0]}
    assert [*tem.results(found, full=full)][2].verdict == (FAILS if full else UNTESTED)


def test_two_trials_that_agree_by_chance_are_no_lead():
    """Numbers of the stored run; its standard errors of Laplace are .003, .025 and .024, and .020 together."""
    values = {1.0: (0.525, 0.003, 0.552, 0.5, 0.502), 4.0: (0.555, 0.025, 0.868, 0.501, 0.516)}
    values[8.0] = (0.681, 0.024, 0.872, 0.502, 0.519)
    found = accuracies(tem=0.79, laplace=0.5)
    found["baseline", 0.0] |= {"auc": over(0.527, 0.0)}
    for e, (laplace, error, own, plain, tem_auc) in values.items():
        found["laplace", e] = {"accuracy": over(laplace, error), "auc": over(plain, 0.001)}
        found["tem", e] = {"accuracy": over(own, 0.002), "auc": over(tem_auc, 0.001)}
    first, second = [*tem.results(found, full=True)][2:]
    assert "TEM's is higher in 2, level in 1, lower in 0" in first.ours
    assert "from epsilon 4 on Madlib's is lower than without noise in 2, level in 0, higher in 0" in second.ours
    assert (first.verdict, second.verdict) == (PARTLY, HOLDS)


def over(mean, error=0.01):
    return Summary(mean=mean, standard_error=error, low=mean, high=mean, runs=3)


def test_privemb_counts_by_two_standard_errors_who_is_ahead():
    assert standing([(over(0.6), over(0.5)), (over(0.5), over(0.51)), (over(0.4), over(0.5))]) == (1, 1, 1)
    assert standing([(over(4.0), over(5.0))], lower=True) == (1, 0, 0)
    pairs = {key: {} for key in ("figure 1", "figure 2", "table 1", "table 1, fresh noise for every token")}
    pairs |= {"figure 3": {"epsilon 5": (over(0.6), over(0.5)), "epsilon 20": (over(0.6), over(0.6))}}
    pairs |= {"figure 4": {"epsilon 5": (over(0.5), over(0.6))}, "table 1": {"MR": (over(0.5), over(0.5))}}
    rows = {row.what: row for row in privemb.results(pairs, full=False)}
    assert [rows[what].verdict for what in ("figure 3", "figure 4", "table 1")] == [PARTLY, UNTESTED, UNTESTED]
    assert rows["figure 3"].ours == "ahead in 1, 1 level, behind in 0 of 2 (two standard errors); level at epsilon 20"
    rows = {row.what: row.verdict for row in privemb.results(pairs, full=True)}
    assert (rows["figure 4"], rows["table 1"]) == (UNTESTED, UNTESTED)  # two tables; what is level refutes nothing
    pairs["table 1"] = {name: (over(0.6), over(0.5)) for name in "abcd"}
    assert {row.what: row.verdict for row in privemb.results(pairs, full=True)}["table 1"] == PARTLY  # four of five
    pairs["table 1"]["e"] = (over(0.4), over(0.5))
    assert {row.what: row.verdict for row in privemb.results(pairs, full=True)}["table 1"] == FAILS


@pytest.mark.parametrize(("size", "said"), [("reduced", UNTESTED), ("paper", FAILS)])
def test_table_two_is_refuted_at_the_papers_size_alone(size, said):
    means = {bound: over(1.0) for bound in curse.BOUNDS}
    table = Embeddings.from_arrays(["a"], [[1.0]])
    row = curse._table(means, ("GloVe-Wiki 50", (1.0, 1.0, 0.5)), table, Options(paper="curse", size=size))
    assert row.verdict == said


def test_curse_names_the_largest_shares():
    names = list(curse.CLAIMS)
    near = dict(zip(names, (0.2, 0.6, 0.1), strict=True))
    shares = {("t", name, e): [0.0, near[name] / (e / 8), 0.0] for name in names for e in (8.0, 16.0)}
    found = curse.findings(shares, {"t": (0.005, 0.6, 0.3)})
    assert f"0.200 at epsilon 8 (figure 2, Laplace), 0.600 at epsilon 8 ({names[1]})" in found[0]
    assert "c = 0.005 gives them most: 0.60 in the mean over the epsilons tried, c = .04 0.30." in found[0]


@pytest.mark.parametrize(("epsilon", "d"), [(0.1, 300), (5.0, 300), (10.0, 425)])
def test_the_published_noise_is_theorem_three_where_its_delta_is_a_float(epsilon, d):
    fitted = Published(epsilon=epsilon, padded_dimensions=d, clip_norm=3.0).for_dimensions(50)
    assert fitted.half_width == pytest.approx(3.0 * published_half_width(d, epsilon, 4.0**-d))
    assert fitted.alpha == pytest.approx(epsilon / (2 * np.sqrt(d) * 3.0))


def test_the_published_noise_of_1700_dimensions_needs_no_float_delta():
    """By hand: 1/alpha = 2 sqrt(1700)/20 = 4.12311, 1 - 20/(2 (1/4) sqrt(1700)) = .0298575, A = 14.48 C."""
    fitted = Published(epsilon=20.0, padded_dimensions=1700).for_dimensions(300)
    assert fitted.half_width == pytest.approx(4.1231056 * 3.5113, rel=1e-4)
    shift = np.full(300, 2 / np.sqrt(300))
    exact = 1 - np.prod(1 - escape(shift, fitted.alpha, fitted.half_width))
    said = float(re.search(r"exact delta in 300 dimensions is ([0-9.]+)", fitted.guarantee().reason)[1])
    assert exact <= said * (1 + 1e-9)
    with pytest.raises(ParameterError, match="theorem 3"):
        Published(epsilon=20.0, padded_dimensions=1600).for_dimensions(300)


def trained(published, clean=0.9, table="glove"):
    """A run with these accuracies behind the published noise at two epsilons, and rewriters of the same shares."""
    scores = {
        "classify sst2": {"accuracy": clean},
        "classify agnews": {"accuracy": clean},
        "rewrite yelp": {"ROUGE-1": 100 * clean, "N_w": clean, "best guess": 0.1},
        "rewrite yahoo": {"ROUGE-1": 100 * clean, "N_w": clean, "best guess": 0.1},
    }
    found = {
        ("seconds", "none", None): {"beyond none": over(0.0)},
        ("seconds", "Laplacian", 1.0): {"beyond none": over(0.1)},
        ("seconds", CERTIFIED, 1.0): {"beyond none": over(0.265)},  # .15 above the Laplacian
    }
    for kind, own in scores.items():
        for name, epsilon, share in (("none", None, 1.0), (PUBLISHED, 0.1, published), (PUBLISHED, 20.0, 1.0)):
            found[f"{kind}, {table}", name, epsilon] = {score: over(share * value) for score, value in own.items()}
    return found


@pytest.mark.parametrize(("published", "clean", "full", "rewriters", "classifiers"), [
    (0.96, 0.9, False, HOLDS, HOLDS),
    (0.94, 0.9, False, UNTESTED, UNTESTED),
    (0.94, 0.9, True, UNTESTED, FAILS),  # rewriters are another model, which refutes nothing at any size
    (1.0, 0.3, False, UNTESTED, UNTESTED),  # nothing was learnt, so nothing could be lost
])  # fmt: skip
def test_trained_models_judge_what_they_can(published, clean, full, rewriters, classifiers):
    rows = {row.what: row.verdict for row in trlaplace_results.results(trained(published, clean), full=full)}
    assert len(rows) == 7
    assert rows.pop("table 5: one epoch with TrLaplacian takes longer by") == HOLDS
    for what, said in rows.items():
        assert said == (classifiers if what.startswith("figure 4") else rewriters), what


def test_every_score_of_a_trained_model_is_a_number_of_the_page_beside_the_papers():
    rows = {row.what: row for row in trlaplace_results.numbers(trained(0.5))}
    row = rows["rewrite yelp, glove: TrLaplacian, published, epsilon 0.1"]
    assert (row.paper, row.ours.split(", ")[0]) == ("ROUGE-1 89.5, N_w 0.721", "ROUGE-1 45.0 +- 0.0")
    assert {(p.figure, p.paper): p.value for p in row.points} == {
        ("ROUGE-1, Yelp", False): 45.0,
        ("N_w, Yelp", False): 0.45,
        ("best guess, Yelp", False): pytest.approx(0.05),
        ("ROUGE-1, Yelp", True): 89.47,
        ("N_w, Yelp", True): 0.721,
    }
    assert rows["classify sst2, glove: none"].paper == ""
    assert {score.split(":")[0] for score in trlaplace_results.absent(trained(0.5))} == {"BLEU", MINILM, ROBERTA}


def test_the_code_draws_the_same_noise_and_clips_nothing():
    """At C = .005 vectors of norm 10 come out whole, and the density is that of what was added."""
    table = Embeddings.from_arrays(["a", "b"], [[10.0, 0.0], [0.0, 10.0]])
    rows = np.asarray(table.vectors, dtype=np.float64)
    for name, _, mechanism in contenders(2, (20.0,)):
        if name in CODE:
            fitted = mechanism.fit(table)
            released = fitted.release(rows, seeds.source(3))
            assert np.abs(released - rows).max() < 1
            densities = fitted.log_density(released, table.vectors)
            assert densities.argmax(axis=1).tolist() == [0, 1]
            assert best_guess(mechanism, table, np.array([0, 1]), np.array([0, 1]), seeds.source(4)) == 1.0


def cell(page, start):
    text = (RESULTS / page).read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [part.strip() for part in line.strip("|").split("|")]


def summary_of(paper):
    text = " ".join((RESULTS.parent / "explanation" / "literature.md").read_text(encoding="utf-8").split())
    return re.search(rf"- \*\*{paper}\*\*[^:]*: (.*?)(?= - \*\*| ## |$)", text)[1]


def finding(page, pattern):
    return re.search(pattern, (RESULTS / page).read_text(encoding="utf-8")).groups()


def test_the_papers_in_one_line_quote_their_pages():
    nadp = summary_of("NADP")
    silent = cell("nadp.md", "share of words released without noise, tau 0.5")[2]
    (kept,) = finding("nadp.md", r"With noise for all, NADP keeps at most (\d+) % of its lead")
    assert f"({silent} of" in nadp
    assert f"at most {kept} % of its lead" in nadp
    laplace, tem = finding("tem.md", r"\| figure 1a, epsilon 2 \|.*\| ([\d.]+) \+- \S+ and ([\d.]+) \+- ")
    assert f"TEM reaches {float(tem):.2f} and Laplace {float(laplace):.2f}" in summary_of("TEM").replace(" .", " 0.")
    ahead, sets = finding("privemb.md", r"\| table 1 \|.*\| ahead in (\d+), .* of (\d+) \(")
    (fresh,) = finding("privemb.md", r"\| table 1, fresh noise for every token \|.*\| ahead in (\d+),")
    said = f"on {ahead} of {sets} sets with one noisy vector a word and on {fresh} with fresh noise"
    assert said in summary_of("PrivEmb")
    means = cell("curse.md", "table 2, GloVe-Wiki 50")[2].split(" / ")
    listed = ", ".join(mean.split(" ")[0].removeprefix("0") for mean in means)
    assert listed in summary_of("Curse of dimensionality")


DOCS = Path(__file__).resolve().parents[3] / "docs"
RESULTS = DOCS / "results"
LITERATURE = DOCS / "explanation/literature.md"
NAMES = [*PAPERS, "trlaplace-neural"]
PAGES = [*(RESULTS / f"{name}.md" for name in NAMES), LITERATURE]
JUDGING = re.compile(
    r"do(es)? not hold|is not (met|reached|true)|\brefute[sd]?\b|disprove|\bwrong\b|\*\*No\.|cannot come from"
    r"|\bfails?\b",
    re.IGNORECASE,
)
GROUNDS = re.compile(
    r"exact|prove|proof|counter-example|comput|audit|refutes nothing|artefact|our error|published \(refuted\)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("full", [True, False])
def test_only_a_full_run_may_say_that_something_does_not_hold(full):
    assert verdict(True, full=full) == HOLDS
    assert verdict(False, full=full) == (FAILS if full else UNTESTED)
    with pytest.raises(ParameterError, match="must be one of"):
        Comparison(what="figure 1", paper="", ours="", verdict="refuted")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_sentence_judges_without_an_exact_ground(page):
    """A judging word stands in a line or paragraph that names its proof, counter-example or exact computation."""
    text = page.read_text(encoding="utf-8")
    for part in re.split(r"\n\n|\n(?=[-|] )", text):
        if not part.startswith("#") and JUDGING.search(part):
            assert GROUNDS.search(part), part


@pytest.mark.parametrize("paper", NAMES)
def test_what_does_not_hold_was_computed_or_run_at_the_papers_size_and_data(paper):
    page = (RESULTS / f"{paper}.md").read_text(encoding="utf-8")
    whole = "size paper" in page and "--table" in page
    for what, _, ours, said in read_table(page, JUDGED)[1:]:
        assert said in VERDICTS
        assert said != FAILS or whole or re.search("exact|proved", ours), what


def test_a_stored_reproduction_is_read_and_is_its_page():
    """`python -m wordveil_lab.papers.summary docs/results` writes it."""
    found, command = read_reproduction(RESULTS / "trlaplace-neural.json")
    page = (RESULTS / "trlaplace-neural.md").read_text(encoding="utf-8")
    assert as_markdown(found, command, "trlaplace-neural.svg") == page
    stored = json.loads((RESULTS / "trlaplace-neural.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(as_dict(found, command))) == stored


def test_the_table_of_all_papers_is_read_off_their_pages():
    """`python -m wordveil_lab.papers.summary docs/results` writes it."""
    rows = summary_table(RESULTS)
    assert len(rows) > 60
    assert "\n".join(rows) in (RESULTS / "papers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_row_of_another_run_says_so_and_names_its_command(paper):
    rows = [row for row in summary_table(RESULTS) if row.startswith(f"| [{paper}]")]
    for row in told("papers/about.toml")[paper]["left"]:
        other = "trlaplace-neural.md" in row["ours"]
        assert other == row["ours"].startswith("stored run"), row["what"]
        (listed,) = [line for line in rows if f" | {row['what']} | " in line]
        assert listed.endswith(" --neural` |") == other, row["what"]


@pytest.mark.parametrize("paper", NAMES)
def test_every_role_and_file_is_on_the_page_of_files(paper):
    page = (RESULTS / "data.md").read_text(encoding="utf-8")
    files = page.split("## The files\n")[1]
    for role, name in roles_of(paper).items():
        option = "--table" if is_table(paper, role) else "--data"
        own = f"`{name}`" if name else "none"
        assert f"| `{option} {role}=FILE` | {own} |" in page.split(f"## {paper}\n")[1].split("\n## ")[0]
        if name:
            (line,) = [line for line in files.splitlines() if line.startswith(f"| `{name}` |")]
            (checksum,) = re.findall(r"`([0-9a-f]{64})`", line)
            if data_folder() is not None and (data_folder() / name).is_file():
                assert file_digest(name) == checksum
