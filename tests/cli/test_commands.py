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
def test_a_file_gives_options_and_what_is_typed_goes_before_it(wordveil, tmp_path):
    options = tmp_path / "nightly.toml"
    options.write_text('[sanitize]\nmechanism = "tem"\nepsilon = 50\npublic-words = ["function"]\nyes = true\n')
    said = tmp_path / "in.txt"
    said.write_text("the garden and the river\n")
    answer = wordveil("--config", options, "sanitize", said, "--explain")
    assert answer.out.split()[::2] == ["The", "and", "river"], "50 nats by distance keep every word of a line so short"
    assert answer.err.startswith("options by a file: mechanism, epsilon, public-words, yes\n")
    typed = wordveil("--config", options, "sanitize", said, "-e", "9.36", "--explain").err
    assert "exp(50 * t)" in answer.err
    assert "exp(9.36 * t)" in typed


@pytest.mark.parametrize(("text", "said"), [
    ("[sanitize]\nepsilom = 3\n", "no option of this command: epsilom"),
    ("[sanitise]\nepsilon = 3\n", "[sanitise] must be a table"),
    ("epsilon = 3\n", "[epsilon] must be a table"),
    ("[sanitize\n", "is no file of options"),
    ('[sanitize]\nepsilon = "much"\n', "Invalid value for '--epsilon'"),
    ("[sanitize]\nepsilon = true\n", "gives epsilon no value"),
    ('[sanitize]\nset = "beta=x"\n', "beta"),
    ("[sanitize]\nepsilon = [1, 2]\n", "gives epsilon no value"),
    ("[sanitize]\nepsilon = 2026-01-01\n", "gives epsilon no value"),
    ("[sanitize]\nresume = 3\n", "gives resume no value: it takes true or false"),
    ('[sanitize]\nkeep = [["id"]]\n', "gives keep no value"),
    ("a = " + "[" * 3000, "is no file of options"),
])  # fmt: skip
def test_a_file_whose_options_are_none_is_refused(wordveil, tmp_path, text, said):
    options = tmp_path / "nightly.toml"
    options.write_text(text)
    answer = wordveil("--config", options, "sanitize", tmp_path / "absent.txt")
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


def test_a_file_that_names_no_command_of_a_group_is_refused(wordveil, tmp_path):
    options = tmp_path / "nightly.toml"
    for table, status in (("neighbors", 0), ("neighbor", 2)):
        options.write_text(f"[vocabulary.{table}]\ncount = 2\n")
        answer = wordveil("--config", options, "vocabulary", "neighbors", "diabetes")
        assert (answer.status, len(answer.out.splitlines())) == (status, 0 if status else 2)
    options.write_text("[vocabulary]\nneighbors = 3\n")
    assert "no table of options" in wordveil.refused("--config", options, "vocabulary", "neighbors", "diabetes")


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


