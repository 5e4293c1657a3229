"""The table: promises at the target, a miniature of every cell, resuming, reports that need nothing from outside."""

import csv
import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.installed_packages import install
from typer.testing import CliRunner

import seeds
from wordveil.cli.app import build_app
from wordveil.errors import ParameterError
from wordveil.mechanisms.common import OWN_CODE
from wordveil.mechanisms.laplace_profile import laplace_delta
from wordveil.promises.guarantees import LocalDP, MetricDP, NeighbourDP, NoGuarantee, Standing
from wordveil_lab.evaluation.audits import AuditSettings
from wordveil_lab.evaluation.catalogue import TASKS, chosen_tasks, runnable
from wordveil_lab.evaluation.cells import Baseline, Cells, Group, PromiseSettings, Target
from wordveil_lab.evaluation.league import Plan, run_league
from wordveil_lab.evaluation.recipes import RECIPES, contenders, diameter, fit_contender
from wordveil_lab.evaluation.report import as_dict, as_markdown, write_league
from wordveil_lab.evaluation.subjects import subject_of

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("league")]  # one table for all of them

EPSILONS, LOCAL, RANK = (3.0,), (6.0,), (2.0,)
KINDS = {
    Group.METRIC: (MetricDP,),
    Group.RANK: (MetricDP,),
    Group.LOCAL: (LocalDP,),
    Group.NEIGHBOUR: (NeighbourDP, LocalDP),
}


@pytest.mark.parametrize("target", contenders(None, EPSILONS, LOCAL, RANK), ids=lambda t: f"{t.group}-{t.name}")
def test_every_row_makes_the_promise_of_its_group_and_no_weaker(world, target):
    found = fit_contender(target, world, PromiseSettings())
    if target.group is Group.REFUTED:
        refuted = isinstance(found.guarantee, NoGuarantee) and found.guarantee.standing is Standing.REFUTED
        assert refuted or "holds at this epsilon" in found.note
        return
    assert isinstance(found.guarantee, KINDS[target.group])
    assert found.guarantee.epsilon <= target.epsilon * (1 + 1e-9)
    assert found.guarantee.delta <= 1e-5
    assert found.guarantee.standing in (Standing.PROVED, Standing.CERTIFIED)
    if target.group in (Group.METRIC, Group.RANK):
        metric = {Group.METRIC: "euclidean", Group.RANK: "neighbour-rank(k=100) of vocabulary"}[target.group]
        assert found.guarantee.metric.startswith(metric)


def test_the_profile_row_uses_all_of_its_promise(world):
    (target,) = contenders(("laplace-profile-vectors",), EPSILONS, LOCAL)
    randomizer = fit_contender(target, world, PromiseSettings()).words.randomizer
    loss = randomizer.mechanism.epsilon * diameter(world)
    assert laplace_delta(6.0, dimensions=6, loss=loss) <= 1e-5
    assert laplace_delta(6.0, dimensions=6, loss=1.01 * loss) > 1e-5


def test_first_words_makes_inputs_and_outputs_the_same(world):
    few = world.without_outputs([world.words[0]]).first(10)
    assert len(few) == len(few.candidates) == 10
    assert few.words[0] == world.words[1]
    assert world.first(None) is world
    with pytest.raises(ParameterError, match="at least 2"):
        world.first(1)


def plan(names=None, tasks=None, seed=0):
    return Plan(
        targets=contenders(names, EPSILONS, LOCAL, RANK),
        tasks=runnable(chosen_tasks(tasks, size="miniature"))[0],
        audit=AuditSettings(samples=400, pairs=3),
        repeats=2,
        seed=seeds.seed(seed),
    )


