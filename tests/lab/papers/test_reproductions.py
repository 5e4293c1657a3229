"""Every reproduction in miniature on made-up data, its formulas against slow ones, and one real number of a paper."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from tests.lab.evaluation.conftest import use_world, world, world_data  # noqa: F401 - fixtures
from typer.testing import CliRunner

import seeds
from wordveil.cli.app import build_app
from wordveil.errors import ParameterError
from wordveil_lab.commands.reproduce import PAPERS
from wordveil_lab.papers import curse
from wordveil_lab.papers.base import Options, as_markdown, write_reproduction
from wordveil_lab.papers.noisy_dot_product import closer_probability


@pytest.fixture
def vocabulary(world, tmp_path) -> str:  # noqa: F811
    world.save(tmp_path / "world")
    return str(tmp_path / "world")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_runs_in_miniature(paper, vocabulary, use_world, tmp_path):  # noqa: F811
    report = tmp_path / "page.md"
    arguments = ["reproduce", paper, "--size", "miniature", "--repeats", "2", "--vocabulary", vocabulary]
    result = CliRunner().invoke(build_app(["reproduce"]), [*arguments, "--report", str(report)])
    assert result.exit_code == 0, result.output
    page = report.read_text()
    for heading in ("## Setting", "## Checked against the paper", "## Numbers", "## Findings", "## Not reproduced"):
        assert heading in page
    rows = re.findall(r"^\| (?!what|---).*\|$", page, re.M)
    assert len(rows) >= 3
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_table_two_is_the_slow_formula(world):  # noqa: F811
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


def test_the_bounds_of_table_two_give_the_probabilities_of_being_closer(world):  # noqa: F811
    from wordveil_lab.papers.noisy_dot_product import dot_product_cdf

    rows = world.vectors.astype(np.float64)
    bound = np.linalg.norm(rows[0] - rows[4]) / 2
    exact = closer_probability(rows[0], rows[0], rows[4], epsilon=2.0)
    assert dot_product_cdf(bound, dimensions=6, epsilon=2.0) == pytest.approx(exact)


def test_shares_add_up_to_one(world):  # noqa: F811
    from wordveil.mechanisms.santext import SanText
    from wordveil_lab.evaluation.subjects import subject_of

    ids = np.arange(20, dtype=np.int32)
    near = np.stack([np.argsort(np.linalg.norm(world.vectors - world.vectors[i], axis=1))[:6] for i in ids])
    shares = curse.neighbour_shares(subject_of(SanText(epsilon=1.0).fit(world)), ids, near, Options(), "x")
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) > 0


def test_reports_are_written_in_two_forms_and_no_third(vocabulary, use_world, tmp_path):  # noqa: F811
    found = curse.reproduce(Options(size="miniature", vocabulary=vocabulary))
    write_reproduction(found, tmp_path / "a.json", "command")
    assert json.loads((tmp_path / "a.json").read_text())["command"] == "command"
    assert as_markdown(found).startswith(f"# {found.reference}")
    with pytest.raises(ParameterError, match=r"must end in \.md or \.json"):
        write_reproduction(found, tmp_path / "a.txt")
    with pytest.raises(ParameterError, match="must be one of full"):
        Options(size="huge")


@pytest.mark.data
@pytest.mark.slow
def test_table_two_of_the_curse_paper_on_its_own_embedding():
    named = os.environ.get("WORDVEIL_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "data"
    path = folder / "embeddings/glove.6B.50d.txt.gz"
    if not path.is_file():
        pytest.skip("the shared data sets are absent (set WORDVEIL_DATA)")
    from wordveil.vocabulary.table import load_embeddings

    table = load_embeddings(path)
    ids = np.sort(seeds.rng(0).choice(len(table), 1000, replace=False)).astype(np.int32)
    for name, summary in curse.table_two(table, ids).items():
        # Five standard errors of each of the two samples (theirs has 5 000 words): false alarm below 1e-5.
        error = summary.standard_error * np.sqrt(1 + 1000 / 5000)
        assert abs(summary.mean - curse.PAPER_TABLE[name]) < 5 * error
