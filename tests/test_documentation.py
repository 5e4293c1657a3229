"""Every command and snippet of the README and the docs runs, in the order they stand in."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "integrations").glob("*.md")])
OPTIONAL = {
    "pandas", "polars", "datasets", "torch", "gensim", "langchain", "langchain_core", "litellm", "presidio_anonymizer",
    "pyspark", "spacy",
}  # fmt: skip
IGNORED = (
    "ignore::DeprecationWarning:datasets",
    "ignore::DeprecationWarning:dill",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
)
QUIET = [argument for warning in IGNORED for argument in ("-W", warning)]  # theirs, not ours


def page_name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def commands(page):
    return [line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=page_name)
def test_commands_of_the_page_run(page, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    tool = f"{shlex.quote(sys.executable)} -c 'from wordveil.cli.main import main; main()'"
    for command in commands(page):
        expected = 1 if "# exits 1" in command else 0
        run = subprocess.run(
            ["bash", "-o", "pipefail", "-c", re.sub(r"\bwordveil (?=[a-z-])", lambda _: f"{tool} ", command)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert run.returncode == expected, f"{command}\n{run.stderr[-2000:]}"


def missing_module(output):
    """The optional library that a block needs and that is not here, or None."""
    absent = re.search(r"^ModuleNotFoundError: No module named '(\w+)", output, flags=re.MULTILINE)
    return absent[1] if absent and absent[1] in OPTIONAL else None


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=page_name)
def test_python_of_the_page_runs(page, tmp_path):
    absent = set()
    for number, block in enumerate(blocks(page, "python")):
        program = tmp_path / f"block_{number}.py"
        program.write_text(block, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, "-W", "error", *QUIET, program.name], cwd=tmp_path, capture_output=True, text=True
        )
        if library := missing_module(run.stderr):
            absent.add(library)
        else:
            assert run.returncode == 0, run.stderr[-2000:]
    if absent:
        pytest.skip(f"all blocks ran but those that need {', '.join(sorted(absent))}, which is not installed here")


def test_only_libraries_that_the_dev_extra_does_not_bring_excuse_a_block():
    assert missing_module("ModuleNotFoundError: No module named 'polars'\n") == "polars"
    assert missing_module("ModuleNotFoundError: No module named 'numpy'\n") is None
    assert missing_module("ValueError: No module named 'polars'\n") is None


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


STEMS = "normal|recogn|summar|organ|character|random|token|minim|maxim|optim|general|special|real|vector|standard|quant"
FORMATS = ("normaliser-lipschitz", "normalisation")
"""Names in files that exist, which keep their spelling."""


def test_one_spelling_is_used_throughout():
    # Oxford spelling: -ize. Words that are never written with z (advise, precise, noise) are not looked for.
    school = re.compile(rf"(?i)(?<![a-z])[a-z]*(?:{STEMS})is(?:e|ed|es|er|ers|ing|ation)(?![a-z])")
    wrong = [f"{stem}ised" for stem in ("normal", "summar")]
    assert school.findall(f"They {wrong[0]} and {wrong[1]}; realized noise is precise.") == wrong
    found = {}
    for path in [*PAGES, *(ROOT / "docs" / "design").glob("*.md"), *(ROOT / "src").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        for kept in FORMATS:
            text = text.replace(kept, "")
        if words := school.findall(text):
            found[path.name] = words
    assert found == {}


WALK = (ROOT / "docs" / "design" / "walk.md").read_text(encoding="utf-8")
NAMED = {
    "src/wordveil/mechanisms/tem.py": ("def guarantee", "def law"),
    "src/wordveil/pipeline/run.py": ("Ctrl-C", "class Run:"),
    "tests/test_imports.py": ("LAYERS = ", "WAY = "),
}
"""File -> what the walk's three answers send a newcomer there for."""


def test_a_newcomers_walk_leads_to_files_and_names_that_exist():
    for file in re.findall(r"`((?:src|tests)/[\w/.]+)`", WALK):
        assert (ROOT / file).exists(), file
    stops = re.findall(r"^\| [^|]+ \| `(src/[^`]+)` \| `(\w+)`", WALK, flags=re.MULTILINE)
    assert len(stops) == 7
    for file, name in stops:
        assert re.search(rf"^ *(def|class) {name}\b", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE), (
            file
        )


def test_three_questions_of_a_newcomer_are_answered_in_a_file_each():
    answers = re.findall(r"^## ([^\n]+\?)\n(.*?)(?=^## |\Z)", WALK, flags=re.MULTILINE | re.DOTALL)
    assert [question for question, _ in answers] == [
        "Where does TEM draw?",
        "What does Ctrl-C do?",
        "What may I touch?",
    ]
    for (_, answer), (file, wanted) in zip(answers, NAMED.items(), strict=True):
        assert re.search(r"`((?:src|tests)/[^`]+)`", answer)[1] == file
        text = (ROOT / file).read_text(encoding="utf-8")
        assert all(part in text for part in wanted)


def test_every_command_is_in_the_overview_of_the_readme():
    from wordveil.cli.app import COMMANDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if f"wordveil {name}" not in text]
    assert missing == []


def data_table():
    """File -> columns and tasks, as the table of data files lists them."""
    text = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*?) \|", text, flags=re.MULTILINE)
    return {
        name: (re.findall(r"`([\w.]+)`", columns.partition(" (")[0]), re.findall(r"`([\w-]+)`", tasks))
        for name, columns, tasks in rows
    }


def test_every_file_that_evaluate_reads_is_listed_with_its_tasks():
    from wordveil.lab.evaluation.catalogue import TASKS, data_files

    read = {}
    for name, task in TASKS.items():
        for file in data_files(task()):
            read.setdefault(file, set()).add(name)
    assert {file: set(tasks) for file, (_, tasks) in data_table().items()} == read


@pytest.mark.data
@pytest.mark.parametrize("name", data_table())
def test_the_listed_columns_are_in_the_file(name):
    from wordveil.documents.rows import data_folder, locate, read_rows

    if data_folder() is None:
        pytest.skip("the folder of data sets is not named by WORDVEIL_DATA")
    assert locate(name)
    if not name.startswith("embeddings/"):
        assert next(read_rows(name, data_table()[name][0]))
