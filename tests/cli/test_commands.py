"""Every command does what its help says, and every mistake is told in one line with exit code 2."""

import json
import math
import re
import shlex
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.cli.app import command_examples, command_lines
from wordveil.cli.main import main
from wordveil.kernels.compiled.library import available_engines
from wordveil.meaning.explanations import _distance, _nearest_pair, _typical_pair
from wordveil.meaning.neighbour_points import neighbour_points
from wordveil.names import DECODERS, MECHANISMS
from wordveil.promises.rounding import round_up
from wordveil.promises.worked import WorkedPair
from wordveil.vocabulary.stored_lists import find_lists
from worlds import told

COMMANDS, EXAMPLES = command_lines(), command_examples()
HELPS = [
    [],
    *([name] for name in COMMANDS),
    *(["vocabulary", name] for name in ("import", "info", "neighbors")),
    ["vocabulary", "neighbours", "build"],
    *(["sentences", name] for name in ("build", "info")),
    ["prior", "build"],
    *(["budget", name] for name in ("show", "grant", "history", "export", "key", "revoke")),
]
GROUPS = (["vocabulary"], ["sentences"], ["prior"], ["budget"])


# Options in a file.
@pytest.mark.parametrize(
    ("text", "said"), [*told(__file__, "option_files")["cases"], ("a = " + "[" * 3000, "is no file of options")]
)
def test_a_file_whose_options_are_none_is_refused(wordveil, tmp_path, text, said):
    options = tmp_path / "nightly.toml"
    options.write_text(text)
    answer = wordveil("--config", options, "sanitize", tmp_path / "absent.txt")
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


# Help, version, listings.
@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_every_command_has_help(wordveil, words):
    answer = wordveil.done(*words, "--help")
    assert answer.err == ""
    assert answer.out.startswith(f"Usage: wordveil {' '.join(words)}".rstrip())
    shown = re.findall(r"^  (--?\w.*)$", answer.out, flags=re.MULTILINE)
    assert shown, "options are listed"
    undescribed = [line for line in shown if not re.search(r"  \S", line) and len(line) < 25]
    assert not undescribed


@pytest.mark.parametrize("command", [" ".join(words) for words in HELPS if words and words not in GROUPS])
def test_the_help_of_every_command_ends_with_two_examples(wordveil, command):
    shown = wordveil(*command.split(), "--help").out.partition("\nExamples:\n")[2].splitlines()
    assert (shown, len(set(shown))) == ([f"  {example}" for example in EXAMPLES[command]], 2)
    assert all(f"{example} ".startswith(f"wordveil {command} ") for example in EXAMPLES[command])


def test_the_overview_names_every_command(wordveil):
    said = wordveil("--help").out
    assert set(re.findall(r"^  ([a-z][a-z-]*)  ", said, flags=re.MULTILINE)) == set(COMMANDS)
    assert re.findall(r"^  [a-z].*\.\.\.$", said, flags=re.MULTILINE) == [], "a line that does not fit is cut off"


def test_mechanisms_are_listed_with_promise_and_standing(wordveil):
    rows = json.loads(wordveil("mechanisms", "--json").out)
    assert {row["name"] for row in rows} == {*MECHANISMS, *DECODERS}
    table = wordveil("mechanisms").out.splitlines()
    assert table[0].split() == list(rows[0])
    assert {"name", "promise", "standing", "paper"} <= set(rows[0])
    lines = [line for line in table[1:] if not line.startswith(" ")]
    assert max(map(len, table)) <= 80
    for row, line in zip(rows, lines, strict=True):
        promises = ("metric DP", "local DP", "neighbour DP", "none")
        assert row["promise"] in (("post-processing",) if row["name"] in DECODERS else promises)
        *first, paper = row.values()
        assert all(value in line for value in first)
        assert paper.split()[0] in line  # what follows is wrapped below


