"""The pages on papers judge as little as they can show: a reduced run refutes nothing."""

import json
import re
from pathlib import Path

import pytest

from wordveil.errors import ParameterError
from wordveil_lab.commands.reproduce import PAPERS
from wordveil_lab.papers.base import FAILS, HOLDS, UNTESTED, VERDICTS, Comparison, is_table, roles_of, verdict
from wordveil_lab.papers.summary import as_dict, as_markdown, judged_rows, read_reproduction, summary_table
from wordveil_lab.rows import data_folder, file_digest

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
    for what, _, ours, said in judged_rows(page):
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
