"""Every reproduction in miniature on made-up data, its formulas against slow ones, and one real number of a paper."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.lab.conftest import spelled
from typer.testing import CliRunner

import seeds
from wordveil.cli.app import build_app
from wordveil.errors import ParameterError
from wordveil.mechanisms.santext import SanText
from wordveil.vocabulary.table import load_embeddings
from wordveil_lab.evaluation.classification import MembershipInference
from wordveil_lab.evaluation.subjects import subject_of
from wordveil_lab.package import told
from wordveil_lab.papers import PAPERS, curse, tem
from wordveil_lab.papers.base import VERDICTS, Options, is_table, median_norm, roles_of, timed
from wordveil_lab.papers.summary import as_markdown, write_reproduction
from worlds import shared


@pytest.fixture
def vocabulary(world, tmp_path) -> str:
    world.save(tmp_path / "world")
    return str(tmp_path / "world")


NEURAL = "trlaplace-neural"


def neural_texts(folder):
    """Write texts whose words are in the made-up vocabulary and in the one that ships."""
    lines = [f"{i % 2}\t{spelled(i % 40)} good\tfilm {spelled(i % 7)}" for i in range(60)]
    path = folder / "texts.tsv"
    path.write_text("\n".join(["label\ttitle\tdescription", *lines]) + "\n")
    plain = folder / "plain.tsv"
    plain.write_text("\n".join(["label\ttext", *(line.replace("\tfilm", " film") for line in lines)]) + "\n")
    return path, plain


def filled(paper, vocabulary, folder):
    """Give every table of a paper, and the data that the made-up folder has under another name."""
    tables = [
        part for role in told("papers/files.toml")["tables"][paper] for part in ("--table", f"{role}={vocabulary}")
    ]
    data = {}
    if paper in ("nadp", "privemb"):
        missing = ("mr", "mpqa", "sst5-train", "sst5-test", "simlex", "stsb")
        stand_in = {"simlex": "wordsim/men3k.tsv", "stsb": "sentences/stsb.dev.tsv"}
        data = {role: stand_in.get(role, "sentences/sst2.train.tsv") for role in missing if role in roles_of(paper)}
    if paper == NEURAL:
        news, plain = neural_texts(folder)
        data = {
            role: news if role.startswith("agnews") else plain for role in roles_of(paper) if not is_table(paper, role)
        }
    return [*tables, *(part for role, file in data.items() for part in ("--data", f"{role}={file}"))]


def command(paper):
    return ["reproduce", *(["trlaplace", "--neural"] if paper == NEURAL else [paper]), "--size", "miniature"]


@pytest.mark.parametrize("paper", [*PAPERS, NEURAL])
def test_every_paper_runs_in_miniature(paper, vocabulary, use_world, tmp_path):
    if paper == NEURAL:
        pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")
    report = tmp_path / "page.md"
    arguments = [*command(paper), "--repeats", "2", *filled(paper, vocabulary, tmp_path)]
    result = CliRunner().invoke(build_app(["reproduce"]), [*arguments, "--report", str(report)])
    assert result.exit_code == 0, result.output
    page = report.read_text()
    for heading in (
        "## Every table and figure",
        "## Setting",
        "## Checked against the paper",
        "## Numbers",
        "## Findings",
        "## Not reproduced",
    ):
        assert heading in page
    rows = re.findall(r"^\| (?!what|---).*\|$", page, re.M)
    assert len(rows) >= 3
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)
    judged = page.split("## Every table and figure")[1].split("## Setting")[0]
    verdicts = [row.rsplit("|", 2)[1].strip() for row in re.findall(r"^\| (?!what|---).*\|$", judged, re.M)]
    assert verdicts
    assert set(verdicts) <= set(VERDICTS)
    assert "size miniature" in page


def test_table_two_is_the_slow_formula(world):
    ids = np.arange(0, 80, 7, dtype=np.int32)
    found = curse.table_two(world, ids, far=5)
    rows = world.vectors.astype(np.float64)
    half, second, far = [], [], []
    for i in ids:
        order = np.argsort(np.linalg.norm(rows - rows[i], axis=1), kind="stable")
        w, first = rows[i], rows[order[1]]
        half.append(np.linalg.norm(w - first) / 2)
        for place, column in ((2, second), (5, far)):
            other = rows[order[place]]
            gap = np.linalg.norm(w - other) ** 2 - np.linalg.norm(w - first) ** 2
            column.append(gap / (2 * np.linalg.norm(first - other)))
    for name, column in zip(found, (half, second, far), strict=True):
        assert found[name].mean == pytest.approx(np.mean(column))


def test_shares_add_up_to_one(world):
    ids = np.arange(20, dtype=np.int32)
    near = np.stack([np.argsort(np.linalg.norm(world.vectors - world.vectors[i], axis=1))[:6] for i in ids])
    shares = curse.neighbour_shares(subject_of(SanText(epsilon=1.0).fit(world)), ids, near, Options(paper="curse"), "x")
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) > 0


def test_reports_are_written_in_two_forms_and_no_third(vocabulary, use_world, tmp_path):
    found = curse.reproduce(Options(paper="curse", size="miniature", files={"vectors": vocabulary, "wide": vocabulary}))
    write_reproduction(found, tmp_path / "a.json", "command")
    assert json.loads((tmp_path / "a.json").read_text())["command"] == "command"
    assert as_markdown(found).startswith(f"# {found.reference}")
    with pytest.raises(ParameterError, match=r"must end in \.md or \.json"):
        write_reproduction(found, tmp_path / "a.txt")
    with pytest.raises(ParameterError, match="must be one of paper"):
        Options(paper="curse", size="huge")


@pytest.mark.data
@pytest.mark.slow
def test_table_two_of_the_curse_paper_on_its_own_embedding():
    table = load_embeddings(shared("embeddings/glove.6B.50d.txt.gz"))
    ids = np.sort(seeds.rng(0).choice(len(table), 1000, replace=False)).astype(np.int32)
    name, printed = curse.paper_row(table)
    assert name == "GloVe-Wiki 50"
    for summary, theirs in zip(curse.table_two(table, ids).values(), printed, strict=True):
        # Seven standard errors of each of the two samples (theirs has 5 000 words): false alarm below 1e-11.
        assert abs(summary.mean - theirs) < 7 * summary.standard_error * np.sqrt(1 + 1000 / 5000)


@pytest.mark.parametrize(("words", "dimensions", "row"), [
    (400_001, 300, "GloVe-Wiki 300"),
    (1_193_514, 50, "GloVe-Twitter 50"),
    (100_000, 50, None),
    (400_000, 25, None),
    (3_057, 300, None),
])  # fmt: skip
def test_a_table_of_another_size_or_dimension_gets_no_row_of_the_paper(words, dimensions, row):
    class Sized:
        def __len__(self):
            return words

    table = Sized()
    table.dimensions = dimensions
    found = curse.paper_row(table)
    assert (found and found[0]) == row


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("paper", ["nadp", "trlaplace"])
def test_real_files_under_other_names_do_in_miniature(paper, tmp_path, monkeypatch):
    folder = shared()
    arguments = ["reproduce", paper, "--size", "miniature", "--repeats", "2"]
    for role, name in roles_of(paper).items():
        if name and not (folder / name).is_file():
            pytest.skip("the shared data sets are absent (set WORDVEIL_DATA)")
        if name:
            other = tmp_path / f"my-{role}.{name.partition('/')[2].split('.', 1)[1]}"
            other.symlink_to(folder / name)
            arguments += ["--table" if is_table(paper, role) else "--data", f"{role}={other}"]
    monkeypatch.delenv("WORDVEIL_DATA", raising=False)
    result = CliRunner().invoke(build_app(["reproduce"]), [*arguments, "--report", str(tmp_path / "page.md")])
    assert result.exit_code == 0, result.exception
    assert "## Findings" in (tmp_path / "page.md").read_text()


def test_a_missing_file_names_the_page(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDVEIL_DATA", str(tmp_path))
    result = CliRunner().invoke(build_app(["reproduce"]), ["reproduce", "tem"])
    assert result.exit_code != 0
    said = r"role='vectors' needs a file: embeddings/word2vec.*--table vectors=FILE; docs/results/data\.md"
    assert re.search(said, str(result.exception)), result


def test_every_file_is_looked_for_before_anything_is_computed(vocabulary, use_world):
    """A table of one's own needs no norms, a set without its test part is split, and some roles have no file."""
    tables = {role: vocabulary for role in told("papers/files.toml")["tables"]["privemb"] if role != "norms"}
    data = {role: str(use_world / "sentences/sst2.train.tsv") for role in ("mpqa", "sst5-train", "sst5-test")}

    def compute(options):
        raise AssertionError("computed")

    with pytest.raises(ParameterError, match="role='mr' needs a file"):
        timed(compute, Options(paper="privemb", files=tables | data))
    Options(paper="privemb", files=tables | data | {"mr": data["mpqa"]}).check()
    texts = {f"{name}-train": data["mpqa"] for name in ("yelp", "yahoo", "sst2", "agnews")}
    Options(paper=NEURAL, files=texts | {"wide": vocabulary}).check()