# Vocabularies.
def test_a_vocabulary_is_imported_shown_and_searched(wordveil, tmp_path):
    vectors = seeds.rng(1).standard_normal((60, 4)).astype(np.float32)
    names = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)]
    source = tmp_path / "vectors.txt"
    source.write_text(
        "".join(f"{name} {' '.join(f'{x:.6f}' for x in row)}\n" for name, row in zip(names, vectors, strict=True))
    )
    answer = wordveil.done("vocabulary", "import", source, tmp_path / "made", "--name", "mine")
    info = wordveil("vocabulary", "info", "--vocabulary", tmp_path / "made", "--verify").out
    assert info.startswith(answer.out)
    assert info.endswith("checksum: verified\n")
    assert re.search(r"words: +60, of which 60 may be output", info)
    assert re.search(r"neighbours: +32 of 60 by cosine\n", info)
    near = wordveil("vocabulary", "neighbors", "waa", "--vocabulary", tmp_path / "made", "-k", 3).out
    rows = vectors.astype(float).round(6)
    order = np.argsort(np.linalg.norm(rows - rows[0], axis=1))[1:4]
    assert [line.split()[1] for line in near.splitlines()] == [names[i] for i in order]
    distances = [float(line.split()[0]) for line in near.splitlines()]
    assert distances == pytest.approx(np.linalg.norm(rows[order] - rows[0], axis=1), abs=1e-4)


def test_neighbour_lists_are_built_now_or_later(wordveil, tmp_path):
    (tmp_path / "table.txt").write_text(
        "".join(f"{word} {x} 1\n" for x, word in enumerate(["the", "of", "xqzv", "in"]))
    )
    made, table = tmp_path / "made", ["--vocabulary", tmp_path / "made"]
    answer = wordveil("vocabulary", "import", tmp_path / "table.txt", made, "--no-neighbours", "--order", "frequency")
    assert re.search(r"neighbours: +none\n", answer.out)
    assert re.search(r"order: +frequency\n", answer.out)
    (tmp_path / "some.txt").write_text("# three of four\nof\nxqzv\nin\n")
    (tmp_path / "counts.txt").write_text("in 5\nxqzv 4\n")
    embeddings = wv.load_embeddings(made)
    for outputs, more, ids in (
        ("all", [], [0, 1, 2, 3]), (2, [], [0, 1]), (tmp_path / "some.txt", [], [1, 2, 3]),
        (2, ["--counts", tmp_path / "counts.txt"], [2, 3]), ("all", ["--metric", "euclidean"], [0, 1, 2, 3]),
    ):  # fmt: skip
        answer = wordveil.done("vocabulary", "neighbours", "build", *table, "-k", 2, "--outputs", outputs, *more)
        lists = find_lists(embeddings, 2, outputs=ids, metric=wv.Euclidean() if "euclidean" in more else None)
        assert answer.out == f"2 nearest of {len(ids)} outputs for each of 4 words: {lists.checksum}\n"
    listed = re.search(r"neighbours: +(.*)\n", wordveil("vocabulary", "info", *table).out)[1]
    assert sorted(listed.split("; ")) == sorted(
        ["2 of 4 by cosine", *2 * ["2 of 2 by cosine"], "2 of 3 by cosine", "2 of 4 by euclidean"]
    )


# Explaining and calibrating.
def test_explain_works_out_the_pairs_asked_for(wordveil, vocabulary):
    answer = wordveil.done(f"explain -m tem -e 2 --vocabulary {vocabulary} --pair babaq,dabaq --tokens 9")
    guarantee = wv.TEM(epsilon=2.0).fit(wv.load_embeddings(vocabulary)).guarantee()
    assert answer.out.startswith(f"Promise: {guarantee.sentence()}.\nAssumes: ")
    assert "--verify" in answer.out
    assert "Assumes: both texts agree in" in answer.out
    assert "Example: 'babaq' or 'dabaq' (distance" in answer.out
    assert "two texts of 9 tokens" in answer.out
    assert "Disclosed whatever the noise: the number of tokens" in answer.out


