"""What holds for every command: JSON, exit codes, completion, variables, engines, plugins; its examples run."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import PROGRAM
from typer.main import get_command

import seeds
import wordveil as wv
from wordveil import plugins
from wordveil.cli import doctor, exit_codes
from wordveil.cli.app import LABORATORY, build_app, command_examples, offered_commands, own_commands
from wordveil.kernels.compiled.library import available_engines, kernel_engine, pinned_engine
from wordveil.vocabulary import packaged
from worlds import made_up, told

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
REPORTS = {"redact", "sanitize", "spark-sanitize", "rephrase", "denoise", "release", "evaluate"}
WRITES_A_FILE = {*REPORTS, "prior build"}
LISTENS = {"serve", "proxy"}
JSON_ALWAYS = {"budget export"}
ONE_WORD = {"budget key", "budget revoke"}


def table(head):
    """The rows of the page's table under a head, as lists of cells."""
    rows = PAGE[PAGE.index(head) :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


@cache
def program():
    return get_command(build_app())


def options_of(command):
    found = program()
    for word in command.split():
        found = found.commands[word]
    return {name for param in found.params for name in param.opts}


@pytest.mark.parametrize("command", command_examples())
def test_a_command_that_prints_results_takes_json(command):
    excused = command in WRITES_A_FILE | LISTENS | JSON_ALWAYS | ONE_WORD
    assert ("--json" in options_of(command)) != excused
    assert "--report" in options_of(command) or command not in REPORTS


def test_json_says_what_the_library_says(wordveil, vocabulary, tmp_path):
    barring = made_up(60).without_outputs(["babaq", "dabaq"]).save(tmp_path / "barring").directory
    own = ["--vocabulary", vocabulary]
    embeddings = wv.load_embeddings(vocabulary)
    told = json.loads(wordveil("explain", *own, "-m", "tem", "-e", 2, "--pair", "babaq,dabaq", "--json").out)
    guarantee = wv.TEM(epsilon=2.0).fit(embeddings).guarantee()
    assert (told["guarantee"]["epsilon"], told["pairs"][0]["words"]) == (guarantee.epsilon, ["babaq", "dabaq"])
    assert told["disclosed"]
    info = json.loads(wordveil("vocabulary", "info", *own, "--verify", "--json").out)
    assert (info["words"], info["checksum"], info["checked"]) == (200, embeddings.header.checksum, True)
    near = json.loads(wordveil("vocabulary", "neighbors", "babaq", *own, "-k", 2, "--json").out)
    lines = wordveil("vocabulary", "neighbors", "babaq", *own, "-k", 2).out.split()
    assert [one["word"] for one in near] == lines[1::2]
    audited = wordveil.done("audit -m laplace -e 1 --dimensions 2 --samples 200 --pairs 1 --json")
    assert json.loads(audited.out)["refuted"] is False
    few = ["audit", *own, "-m", "tem", "-e", 2, "--words", 50, "--samples", 200, "--pairs", 3]
    audited = wordveil.done(*few, "--json")
    assert (json.loads(audited.out)["subject"], audited.err) == ("tem(epsilon=2.0), over 50 words", "")
    assert "--words=1 must be at least 2" in wordveil.refused("audit -m tem -e 2 --words 1")
    outputs, every = (len(wv.load_embeddings(barring).candidates), len(wv.load_embeddings(barring)))
    for words, over in ((0, every), (every, outputs)):
        few = ["audit", "--vocabulary", barring, "-m", "neighbours", "--samples", 200, "--pairs", 3, "--words", words]
        assert f"over {over} words\n" in wordveil.done(*few).out
    stock = json.loads(wordveil("sentences", "info", "--epsilon", 4, "--json").out)
    assert stock["chosen"]["size"] in stock["sizes"]
    assert len(stock["chosen"]["sentences"]) == stock["chosen"]["size"]


def test_json_of_what_was_checked(wordveil, vocabulary, tmp_path):
    (tmp_path / "in.txt").write_text("babaq dabaq\n")
    out, report, made = (tmp_path / name for name in ("out.txt", "r.json", "c.json"))
    assert wordveil("sanitize", tmp_path / "in.txt", "-o", out, "--report", report).status == 0
    answer = json.loads(wordveil("report", out, "--verify", report, "--json").out)
    assert [file["name"] for file in answer["files"]] == ["out.txt"]
    assert wordveil("certify", "-m", "tem", "-e", 2, "--vocabulary", vocabulary, "-o", made).status == 0
    checked = wordveil("certify", "--verify", made, "--vocabulary", vocabulary, "--json")
    assert json.loads(checked.out)["numbers"] == json.loads(made.read_text())["numbers"]


def test_every_exit_code_is_in_the_table_and_none_is_written_as_a_number():
    codes = {value for value in vars(exit_codes).values() if isinstance(value, int)}
    assert {int(code) for code, meaning in table("| Code |") if meaning} == codes
    for path in [*ROOT.glob("src/wordveil/cli/*.py"), *ROOT.glob("lab/src/wordveil_lab/commands/*.py")]:
        assert not re.search(r"sys\.exit\(\d|Exit\(\d", path.read_text(encoding="utf-8")), path.name


def test_every_environment_variable_of_ours_is_in_the_table():
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "lab" / "src").rglob("*.py"), ROOT / "hatch_build.py"]
    read = {name for path in sources for name in re.findall(r"\bWORDVEIL_[A-Z_]+", path.read_text(encoding="utf-8"))}
    listed = {row[0].strip("`") for row in table("| Variable |")}
    assert read == {name for name in listed if name.startswith("WORDVEIL_")}
    built = (ROOT / "src/wordveil/kernels/compiled/building.py").read_text(encoding="utf-8")
    assert set(re.findall(r'environ\.get\("(\w+)"\)', built)) <= listed


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("wordveil san", "sanitize"), ("wordveil sanitize --eps", "--epsilon"), ("wordveil vocabulary nei", "neighbors")],
)
def test_a_shell_can_complete_commands_and_options(typed, answer):
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_WORDVEIL_COMPLETE": "complete_bash"}
    run = subprocess.run(PROGRAM, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert answer in run.stdout.split()


def test_bodies_of_commands_are_short():
    long = {}
    for path in [*ROOT.glob("src/wordveil/cli/*.py"), *ROOT.glob("lab/src/wordveil_lab/commands/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                lines = node.end_lineno - first.lineno + 1
                if lines >= 40:
                    long[f"{path.name}: {node.name}"] = lines
    assert long == {}


def test_doctor_says_what_runs_here(wordveil):
    told = json.loads(wordveil("doctor", "--json").out)
    assert (told["version"], told["engine"]["runs_here"]) == (wv.__version__, list(available_engines()))
    assert told["dependencies"].keys() == {"numpy", "randomgen", "rich", "scipy", "threadpoolctl", "typer"}
    assert told["problems"] == []
    assert "checksum verified" in told["data"]["vocabulary"]
    absent = {extra for extra, packages in told["extras"].items() if any(one["wrong"] for one in packages.values())}
    assert absent == set(told["missing"])
    assert "all" not in told["extras"]


def test_doctor_finds_a_damaged_vocabulary_and_an_engine_that_does_not_exist(wordveil, tmp_path, monkeypatch):
    folder = tmp_path / "default"
    shutil.copytree(packaged.PACKAGED_FOLDER, folder)
    words = (folder / "words.txt").read_text(encoding="utf-8").replace("\nthe\n", "\nthx\n", 1)
    (folder / "words.txt").write_text(words, encoding="utf-8")
    monkeypatch.setattr(packaged.read_packaged, "__defaults__", (folder,))
    monkeypatch.setenv("WORDVEIL_ENGINE", "magic")
    answer = wordveil("doctor")
    assert answer.status == exit_codes.NO
    problems = [line for line in answer.out.splitlines() if line.startswith("problem: ")]
    assert any("WORDVEIL_ENGINE" in line for line in problems)
    assert any("vocabulary" in line and "checksum" in line for line in problems), problems


def test_a_dependency_that_is_too_old_is_a_problem():
    assert doctor._package("numpy", "1.0")["wrong"] is False
    assert doctor._package("numpy", "999.0")["wrong"] is True
    assert doctor._package("no-such-package-here", None) == {"version": None, "least": None, "wrong": True}


@pytest.mark.slow
def test_the_demo_releases_the_note_of_the_examples_and_says_what_that_promises(wordveil):
    note = (ROOT / "examples" / "clinical_note.txt").read_text(encoding="utf-8")
    told = json.loads(wordveil("demo", "--json").out)
    assert (told["note"], told["promise"].count("'diabetes' or ")) == (note, 2)
    assert told["redacted"] in (ROOT / "docs" / "start" / "tutorial.md").read_text(encoding="utf-8")
    assert told["claim"].startswith("kept: 30 of 59 tokens")
    texts = [told[name] for name in ("released", "function_words_public", "denoised")]
    for text in (told["redacted"], *texts):
        for name in ("Lindqvist", "Uppsala", "metformin", "+46 70 555 01 23", "maria.lindqvist"):
            assert name not in text
    for text in texts:
        for surrogate in (
            r"\b\d{4}-\d\d-\d\d\b",
            r"\b[a-z.]+@(mail\.)?example\.(com|net|org)\b",
            r"\b\d{3,5}[- ](?:555[- ])?\d{3,6}\b(?!-\d\d\b)",
        ):
            assert re.search(surrogate, text), surrogate
    assert " was " in told["function_words_public"]
    assert told["denoised"] != told["function_words_public"]
    shown = wordveil("demo").out
    assert next(line for line in shown.splitlines() if line.startswith("==")) == "== a made-up note =="
    assert "Promise: local DP (proved)" in shown


@pytest.fixture
def entry_points(monkeypatch):
    """Install packages that offer these commands, name -> "MODULE:ATTRIBUTE", and no others."""

    def offered(**commands):
        points = [EntryPoint(name, value, "wordveil.commands") for name, value in commands.items()]
        monkeypatch.setattr(plugins, "_entry_points", lambda group: points if group == "commands" else [])

    return offered


def test_the_laboratory_brings_the_commands_that_a_mistake_names():
    commands = offered_commands(own_commands())
    assert set(commands) >= set(LABORATORY)
    assert {name: command.function for name, command in commands.items() if name in LABORATORY} == {
        name: f"wordveil_lab.commands.{name}:{name}" for name in LABORATORY
    }
    assert all(len(command_examples()[name]) == 2 for name in LABORATORY)


@pytest.mark.parametrize("name", LABORATORY)
def test_without_the_laboratory_its_commands_say_how_to_get_them(wordveil, entry_points, name):
    entry_points()
    for words in ([name], [name, "--help"], [name, "--json"]):
        answer = wordveil(*words)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err == (
            f"wordveil: wordveil {name} comes with the laboratory; install it with: "
            "pip install wordveil-lab (in a clone: pip install ./lab)\n"
        )
    assert f"  {name}  " not in wordveil("--help").out


@pytest.mark.parametrize("command", ["--help", "--version", "sanitize --help", "calibrate --help"])
def test_help_shows_what_is_offered_and_loads_neither_that_nor_numpy(command):
    program = "import sys; from wordveil.cli.main import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    program += "print('LOADED', sorted(name for name in sys.modules if name.startswith(('wordveil_lab.', 'numpy'))))"
    run = [sys.executable, "-c", program, *command.split()]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert ("  evaluate  " in shown) == (command == "--help")
    assert shown.splitlines()[-1] in ("LOADED []", "LOADED ['wordveil_lab.offers', 'wordveil_lab.package']")


def test_a_command_of_wordveil_looks_for_no_other_package(wordveil, monkeypatch):
    monkeypatch.setattr(plugins, "_entry_points", lambda group: {"commands": []}[group])
    assert wordveil("--help").status == 0, "commands are looked for, and nothing else"
    monkeypatch.setattr(plugins, "_entry_points", lambda group: {}[group])
    assert wordveil("demo", "--help").status == wordveil("sanitize", "--help").status == 0
    assert wordveil("sanitize", "no-such-file.txt").status == 2


def test_a_package_that_cannot_be_used_is_named(wordveil, entry_points):
    entry_points(broken="no_such_module:command", number="math:pi")
    assert "'broken' of the package an unnamed package cannot be loaded" in wordveil.refused("broken")
    assert "is no OfferedCommand of wordveil.api" in wordveil("number").err
    overview = wordveil.done("--help")
    assert re.findall(r"^  (\w+) +Cannot be used here", overview.out, flags=re.MULTILINE) == ["broken", "number"]


def test_no_package_takes_the_name_of_a_command_of_wordveil(entry_points):
    entry_points(sanitize="wordveil_lab.offers:bench", quick="wordveil_lab.offers:bench")
    assert set(offered_commands(own_commands())) == {"quick"}


@pytest.mark.parametrize("engine", available_engines())
def test_a_run_takes_the_engine_that_is_named_and_reports_what_computed(wordveil, tmp_path, engine, monkeypatch):
    monkeypatch.setenv("WORDVEIL_ENGINE", available_engines()[-1])
    (tmp_path / "in.txt").write_text("good film\n")
    out = ["--output", tmp_path / "out.txt", "--report", tmp_path / "report.json"]
    chosen = ["--mechanism", "tem", "--epsilon", 9.36, "--engine", engine]
    assert wordveil("sanitize", tmp_path / "in.txt", *out, *chosen).status == 0
    origin = json.loads((tmp_path / "report.json").read_text())["provenance"]
    with pinned_engine(engine):
        assert (origin["engine"], origin["arithmetic"]) == (kernel_engine("ceilings.c"), "")


EXAMPLES = command_examples()
NEEDS = {
    "serve": "fastapi",
    **{name: "fastapi" for name in EXAMPLES if name.startswith("budget ")},
    "spark-sanitize": "pyspark",
}
PUBLIC = ("evaluate", "reproduce")
BEFORE = told(__file__, "examples")
"""Command -> the one whose examples make what its own speak of."""


@pytest.fixture
def folder(tmp_path):
    """What the examples speak of: a note, reviews, sentences, vectors and an embedding file."""
    place = tmp_path
    shutil.copy(ROOT / "examples" / "clinical_note.txt", place / "note.txt")
    shutil.copy(ROOT / "examples" / "reviews.jsonl", place / "reviews.jsonl")
    for name, held in (("notes", "note.txt"), ("tables", "reviews.jsonl")):
        (place / name).mkdir()
        shutil.copy(place / held, place / name / held)
    people, deeds = ("she", "he", "they", "we"), ("saw the doctor", "went home", "ate an apple", "read a book")
    (place / "sentences.txt").write_text("".join(f"{who} {did}\n" for who in people for did in deeds))
    told = [f"{who} {did}" for who in people for did in deeds]
    pairs = "".join(f"{text},{told[i - 5]},{i % 2}\n" for i, text in enumerate(told))
    (place / "pairs.csv").write_text(f"text,released,topic\n{pairs}")
    rows = seeds.rng(0).standard_normal((200, 8)).astype(np.float32)
    np.save(place / "vectors.npy", rows)
    np.savez(place / "vectors.npz", rows=rows, ids=np.arange(200))
    words = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "aeiouybcdf"]
    (place / "glove.txt").write_text(
        "".join(f"{w} {' '.join(f'{x:.4f}' for x in row)}\n" for w, row in zip(words, rows, strict=True))
    )
    return place


@pytest.mark.slow
@pytest.mark.parametrize("command", EXAMPLES)
def test_the_examples_of_a_command_run(wordveil, process, folder, command, monkeypatch):
    needed = NEEDS.get(command)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    if command in PUBLIC and "WORDVEIL_DATA" not in os.environ:
        pytest.skip("reads the shared data sets (WORDVEIL_DATA)")
    monkeypatch.chdir(folder)
    for example in (*EXAMPLES.get(BEFORE.get(command, ""), ()), *EXAMPLES[command]):
        if command == "spark-sanitize":  # whose library warns, and here a warning is an error
            made = process(*example.split()[1:])
            status, said = made.returncode, made.stderr.decode()
        else:
            run = wordveil(*example.split()[1:])
            status, said = run.status, run.err
        assert status == 0, f"{example}\n{said[-2000:]}"