def test_the_same_table_has_the_same_scale_by_whatever_name(world, use_world, tmp_path, monkeypatch):
    own = "embeddings/glove.6B.50d.top100k.npz"
    monkeypatch.setitem(roles_of("tem"), "vectors", own)
    monkeypatch.setitem(roles_of("tem"), "norms", own)
    copy = tmp_path / "copy.npz"
    copy.write_bytes((use_world / own).read_bytes())
    other, longer = tmp_path / "other.npz", tmp_path / "longer.npz"
    np.savez(other, words=world.words, vectors=2 * world.vectors)
    np.savez(longer, words=world.words, vectors=3 * world.vectors)

    def table(**files):
        found = Options(paper="tem", files={role: str(file) for role, file in files.items()}).scaled_table("vectors")
        return found.header.name.partition(" ")[2], median_norm(found) / median_norm(world)

    for files, name, times in (
        ({}, "(scaled)", 1),
        ({"vectors": copy}, "(scaled)", 1),
        ({"vectors": copy, "norms": longer}, "(scaled)", 3),
        ({"norms": longer}, "(scaled)", 3),
        ({"vectors": other, "norms": longer}, "(scaled)", 3),
        ({"vectors": other}, "(not scaled)", 2),
    ):
        assert table(**files) == (name, pytest.approx(times, rel=1e-5)), files