def test_calibrate_prints_the_epsilon_it_found(wordveil, vocabulary):
    arguments = ["calibrate", "--keep", 0.4, "-m", "santext", "--vocabulary", vocabulary]
    found = json.loads(wordveil(*arguments, "--json").out)
    expected = wv.calibrate(wv.load_embeddings(vocabulary), wv.SanText(epsilon=1.0), keep=0.4)
    assert found["epsilon"] == expected.epsilon
    assert [tuple(point) for point in found["curve"]] == list(expected.curve)
    lines = wordveil(*arguments).out.splitlines()
    kept = "santext keeps a word with probability 0.4, the mean over 200 public words"
    assert (lines[-1], len(lines)) == (f"epsilon {round_up(expected.epsilon)}: {kept}", len(expected.curve) + 2)


def test_calibrate_prints_the_points_that_the_library_finds(wordveil):
    (point,) = neighbour_points(wv.load_embeddings(), "attacker", 0.2, k=16)
    found = json.loads(wordveil("calibrate", "--attacker", 0.2, "--set", "k=16", "--json").out)
    assert found == [asdict(point)]
    table = wordveil("calibrate", "--attacker", 0.2, "--set", "k=16").out.splitlines()
    shown = table[1].split()[1:3]
    assert shown[0] == "16"
    assert point.epsilon - 1e-3 < float(shown[1]) <= point.epsilon, "the share is at most that at what is printed, too"
    (near,) = neighbour_points(wv.load_embeddings(), "similarity", 0.2, k=16)
    least = float(wordveil("calibrate", "--similarity", 0.2, "--set", "k=16").out.splitlines()[1].split()[2])
    assert near.epsilon <= least < near.epsilon + 1e-3


# Sanitizing in this process.
def test_sanitize_says_epsilon_guarantee_and_what_is_disclosed(wordveil, vocabulary, notes, tmp_path):
    given = wordveil(f"sanitize {notes} --vocabulary {vocabulary} -e 5 --explain").err
    assert ("default" in given, "at most exp(5)" in given) == (False, True)
    answer = wordveil.done("sanitize", notes, "-o", tmp_path / "out.txt", "--vocabulary", vocabulary, "--explain")
    assert answer.out == ""
    guarantee = wv.NeighbourResponse().fit(wv.load_embeddings(vocabulary)).guarantee()
    assert "epsilon 7 nats a word: the default of neighbours" in answer.err
    assert "2 documents, 4 tokens" in answer.err
    assert f"guarantee: {guarantee.sentence()}" in answer.err
    assert "disclosed: the number of tokens" in answer.err
    quiet = wordveil("sanitize", notes, "-o", tmp_path / "quiet.txt", "--vocabulary", vocabulary, "-q")
    assert quiet.err == ""


def test_every_choice_reaches_the_library(wordveil, vocabulary, notes, tmp_path):
    public, barred = tmp_path / "public.txt", tmp_path / "barred.txt"
    public.write_text("# allowed to pass\nzZyzx\n\n")
    entries = list(wv.load_embeddings(vocabulary).words)
    barred.write_text("\n".join(entries[2:]))
    answer = wordveil.done(
        "sanitize", notes, "--vocabulary", vocabulary, "-m", "santext", "-e", 5, "--casing", "shape",
        "--per", "document", "--numbers", "vocabulary", "--markup", "html", "--public-words", public,
        "--exclude-outputs", barred, "--report", tmp_path / "r.json", "--threads", 1, "--set", "metric=angular",
    )  # fmt: skip
    released = answer.out.splitlines()
    assert released[0].endswith(", zZyzx."), "as it is listed"
    assert set(re.findall(r"[a-z]+", "".join(released).replace("zZyzx", ""))) <= set(entries[:2])
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["provenance"]["mechanism"] == "SanText(epsilon=5.0, metric=Angular(), calibration='textbook')"
    assert report["guarantee"]["unit"].startswith("every occurrence of one word")
    assert report["exempt"] == 1
    said = "\n".join(report["disclosed"])
    assert all(part in said for part in ("casing of every token", "digits are looked up", "1 listed public words"))