@pytest.fixture(scope="module")
def finished(world, world_data, tmp_path_factory):
    """A miniature of the table: all tasks on TEM and on the first row of each promise with vectors, and with words."""
    kinds = {}
    for target in contenders(None, EPSILONS, LOCAL, RANK):
        kinds.setdefault((target.group, target.name.endswith("-vectors"), target.name == "tem"), target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDVEIL_DATA", str(world_data))
        cache = tmp_path_factory.mktemp("cells")
        return run_league(replace(plan(), targets=tuple(kinds.values())), world, cache=cache), cache


def test_every_row_of_the_table_can_be_computed(world):
    tasks, audit = chosen_tasks(("distortion", "deniability"), size="miniature"), AuditSettings(samples=0)
    league = run_league(replace(plan(), tasks=tasks, audit=audit), world)
    assert len(league.rows) == len(RECIPES) + 2
    assert [row.note for row in league.rows if len(row.cells) != len(tasks)] == []


@pytest.mark.parametrize("name", list(TASKS))
def test_every_task_can_be_computed_of_every_promise(finished, name):
    league, _ = finished
    (task,) = chosen_tasks((name,), size="miniature")
    if task.lacking:
        pytest.skip(task.lacking)
    assert [row.label for row in league.rows[:2]] == ["no noise", "random words"]
    assert {row.target.group for row in league.rows[2:]} == {*Group}
    place = [task.name for task in league.plan.tasks].index(name)
    for row in league.rows:
        assert len(row.cells) == len(league.plan.tasks), row.note
        cell = row.cells[place]
        of_vectors = row.target not in tuple(Baseline) and row.target.name.endswith("-vectors")
        assert (cell.task, cell.applies) == (name, not (task.reads_words and of_vectors))
        if cell.applies:
            assert list(cell.scores) == [score.name for score in task.scores]
            assert all(s.low <= s.mean <= s.high for s in cell.scores.values())


def test_random_words_know_nothing_of_the_input(finished, world):
    league, _ = finished
    cells = {cell.task: cell.scores for cell in league.rows[1].cells}
    assert cells["deniability"]["n_w_worst"].mean == pytest.approx(1 / len(world), rel=1e-6)
    assert cells["bayes"]["success"].mean == pytest.approx(cells["bayes"]["guessing"].mean, rel=1e-6)


@pytest.mark.parametrize("target", contenders(("laplace", "nadp"), EPSILONS, LOCAL), ids=lambda t: t.name)
def test_a_row_is_one_release(world, target):
    """Everything a row is scored on is either the noisy vectors or vectors of released words, never some of each."""
    found = fit_contender(target, world, PromiseSettings())
    subject = subject_of(found.words, decoded=found.decoded)
    rows = subject.release_vectors(np.arange(len(world), dtype=np.int32), seeds.source(1), "rows")
    words = (rows[:, None, :] == world.vectors[None].astype(np.float64)).all(axis=2).any(axis=1)
    vectors = target.name.endswith("-vectors")
    assert (subject.vectors is not None) == vectors
    assert not words.any() if vectors and "verbatim" not in target.name else words.all() != vectors
    tasks = chosen_tasks(None)
    assert all(task.applies(subject) != (vectors and task.reads_words) for task in tasks)
    assert {task.name for task in tasks if task.reads_words} >= {"text-classification", "pii-survival", "authorship"}


def test_exact_cells_have_one_run_and_no_error(finished):
    league, _ = finished
    row = next(row for row in league.rows if row.label == "tem @ 3")
    bayes = next(cell for cell in row.cells if cell.task == "bayes")
    assert (bayes.scores["success"].runs, bayes.scores["success"].standard_error) == (1, 0.0)


def same_scores(first, second):
    return [[c.scores for c in row.cells] for row in first.rows] == [
        [c.scores for c in row.cells] for row in second.rows
    ]


def test_a_damaged_cell_is_computed_again_and_other_seeds_draw_other_noise(world, use_world, tmp_path):
    chosen = ("laplace",), ("word-similarity",)
    first = run_league(plan(*chosen), world, cache=tmp_path)
    key = first.rows[1].cells[0].key
    (tmp_path / f"{key}.json").write_text('{"row": ')
    assert Cells(tmp_path).get_cell(key) is None
    assert same_scores(first, run_league(plan(*chosen), world, cache=tmp_path))
    assert not same_scores(first, run_league(plan(*chosen, seed=1), world))


def test_changed_data_makes_another_cell(world, world_data, monkeypatch, tmp_path):
    mine = tmp_path / "pairs.tsv"
    lines = (world_data / "wordsim/men3k.tsv").read_text().splitlines()
    keys = []
    for count in (30, 29):
        mine.write_text("\n".join(lines[:count]) + "\n")
        tasks = chosen_tasks(("word-similarity",), data={"word-similarity": str(mine)})
        keys.append(run_league(Plan(targets=plan(("tem",)).targets, tasks=tasks), world).rows[0].cells[0].key)
    assert keys[0] != keys[1]


@pytest.mark.slow
def test_processes_do_not_change_the_table(world, use_world):
    chosen = ("laplace", "tem"), ("word-similarity", "bayes")
    assert same_scores(run_league(plan(*chosen), world), run_league(plan(*chosen), world, workers=2))


def test_a_row_without_parameters_says_why(world, use_world):
    targets = contenders(("tem",), (3.0,), LOCAL)
    alone = world.without_outputs(list(world.words)[1:])
    league = run_league(Plan(targets=targets, tasks=chosen_tasks(("odd-man-out",))), alone)
    assert "not possible here: beta=0.001" in next(row.note for row in league.rows if row.label == "tem @ 3")
    assert [row.cells for row in league.rows if row.label == "tem @ 3"] == [()]


def test_only_the_promises_whose_epsilon_is_given_are_compared():
    assert {t.label for t in contenders(("tem",), (10.0,), ())} == {"tem @ 10", "tem-certified @ 10"}
    assert {t.group for t in contenders(("tem", "neighbours"), (), (8.0,))} == {Group.LOCAL}
    assert {t.group for t in contenders(None, (), (6.0,))} == {Group.LOCAL, Group.NEIGHBOUR, Group.REFUTED}
    with pytest.raises(ParameterError, match="no row for the kinds of epsilon given"):
        contenders(("mahalanobis",), (), (6.0,))


def test_a_mechanism_of_another_package_has_rows_of_its_promise_and_none_of_older_code(monkeypatch, tmp_path, world):
    code = "import wordveil as wv\nclass Mine(wv.NeighbourResponse):\n    name = 'mine'\n"
    offers = "[wordveil.mechanisms]\nmine = mine:Mine\n"
    plans = []
    for version in ("1.0", "1.1"):
        with monkeypatch.context() as patch:
            install(patch, tmp_path / version, code, version=version, offers=offers)
            targets = contenders(("mine",), (3.0,), (8.0,))
            assert {(target.group, target.epsilon) for target in targets} == {
                (Group.METRIC, 3.0),
                (Group.LOCAL, 8.0),
                (Group.NEIGHBOUR, 8.0),
            }
            league = run_league(Plan(targets=targets, tasks=chosen_tasks(("deniability",)), repeats=2), world)
            plans.append({cell.key for row in league.rows for cell in row.cells if row.label == "mine @ 8"})
            (own,) = (row for row in league.rows if row.label == "mine @ 8")
            assert own.guarantee["epsilon"] == 8.0
            assert own.cells
            assert [row.label for row in league.rows if row.guarantee is not None] == ["mine @ 8"]
            plan = Plan(targets=targets[:1], tasks=chosen_tasks(("deniability",)), repeats=2)
            (alone,) = run_league(plan, world).rows[2:]
            assert "promises local DP, whose epsilons are given by --local-epsilon" in alone.note
    assert plans[0].isdisjoint(plans[1])


def test_a_mechanism_of_a_file_has_a_row_beside_the_others_and_none_of_older_code(tmp_path, monkeypatch, world):
    file, tasks = tmp_path / "mine.py", chosen_tasks(("deniability",))
    found = []
    for doubled in ("", "\n    epsilon: float = 2.0"):
        file.write_text(f"import wordveil as wv\nclass Mine(wv.NeighbourResponse):\n    name = 'mine'{doubled}\n")
        targets = contenders(("neighbours-16",), (), (8.0,), places=(f"{file}:Mine",))
        league = run_league(Plan(targets=targets, tasks=tasks, repeats=2), world, workers=2)
        rows = {row.label: row for row in league.rows}
        own = rows["mine @ 8"].guarantee
        assert own == {**rows["neighbours-16 @ 8"].guarantee, "assumptions": own["assumptions"]}
        assert own["assumptions"] == (OWN_CODE,)
        found.append(rows["mine @ 8"].cells[0])
    assert found[0].key != found[1].key
    assert found[0].scores == found[1].scores
    helper = tmp_path / "imported_by_mine.py"
    helper.write_text("K = 1")
    file.write_text(f"import imported_by_mine\n{file.read_text()}")
    monkeypatch.syspath_prepend(tmp_path)
    codes = [contenders((), (), (8.0,), places=(f"{file}:Mine",))[0].code]
    helper.write_text("K = 50")
    assert contenders((), (), (8.0,), places=(f"{file}:Mine",))[0].code not in codes
    for wrong, problem in (
        (f"{file}:Nobody", "cannot be loaded"),
        (f"{file}:wv", "must name a class that derives from"),
        ("wordveil:TEM", "is called 'tem', as another is"),
    ):
        with pytest.raises(ParameterError, match=problem):
            contenders((), (), (8.0,), places=(wrong,))


def test_a_claim_that_an_audit_refutes_is_marked_in_every_table_and_ends_with_exit_code_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    honest = (ROOT / "examples" / "plugin" / "cluster_response.py").read_text()
    own, weight = "math.exp(self.mechanism.epsilon)", "math.exp(self.mechanism.epsilon + 2)"
    assert honest.count(own) == 2
    (tmp_path / "honest.py").write_text(honest)
    (tmp_path / "broken.py").write_text(honest.replace(own, weight).replace('"cluster-response"', '"broken"'))
    options = ["-m", "neighbours-1", "--local-epsilon", "2", "--words", "60", "-t", "deniability", "--workers", "1"]
    for name, status in (("honest", 0), ("broken", 1)):
        endings = (".tex", ".md", ".csv", ".json")
        reports = [word for ending in endings for word in ("--report", f"{name}{ending}")]
        command = ["evaluate", *options, "--python", f"{name}.py:ClusterResponse", *reports]
        answer = CliRunner().invoke(build_app(), command, standalone_mode=False)
        assert answer.return_value == status, answer.output
        assert ("broken (claim refuted) at 2" in answer.stderr) == (name == "broken")
        for ending in endings:
            written = (tmp_path / f"{name}{ending}").read_text()
            mark = 'refuted": true' if ending == ".json" else ",refuted," if ending == ".csv" else "(claim refuted)"
            assert (mark in written) == (name == "broken"), (ending, written)
    command = ["evaluate", "-m", "tem", "-e", "2", *options[4:], "--python", "honest.py:ClusterResponse"]
    answer = CliRunner().invoke(build_app(), [*command, "--report", "none.csv"], standalone_mode=False)
    assert answer.return_value == 2, "a row that was asked for is missing"
    assert "whose epsilons are given by --local-epsilon" in answer.stderr
    with pytest.raises(ParameterError, match="is a figure"):
        CliRunner().invoke(
            build_app(), ["evaluate", *options, "--report", "t.pdf"], standalone_mode=False, catch_exceptions=False
        )


def test_unknown_names_and_epsilons_are_refused():
    with pytest.raises(ParameterError, match="must be all or among"):
        contenders(("nobody",), EPSILONS, LOCAL)
    with pytest.raises(ParameterError, match="epsilon"):
        contenders(None, (0.0,), LOCAL)


def test_rows_are_chosen_by_the_names_that_a_table_prints(finished):
    for row in finished[0].rows:
        if isinstance(row.target, Target):
            found = contenders((row.label, "no noise", "random words"), EPSILONS, LOCAL, RANK)
            assert {target.label for target in found} == {row.label}
    with pytest.raises(ParameterError, match="have no row"):
        contenders(("tem @ 77",), EPSILONS, LOCAL)


def test_reports_hold_every_row_and_fetch_nothing(finished, tmp_path):
    league, _ = finished
    report = as_dict(league, command="wordveil evaluate </script>")
    markdown = as_markdown(report)
    assert "- word-similarity: path wordsim/men3k.tsv" in markdown
    for row in league.rows:
        assert row.label in markdown or row.target in tuple(Baseline)
    write_league(league, tmp_path / "t.html", "wordveil evaluate </script><b>")
    html = (tmp_path / "t.html").read_text()
    assert "</script><b>" not in html
    assert not re.search(r"""(src|href)="[^#]|url\([^#]|@import|<script""", html)
    for row, task in product(league.rows, league.plan.tasks):
        for score in task.scores:
            assert f"{task.name}: {score.name}" in html
        assert row.target in tuple(Baseline) or row.target.name in html
    write_league(league, tmp_path / "t.json")
    assert len(json.loads((tmp_path / "t.json").read_text())["rows"]) == len(league.rows)
    with pytest.raises(ParameterError, match=r"must end in \.html"):
        write_league(league, tmp_path / "t.doc")


def test_other_programs_get_every_number_of_the_table(finished, tmp_path):
    league, _ = finished
    report = write_league(league, tmp_path / "t.csv")
    read = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    cells = [(row, task, cell) for row in report["rows"] for task, cell in row["cells"].items()]
    assert {(line["row"], line["task"], line["score"], float(line["mean"])) for line in read} == {
        (row["name"], task, score, found["mean"])
        for row, task, cell in cells
        for score, found in cell["scores"].items()
    }
    write_league(league, tmp_path / "t.tex")
    tables = (tmp_path / "t.tex").read_text().split("\\begin{tabular}")[1:]
    assert tables
    for table in tables:
        lines = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {table.partition("}")[0].count("r")}
        assert not re.search(r"(?<!\\)[_%#]|\+-", "\n".join(lines))


def test_the_picture_is_written_alone_and_repeats(finished, tmp_path):
    league, _ = finished
    drawn = replace(league, rows=[row for row in league.rows if row.label in ("tem @ 3", "laplace @ 3")])
    for ending, start in ((".pdf", b"%PDF"), (".svg", b"<?xml")):
        first, second = tmp_path / f"first{ending}", tmp_path / f"second{ending}"
        write_league(drawn, first)
        write_league(drawn, second)
        assert first.read_bytes().startswith(start)
        assert first.read_bytes() == second.read_bytes()
    few = replace(league, rows=league.rows[:2])
    with pytest.raises(ParameterError, match="inversion-reviews"):
        write_league(few, tmp_path / "few.pdf")


def test_refuted_rows_show_their_counter_example_and_what_the_audit_found(finished):
    markdown = as_markdown(as_dict(finished[0]))
    section = markdown.split("## No guarantee")[1]
    assert "no guarantee (refuted)" in section
    assert "exact delta" in section
    row = r"\| truncated-laplace-published-vectors \| 6 \| .* \| refuted \| \*\*refuted\*\*: .*delta >= "
    assert re.search(row, section)


def evaluate(*arguments):
    return CliRunner().invoke(build_app(["evaluate"]), ["evaluate", *map(str, arguments)])


def test_a_newcomer_with_some_of_the_files_gets_the_tasks_that_can_run_and_a_list_of_the_rest(
    world, tmp_path, monkeypatch
):
    monkeypatch.delenv("WORDVEIL_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    world.save(tmp_path / "world")
    common = ["-m", "tem", "-e", 10, "--vocabulary", "world", "--size", "miniature", "--repeats", 2, "--workers", 1]
    result = evaluate(*common, "--audit-samples", 0, "--report", "league.json")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "league.json").read_text())
    assert [task["name"] for task in found["tasks"]] == ["distortion", "bayes", "deniability", "skewness"]
    assert found["left_out"]["sts"] == "no file sentences/stsb.dev.tsv"
    assert "left out: sts: no file sentences/stsb.dev.tsv" in result.output
    assert len(found["tasks"]) + len(found["left_out"]) == len(TASKS)
    # Nothing that was not asked for: the rank rows at their default epsilon came along once.
    assert [row["label"] for row in found["rows"]] == ["no noise", "random words", "tem @ 10", "tem-certified @ 10"]
    refused = evaluate(*common, "-t", "sts", "--report", "none.json")
    assert isinstance(refused.exception, ParameterError)
    assert "need files or packages that are not here" in str(refused.exception)