def test_only_the_papers_size_runs_tables_and_data_may_say_that_something_does_not_hold(world, use_world, monkeypatch):
    words, records = len(world), 40
    needs = {"runs": 5, "tables": {"vectors": [words, world.dimensions]}, "data": {"men": records}}
    monkeypatch.setitem(told("papers/files.toml")["whole"], "nadp", needs)
    run = Options(paper="nadp", size="paper", repeats=5)
    assert run.whole()
    assert not replace(run, size="reduced").whole()
    assert not replace(run, repeats=4).whole()
    assert not replace(run, epsilons=(10.0,)).whole()
    for part, role, least in (
        ("tables", "vectors", [words + 1, world.dimensions]),
        ("tables", "vectors", [words, world.dimensions + 1]),
        ("data", "men", records + 1),
        ("data", "cr", 1),  # which the data folder lacks
    ):
        with monkeypatch.context() as other:
            other.setitem(needs, part, {role: least})
            assert not run.whole(), (role, least)


@pytest.mark.parametrize("paper", list(told("papers/files.toml")["whole"]))
def test_what_a_paper_needs_are_tables_and_data_of_its_own(paper):
    needs = told("papers/files.toml")["whole"][paper]
    assert all(is_table(paper, role) for role in needs["tables"])
    assert not any(is_table(paper, role) for role in needs["data"])
    assert {*needs["tables"], *needs["data"]} <= {*roles_of(paper)}


def test_an_interrupted_reproduction_goes_on_from_its_cells(vocabulary, use_world, tmp_path, monkeypatch):
    tables = {role: vocabulary for role in told("papers/files.toml")["tables"]["tem"]}
    options = Options(paper="tem", size="miniature", repeats=2, files=tables, cells=tmp_path / "cells")
    first = tem.reproduce(options)
    monkeypatch.setattr(MembershipInference, "run", None)  # a second run that computes anything fails
    assert tem.reproduce(options).comparisons == first.comparisons
    with pytest.raises(TypeError):
        tem.reproduce(replace(options, seed=1))


def test_interrupted_trainings_go_on_from_their_cells(vocabulary, use_world, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")
    from wordveil_lab.papers.trlaplace_neural import Experiment

    monkeypatch.setattr("wordveil_lab.papers.trlaplace_neural.PARTS", (("classify", "sst2", "glove", (0.1,)),))
    given = [*command(NEURAL), "--epsilon", "0.1", "--cells", str(tmp_path / "cells"), "--repeats", "2"]
    given += filled(NEURAL, vocabulary, tmp_path)
    once = Experiment.run

    def stopping(self, mechanism, source, seed):
        if "Mahalanobis" in repr(mechanism):
            raise KeyboardInterrupt
        return once(self, mechanism, source, seed)

    def run(*more):
        return CliRunner().invoke(build_app(["reproduce"]), [*given, "--json", *more])

    monkeypatch.setattr(Experiment, "run", stopping)
    assert run().exit_code != 0
    finished = len(list((tmp_path / "cells").iterdir()))
    assert finished >= 12
    ran = []
    monkeypatch.setattr(Experiment, "run", lambda *given: ran.append(given) or once(*given))
    first = run()
    assert first.exit_code == 0, first.output
    assert len(ran) == 4  # Mahalanobis and PTE, twice each
    ran.clear()
    again = run()
    assert not ran
    assert json.loads(again.stdout)["comparisons"] == json.loads(first.stdout)["comparisons"]
    run("--seed", "1")
    assert ran


def test_an_epsilon_that_the_paper_does_not_have_is_refused():
    options = Options(paper="tem", epsilons=(2.0, 4.0))
    assert options.among((1.0, 2.0, 4.0), (2.0,), ()) == (2.0,)
    with pytest.raises(ParameterError, match="must be among 3"):
        options.among((), (3.0,), ())