def test_a_damaged_vocabulary_is_noticed_before_a_reported_run(wordveil, vocabulary, notes, tmp_path):
    import shutil

    damaged = tmp_path / "damaged"
    shutil.copytree(vocabulary, damaged)
    matrix = next(path for path in damaged.iterdir() if path.name.startswith("vectors"))
    data = bytearray(matrix.read_bytes())
    data[-2] ^= 1
    matrix.chmod(0o644)
    matrix.write_bytes(data)
    arguments = ["sanitize", notes, "-o", tmp_path / "out.txt", "--vocabulary", damaged]
    for extra in (["--verify"], ["--report", tmp_path / "r.json"]):
        assert "checksum" in wordveil.refused(*arguments, *extra).splitlines()[-1]
        assert not (tmp_path / "out.txt").exists()


# Mistakes.
MISTAKES = {
    **told(__file__, "mistakes"),
    "setting-deep": (f"sanitize NOTES -m tem -e 2 --set beta={'-' * 50_000}1", "must be a number"),
    "setting-nested": (f"sanitize NOTES -m tem -e 2 --set beta='{'(' * 5_000}'", "must be a number"),
    "engine": ("sanitize NOTES -o out.txt --engine mmx", f"must be one of {', '.join(available_engines())} here"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_one_line(wordveil, vocabulary, notes, tmp_path, monkeypatch, name):
    command, message = MISTAKES[name]
    words = shlex.split(command)
    (tmp_path / "rows.jsonl").write_text('{"text": "babaq"}\n')
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "strange.abc").write_text("babaq\n")
    (tmp_path / "binary.tsv").write_bytes(b'\x7fELF\x02\x01\x01\x00a"b,"c\x00\r\n"')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("id,text,note\n1,babaq,dabaq\n")
    np.save(tmp_path / "v.npy", seeds.rng(5).standard_normal((53, 7)))
    before = sorted(tmp_path.iterdir())
    places = {"NOTES": str(notes), "ROWS": "rows.jsonl", "TABLE": "table.csv", "BYTES": "bytes.txt"}
    arguments = [places.get(word, word) for word in words]
    ours = name in ("absent-vocabulary", "unknown-option", "lists-of-ours", "import-taken", "import-order")
    if words[0] in ("sanitize", "explain", "calibrate", "vocabulary") and not ours:
        arguments += ["--vocabulary", str(vocabulary)]
    answer = wordveil(*arguments)
    assert answer.status == 2
    lines = answer.err.splitlines()
    assert len(lines) == 1, answer.err
    assert lines[0].startswith("wordveil: ")
    assert message in lines[0]
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_an_error_of_wordveil_itself_shows_no_private_text(wordveil, vocabulary, notes, monkeypatch):
    def fail(text: str) -> None:
        raise KeyError(text)

    monkeypatch.setattr("wordveil.run_source", lambda *_, **__: fail("Maria has diabetes"))
    answer = wordveil("sanitize", notes, "--vocabulary", vocabulary, "-e", 1)
    assert answer.status == 70
    assert re.match(r"wordveil: internal error: KeyError in test_commands\.py, line \d+\. ", answer.err)
    assert answer.err.count("\n") == 1
    assert "Maria" not in answer.err
    with pytest.raises(KeyError):
        main(["--debug", "sanitize", str(notes), "--vocabulary", str(vocabulary), "-e", "1"])


# What a person should decide on.

FOREIGN = "Frau Weber klagt seit drei Wochen, nimmt aber kein Mittel; ihr Sohn kommt nur selten zu Besuch nach Hause.\n"


@pytest.mark.parametrize("command", ["sanitize", "rephrase"])
def test_text_of_another_language_needs_a_yes(wordveil, tmp_path, command):
    (tmp_path / "in.txt").write_text(FOREIGN * 2)
    arguments = [command, tmp_path / "in.txt", "-o", tmp_path / "out.txt"]
    for quiet in ([], ["-q"]):
        refused = wordveil.refused(*arguments, *quiet)
        assert "warning: this does not look like English text" in refused
        assert "give the same command with --yes" in refused
        assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
    assert wordveil(*arguments, "-q", "--yes").err == ""
    assert (tmp_path / "out.txt").read_text().count("\n") == 2
    said = wordveil(*arguments, "--yes", "--again", "--report", tmp_path / "r.html").err
    assert "warning: this does not look like English text" in said
    assert not any(word in said for word in ("Weber", "Wochen", "Besuch"))
    told = re.search(r"^released: .*; outside the vocabulary: (\d+) of (\d+) words", said, re.M)
    assert (told is None) == (command == "rephrase")
    page = (tmp_path / "r.html").read_text()
    assert "outside the vocabulary:" not in page
    assert "does not look like" not in page


def test_a_metric_promise_hides_nothing_where_even_near_words_are_told_apart(wordveil, tmp_path):
    (tmp_path / "in.txt").write_text("She sleeps badly.\n")
    for epsilon, status in ((9, 0), (60, 2)):
        table = wv.load_embeddings()
        claim = wv.SanText(epsilon=epsilon).fit(table).guarantee()
        metric = wv.Euclidean()
        distance = _distance(table, metric, _nearest_pair(table, metric, _typical_pair(table, metric)[0]))
        (near,) = claim.explain([WorkedPair(words=("", ""), distance=distance, loss=math.inf)])
        assert near.distance < wv.explain(table, claim, metric=wv.Euclidean()).typical
        assert (near.wrong < 1e-6) == (status == 2)
        assert wordveil("sanitize", tmp_path / "in.txt", "-m", "santext", "-e", epsilon).status == status


def test_python_runs_the_package():
    done = subprocess.run([sys.executable, "-m", "wordveil", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"wordveil {wv.__version__}\n"


# Decoders and their parameters.
def test_c_of_the_rank_softmax_is_found_for_a_vocabulary(wordveil):
    found = json.loads(wordveil("calibrate", "--decoder", "rank-softmax", "--epsilon", "60", "--json").out)
    near = {row["c"]: row["near"] for row in found["grid"]}
    assert near[found["c"]] == max(near.values()) > near[min(near)]
    assert found["mechanism"] == "laplace"


def test_certify_prints_the_epsilon_of_the_certificate(wordveil, vocabulary, tmp_path):
    said = wordveil.done("certify", "-m", "santext", "--vocabulary", vocabulary, "--rate", 2, "-o", tmp_path / "c.json")
    assert f"--epsilon {wv.Certificate.load(tmp_path / 'c.json').parameters['epsilon']!r} --calibration" in said.err


PARTS = {"run", "where", "status", "out", "err", "absent", "pattern", "holds", "lacks", "is", "gone"}
TRANSCRIPTS = {transcript["name"]: transcript for transcript in told(__file__, "transcripts")["transcript"]}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_what_is_typed_is_answered(wordveil, vocabulary, stock, tmp_path, monkeypatch, name):
    places = {"VOCABULARY": vocabulary, "STOCK": stock / "stock", "PUBLIC": stock / "public.txt"}

    def placed(text):
        return re.sub("|".join(places), lambda word: str(places[word[0]]), text)

    for file, text in TRANSCRIPTS[name].get("files", {}).items():
        (tmp_path / file).write_text(text)
    for step in TRANSCRIPTS[name]["typed"]:
        with monkeypatch.context() as patch:
            for variable, value in step.get("where", {}).items():
                patch.setenv(variable, value)
            answer = wordveil(placed(step["run"]))
        assert answer.status == step.get("status", 0), answer.err
        assert step.keys() <= PARTS
        for stream in ("out", "err"):
            said = " ".join(getattr(answer, stream).split())
            assert [part for part in step.get(stream, ()) if " ".join(placed(part).split()) not in said] == []
            assert [part for part in step.get("absent", ()) if part in said] == []
        assert re.fullmatch(step.get("pattern", "(?s).*"), answer.out, re.MULTILINE)
        for file, parts in step.get("holds", {}).items():
            assert [part for part in parts if part not in (tmp_path / file).read_text()] == []
        for file, parts in step.get("lacks", {}).items():
            assert [part for part in parts if part in (tmp_path / file).read_text()] == []
        for file, pattern in step.get("is", {}).items():
            assert re.fullmatch(pattern, (tmp_path / file).read_text())
        assert not any((tmp_path / file).exists() for file in step.get("gone", ()))