def test_calibrate_takes_frequencies(wordveil, vocabulary, tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("labaq\t10\nnowhere\t5\n\n")  # a word that shares its vector with none
    answer = wordveil("calibrate", "-m", "tem", "--vocabulary", vocabulary, "--frequencies", path, "--json")
    assert json.loads(answer.out)["words"] == 1
    path.write_text("labaq\t10\nlabaq ten\n")
    wrong = wordveil("calibrate", "-m", "tem", "--vocabulary", vocabulary, "--frequencies", path)
    assert wrong.err == f"wordveil: {path}, line 2: must be a word, a tab and a number.\n"


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


def test_typed_tokens_magnitudes_and_function_words(wordveil, vocabulary, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("The babaq, 47, of maria.k@clinic.de isn't at 10:30.\n")
    answer = wordveil.done(
        "sanitize", note, "--vocabulary", vocabulary, "--unknown", "typed", "--numbers", "metric",
        "--grid", "number=0:90:30@3", "--grid", "money=1:100:10:log@1", "--public-words", "function", "--explain",
    )  # fmt: skip
    form = r"The [a-z]+, (0|30|60|90), of \w+\.\w+@(mail\.)?example\.\w+ isn't at \d\d:\d\d\.\n"
    assert re.fullmatch(form, answer.out)
    assert "assumes: both texts agree in " in answer.err
    assert "which listed public words stand where" in answer.err
    assert "on a public grid from 0 to 90 in steps of 30" in answer.err
    assert "from $1 to $100 by factors of 10: between two of them the loss is at most 1 nats" in answer.err


def test_a_whole_file_is_one_document(wordveil, vocabulary, notes):
    answer = wordveil("sanitize", notes, "--vocabulary", vocabulary, "--whole-file")
    assert answer.err.startswith("released: 1 document, 4 tokens; ")


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
    "unknown-command": ("nonsense", "No such command 'nonsense'"),
    "unknown-option": ("sanitize --nonsense", "No such option"),
    "no-number": ("sanitize NOTES --epsilon much", "--epsilon"),
    "missing-argument": ("vocabulary neighbors", "Missing argument"),
    "mechanism": ("sanitize NOTES -m magic", "--mechanism='magic' must be one of "),
    "epsilon": ("sanitize NOTES -e -1", "--epsilon=-1.0 must be greater than 0."),
    "setting-name": ("sanitize NOTES --set colour=3", "must be NAME=VALUE with NAME one of "),
    "setting-form": ("sanitize NOTES --set beta", "--set='beta' must be NAME=VALUE"),
    "setting-type": ("sanitize NOTES -m tem -e 2 --set beta=high", "--set beta='high' must be a number."),
    "metric": ("sanitize NOTES -m tem -e 2 --set metric=taxi", "--set metric='taxi' must be one of euclidean, angular"),
    "unknown": ("sanitize NOTES --unknown keep", "--unknown='keep' must be one of random, typed"),
    "threads": ("sanitize NOTES --threads 0", "--threads=0 must be at least 1; leave it out for one per processor."),
    "block": ("sanitize NOTES --block-tokens 0", "--block-tokens=0 must be at least 1"),
    "output-is-folder": ("sanitize NOTES -o FOLDER", "--output='FOLDER' must be a file, as the input is."),
    "delimiter": ("sanitize ROWS --delimiter long", "--delimiter='long' must be one ASCII character"),
    "setting-deep": (f"sanitize NOTES -m tem -e 2 --set beta={'-' * 50_000}1", "must be a number"),
    "setting-nested": (f"sanitize NOTES -m tem -e 2 --set beta='{'(' * 5_000}'", "must be a number"),
    "over-budget": ("sanitize TABLE -c text --drop-others --user-column id --max-nats-per-user 9 --over-budget x",
     "--over-budget='x' must be one of"),
    "setting-strange": ("sanitize NOTES --set 'beta={[]: 1}'", "beta"),
    "count": ("vocabulary neighbors babaq -k 0", "--count=0 must be at least 1"),
    "guess": ("sanitise", "Did you mean 'sanitize'"),
    "own-help": ("sanitize NOTES EXTRA", "See: wordveil sanitize --help"),
    "absent-input": ("sanitize absent.txt", "absent.txt: no such file"),
    "absent-list": ("sanitize NOTES --public-words absent.lst", "absent.lst"),
    "absent-vocabulary": ("sanitize NOTES --vocabulary absent", "absent"),
    "list-of-bytes": ("sanitize NOTES --public-words BYTES", "is not UTF-8"),
    "output-folder": ("sanitize NOTES -o nowhere/out.txt", "must lie in an existing directory"),
    "same-file": ("sanitize NOTES -o NOTES", "must differ from the input"),
    "no-column": ("sanitize ROWS", "column"),
    "others": ("sanitize TABLE -c text -c note",
     "wordveil: --column text --column note leaves 1 other column of table.csv unnamed: id. --keep NAME copies "
     "one, --keep-others copies all, --drop-others leaves them out."),
    "keep-and-all": ("sanitize TABLE -c text --keep id --keep-others",
     "wordveil: --keep id cannot be combined with --keep-others. Give one of the two."),
    "misspelt-keep": ("sanitize TABLE -c text --keep note --keep idd",
     "wordveil: --keep='idd' is no other column of table.csv. Did you mean 'id'?"),
    "kept-text": ("sanitize TABLE -c text --keep text", "--keep='text' is a text column."),
    "keep-of-text": ("sanitize NOTES --keep id", "--keep id cannot be given: the format text has no columns."),
    "wrong-column": ("sanitize ROWS --column txt", "line 1"),
    "pair": ("explain -e 1 --pair one", "--pair='one' must be two words with a comma"),
    "pair-word": ("explain -e 1 --pair babaq,zzz", "pairs='zzz' is not in this vocabulary"),
    "pair-kind": ("explain -e 1 --pair babaq,2019", "--pair='2019' is a year and no word"),
    "keep": ("calibrate --keep 2", "--keep=2.0 must be greater than 0 and less than 1."),
    "word": ("vocabulary neighbors zzz", "word='zzz' is not in this vocabulary"),
    "no-default": ("sanitize NOTES -m laplace", "wordveil calibrate --mechanism laplace"),
    "resume-pipe": ("sanitize - --resume", "wordveil: --resume needs an input file and an output file"),
    "report-folder": ("sanitize NOTES --report nowhere/r.html", "must lie in an existing directory"),
    "audit-epsilon": ("audit -m laplace --dimensions 2", "wordveil: --epsilon must be given for laplace"),
    "audit-report": ("audit -m tem -e 1 --report nowhere/r.json", "must lie in an existing directory"),
    "release-report": ("release v.npy -o w.npy -e 1 --report nowhere/r.json", "must lie in an exist"),
    "said-elsewhere": ("sanitize NOTES --set epsilon=3", "--set='epsilon=3' cannot be used; give it as --ep"),
    "set-calibration": ("explain --set calibration=certified", "give it as --calibration."),
    "epsilon-twice": ("sanitize NOTES -e 4 --epsilon 400", "--epsilon is given 2 times; give it once."),
    "set-twice": ("sanitize NOTES -m tem -e 2 --set beta=0.1 --set beta=0.2",
     "--set='beta=0.2' gives beta a second time; give it once."),
    "setting-domain": ("sanitize NOTES -m tem -e 2 --set beta=2",
     "--set beta=2 must be greater than 0 and less than 1"),
    "refuted": ("sanitize NOTES -m jaccard -e 1", "add --allow-refuted for an experiment"),
    "classical": ("sanitize NOTES -m clipped-gaussian -e 40 --calibration classical",
     "Use --calibration analytic, or add --allow-refuted."),
    "no-format": ("sanitize strange.abc -c text", "wordveil: --format must be one of"),
    "several-columns": ("sanitize ROWS -c text,title", "Give --column once for each column."),
    "textbook-certificate": ("sanitize NOTES -m tem --calibration textbook --certificate c.json",
     "--calibration='textbook' uses no certificate; leave out one of the two."),
    "needless-certificate": ("sanitize NOTES -m laplace -e 1 --certificate c.json",
     "--certificate='c.json' cannot be used: laplace needs none."),
    "no-barring-list": ("sanitize NOTES --exclude-outputs absent.lst", "absent.lst: No such file"),
    "misspelt-barring-list": ("sanitize NOTES --exclude-outputs ofensive", "did you mean offensive?"),
    "misspelt-public-words": ("sanitize NOTES --public-words funtion", "did you mean function?"),
    "infinite-epsilon": ("sanitize NOTES -e inf", "--epsilon=inf is not a finite number; it must be great"),
    "calibrate-certified": ("calibrate -m tem --set calibration=certified",
     "Calibrate without it, then certify the epsilon found"),
    "needed-setting": ("sanitize NOTES -m projection -e 4", "wordveil: --set dimensions must be given"),
    "binary": ("sanitize binary.tsv -c text", "this is a binary file, or text in another encoding"),
    "textbook": ("certify -e 4 --calibration textbook -o c.json", "--calibration='textbook' needs no certificate"),
    "engine": ("sanitize NOTES -o out.txt --engine mmx", f"must be one of {', '.join(available_engines())} here"),
    "report-form": ("sanitize NOTES --report r.pdf", "must end in .json or .html"),
    "lists-of-a-strange-word": ("vocabulary neighbours build --outputs NOTES", "must list words of this vocabulary"),
    "lists-without-counts": ("vocabulary neighbours build --outputs 100", "the words whose frequency is known"),
    "lists-too-long": ("vocabulary neighbours build -k 65", "must be in [1, 64]"),
    "lists-metric": ("vocabulary neighbours build --metric hamming", "must be one of cosine, euclidean, angular"),
    "import-taken": ("vocabulary import NOTES ROWS", "already exists"),
    "import-order": ("vocabulary import NOTES made --order alphabet", "--order='alphabet' must be one of "),
    "lists-of-ours": ("vocabulary neighbours build", "save this one first"),
    "several-wishes": ("calibrate --attacker 0.2 --far 0.1",
     "wordveil: Give only one of --attacker, --similarity, --far and --nats."),
    "wish-of-another": ("calibrate -m tem --far 0.1", "works only with --mechanism neighbours; for tem use --keep"),
    "decoder-without-c": ("calibrate --decoder vickrey --epsilon 1", "no other decoder has a parameter"),
    "decoder-alone": ("calibrate --decoder rank-softmax", "go together"),
    "decoder-of-words": ("calibrate --decoder rank-softmax -e 1 -m tem", "is for vector mechanisms"),
    "decoder-absent": ("sanitize NOTES -m laplace -e 9 --decoder-set c=1", "--decoder-set needs --decoder"),
    "decoder-name": ("sanitize NOTES -m laplace -e 9 --decoder vickrey --decoder-set c=1", "NAME one of t"),
    "decoder-domain": ("sanitize NOTES -m laplace -e 9 --decoder vickrey --decoder-set t=2", "t=2"),
    "decoder-plain": ("sanitize NOTES -m laplace -e 9 --decoder nearest --decoder-set t=1",
     "not taken by nearest; it takes none"),
    "decoder-epsilon": ("sanitize NOTES -m laplace -e 9 --decoder rank-softmax --decoder-set epsilon=2",
     "give it as --epsilon"),
    "words-number": ("redact NOTES --words common:3000", "1000, 2000, 4000, 8000"),
    "words-form": ("redact NOTES --words all", "common:1000"),
    "words-pack": ("redact NOTES --pack law", "spoken, clinic, bank, food"),
    "words-kept": ("redact NOTES --keep-words names", "titles, calendar, sensitive"),
    "numbers-form": ("redact NOTES --keep-numbers ten", "0-10"),
    "numbers-range": ("redact NOTES --keep-numbers 3-1", "must be a range within 0 to 100"),
    "link-to-nothing": ("redact NOTES --link ''", "the name of a column"),
    "link-of-text": ("redact NOTES --link who", "one file with columns"),
    "law": ("redact NOTES --law class", "placeholder, surrogate"),
    "vectors-of-words": ("release v.npy -o w.npy -e 4 -m tem", "mechanism='tem' must be a vector mechanism"),
    "vectors-vocabulary": ("release v.npy -o w.npy -e 4 -m nadp", "--vocabulary must be given"),
    "vectors-refuted": ("release v.npy -o w.npy -e 4 -m jaccard", "add --allow-refuted"),
    "vectors-exact": ("release v.npy -o w.npy -e 4 -m projection --set sensitivity=exact --set dimensions=4 "
     "--set directions=orthonormal",
     "'exact' covers the words of a vocabulary only"),
    "vectors-no-grid": ("release v.npy -o w.npy -e 4 --grid x", "power of two"),
    "vectors-type": ("release v.npy -o w.npy -e 4 --dtype float16", "float32, float64"),
    "vectors-report": ("release v.npy -o w.npy -e 4 --report r.txt", "must end in .json"),
    "vectors-no-epsilon": ("release v.npy -o w.npy", "epsilon"),
    "vectors-dimensions": ("release v.npy -o w.npy -e 4 --vocabulary embedded", "must have 7, like the vectors"),
}  # fmt: skip


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


@pytest.mark.parametrize("words", [[], ["vocabulary"]])
def test_no_command_answers_with_help(wordveil, words):
    answer = wordveil(*words)
    assert answer.status == 2
    assert "Commands:" in answer.out + answer.err


def test_tables_without_header_or_quotes(wordveil, vocabulary, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('1;"babaq\n2;dabaq\n')
    form = ["--no-header", "--delimiter", ";", "--quoting", "none"]
    answer = wordveil.done("sanitize", path, "--vocabulary", vocabulary, "-c", 2, "--keep", 1, *form)
    assert [line.split(";")[0] for line in answer.out.splitlines()] == ["1", "2"]
    assert "2 documents, 2 tokens" in answer.err


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


@pytest.mark.parametrize(("epsilon", "asked"), [(8, False), (13.8, False), (13.9, True), (50, True)])
def test_a_promise_that_hides_nothing_needs_a_yes(wordveil, tmp_path, epsilon, asked):
    """By its odds: beyond ln(999 999) = 13.82 nats an even guess may be wrong less than once in a million times."""
    (tmp_path / "in.txt").write_text("She sleeps badly.\n")
    answer = wordveil("sanitize", tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-e", epsilon)
    assert ("this promise hides nothing" in answer.err) == asked
    assert answer.status == (2 if asked else 0)
    assert (tmp_path / "out.txt").exists() == (not asked)
    accepted = wordveil.done("sanitize", tmp_path / "in.txt", "-o", tmp_path / "accepted.txt", "-e", epsilon, "--yes")
    assert accepted.err.count("this promise hides nothing") == asked


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
def test_parameters_of_a_decoder_reach_it(wordveil, tmp_path):
    (tmp_path / "in.txt").write_text("the doctor was late\n" * 5)
    run = "sanitize in.txt -m laplace -e 1e6 --yes -q --decoder"  # so little noise that the nearest word is the word
    steep = wordveil.done(f"{run} rank-softmax --decoder-set c=1")  # e^-1000000 of the next word
    assert steep.out.lower() == "the doctor was late\n" * 5
    second = wordveil.done(f"{run} vickrey --decoder-set t=1")
    assert not set(second.out.lower().split()) & {"doctor", "late"}, "t = 1 always gives the second nearest"


def test_c_of_the_rank_softmax_is_found_for_a_vocabulary(wordveil):
    found = json.loads(wordveil("calibrate", "--decoder", "rank-softmax", "--epsilon", "60", "--json").out)
    near = {row["c"]: row["near"] for row in found["grid"]}
    assert near[found["c"]] == max(near.values()) > near[min(near)]
    assert found["mechanism"] == "laplace"


def test_a_list_stands_in_one_place_and_a_second_release_is_asked_for_each_time(wordveil, tmp_path):
    """A typed `--hide` took the place of the file's, whose words left."""
    (tmp_path / "a.txt").write_text("good")
    (tmp_path / "b.txt").write_text("very")
    (tmp_path / "text.txt").write_text("it was very good\n")
    options, text = tmp_path / "wordveil.toml", tmp_path / "text.txt"
    options.write_text(f'[redact]\nhide = ["{tmp_path / "a.txt"}"]\n')
    answer = wordveil("--config", options, "redact", text, "-o", tmp_path / "out.txt", "--hide", tmp_path / "b.txt")
    assert answer.status == 2
    assert "--hide is given by --config, too; give it in one place." in " ".join(answer.err.split())
    assert wordveil("--config", options, "redact", text, "-o", tmp_path / "out.txt").status == 0
    assert "good" not in (tmp_path / "out.txt").read_text()
    options.write_text("[redact]\ndates = 'shift'\ndays = 30.9\n")
    assert "days no value: it takes a whole number" in " ".join(wordveil.refused("--config", options, "redact").split())
    options.write_text("[redact]\nagain = true\n")
    answer = wordveil("--config", options, "redact", text, "-o", tmp_path / "out.txt")
    assert answer.status == 2
    assert "cannot say again" in " ".join(answer.err.split())
