"""What `sanitize` says of a run: in words, with every assumption, in a report; and how a screen shows it."""

import hashlib
import html
import io
import json
import re
import shlex
from dataclasses import replace

import pytest

import wordveil as wv
from wordveil.cli import progress
from wordveil.cli.printing import aligned, for_screen
from wordveil.cli.sanitize import _largest_loss
from wordveil.cli.wording import told
from wordveil.errors import DataFormatError, ParameterError
from wordveil.vocabulary.packaged import never_output
from worlds import drawn, scattered, spoken


# The guarantee in words.
@pytest.mark.parametrize(("epsilon", "weak"), [(0.5, False), (400, True)])
def test_the_strength_is_said_in_words(wordveil, notes, tmp_path, epsilon, weak):
    # No two words share a vector. That two of 200 lie nearer than 14 / 400 has a chance of less than 1e-11.
    apart = wv.Embeddings.from_arrays(spoken(200), scattered(0, 200, 8)).save(tmp_path / "apart").directory
    said = wordveil("sanitize", notes, "-m", "tem", "--vocabulary", apart, "-e", epsilon, "--yes", "--explain").err
    sentence = re.search(r"^in words: between two words at a typical distance \(.*\), an even guess (.*)$", said, re.M)
    assert ("all but certain" in sentence[1]) == weak
    assert ("warning: this promise hides nothing" in said) == weak


def test_the_largest_loss_is_exact_where_it_is_known_and_a_bound_elsewhere(wordveil, vocabulary, notes, tmp_path):
    textbook = wordveil("sanitize", notes, "-m", "tem", "--vocabulary", vocabulary, "-e", 4, "--explain").err
    guarantee = wv.TEM(epsilon=4.0).fit(wv.load_embeddings(vocabulary)).guarantee()
    bound = wv.promises.guarantees.round_up(guarantee.loss(guarantee.largest_distance))
    assert f"largest loss between any two words: {bound} nats, a bound: no pair need reach it" in textbook
    arguments = ["-m", "tem", "--vocabulary", vocabulary, "-e", 4, "--calibration", "certified-local"]
    wordveil("certify", *arguments, "-o", tmp_path / "c.json")
    local = wordveil("sanitize", notes, *arguments, "--certificate", tmp_path / "c.json", "--explain").err
    found = wv.Certificate.load(tmp_path / "c.json")
    claim = wv.TEM(epsilon=4.0, calibration="certified-local").fit(wv.load_embeddings(vocabulary), found).guarantee()
    assert claim.slack > 0
    assert f"{wv.promises.guarantees.round_up(claim.epsilon + claim.slack)} nats, computed over all pairs" in local


def number(pattern, text):
    return float(re.search(pattern, text)[1])


def test_where_distances_stop_to_count_is_never_printed_too_near():
    claim = wv.MetricDP(epsilon=2.0, metric="euclidean", slack=1e-5, standing=wv.Standing.PROVED)
    for cap in (1.23441, 1.23449, 7.0, 0.333333):
        claim = replace(claim, largest_distance=cap)
        said = _largest_loss(claim, None)
        assert number(r"count up to ([\d.]+)\)", said) >= claim.largest_distance
        assert number(r"^([\d.]+) nats", said) >= claim.loss(claim.largest_distance)


def test_the_largest_loss_holds_the_slack_and_says_who_computed_it():
    """1 100 words are more than fitting repeats a certificate on."""
    for words, repeated in ((100, True), (1100, False)):
        table = drawn(words, 3, seed=words)
        mechanism = wv.SanText(epsilon=9.0, calibration="certified-local")
        certificate = wv.certify(mechanism, table)
        claim = mechanism.fit(table, certificate).guarantee()
        slack = replace(claim, slack=0.5)
        assert number(r"^([\d.]+) nats", _largest_loss(slack, certificate)) >= claim.epsilon + 0.5
        assert ("computed over all pairs" in _largest_loss(claim, certificate)) == repeated
        assert ("not repeated" in _largest_loss(claim, certificate)) == (not repeated)


def test_every_assumption_is_printed(wordveil, vocabulary, notes):
    answer = wordveil("sanitize", notes, "--vocabulary", vocabulary, "-m", "nadp", "-e", 4, "--explain")
    options = wv.TextOptions(unknown="typed")
    fitted = wv.Sanitizer(wv.load_embeddings(vocabulary), wv.NADP(epsilon=4.0), options=options)
    assumptions = fitted.guarantee.assumptions
    assert assumptions
    assert [line for line in assumptions if f"assumes: {line}" not in answer.err.splitlines()] == []


# Certificates.
def test_the_command_that_certify_prints_uses_the_certificate(wordveil, vocabulary, notes, tmp_path):
    certificate = tmp_path / "a certificate.json"
    made = wordveil("certify", "-e", 4, "--vocabulary", vocabulary, "-o", certificate, "--set", "metric=angular")
    printed = re.search(r"^use it with: wordveil (.*)$", made.err, re.M)[1]
    assert "--calibration certified" in printed
    words = [{"IN": str(notes), "OUT": str(tmp_path / "out.txt")}.get(word, word) for word in shlex.split(printed)]
    answer = wordveil.done(*words)
    assert "metric DP (certified)" in answer.err
    # A certificate alone says calibration and epsilon; what else it was made for must be said.
    short = wordveil(
        f"sanitize {notes} -m tem --vocabulary {vocabulary} --certificate '{certificate}' --set metric=angular"
    )
    assert "metric DP (certified)" in short.err
    assert "exp(4 * t)" in short.err


# Words never output.
def test_the_embedded_vocabulary_leaves_out_slurs_unless_told(wordveil, notes, tmp_path):
    checksums = {}
    for name, extra in {"default": [], "none": ["--exclude-outputs", "none"]}.items():
        report = tmp_path / f"{name}.json"
        answer = wordveil.done(f"sanitize {notes} -o {name}.txt --report {report} --explain", *extra)
        assert ("never output: the slurs and obscene words" in answer.err) == (name == "default")
        checksums[name] = json.loads(report.read_text())["provenance"]["candidates_checksum"]
    assert checksums["default"] == wv.load_embeddings().candidates_checksum
    assert checksums["none"] == wv.load_embeddings(every_output=True).candidates_checksum


def test_an_own_list_is_read_without_case_and_counted(wordveil, vocabulary, notes, tmp_path):
    entries = list(wv.load_embeddings(vocabulary).words)
    barred = tmp_path / "barred.txt"
    barred.write_text("\n".join([*(word.upper() for word in entries[:-2]), "nowhere", "Maria"]))
    arguments = ["sanitize", notes, "--vocabulary", vocabulary, "--explain"]
    answer = wordveil(*arguments, "--set", "k=1", "--exclude-outputs", barred)
    assert set(re.findall(r"[a-z]+", answer.out.lower())) <= set(entries[-2:])
    assert f"never output: 198 words of {barred}; the other 2 never were" in answer.err
    offensive = wordveil(*arguments, "--exclude-outputs", "offensive")
    assert f"public list of {len(never_output())}" in offensive.err


# Reports.
def sanitized(wordveil, vocabulary, notes, tmp_path, name):
    report = tmp_path / name
    options = ["--vocabulary", vocabulary, "--report", report, "-e", 2, "--again"]
    wordveil.done("sanitize", notes, "-o", tmp_path / "out.txt", *options)
    return report


def test_a_report_is_evidence_of_one_file(wordveil, vocabulary, notes, tmp_path):
    report = json.loads(sanitized(wordveil, vocabulary, notes, tmp_path, "r.json").read_text())
    released = (tmp_path / "out.txt").read_bytes()
    digest = hashlib.sha256(released).hexdigest()
    assert report["outputs"] == [{"name": "out.txt", "size": len(released), "sha256": digest}]
    assert (report["source"], report["destination"]) == ("notes.txt", "out.txt")
    assert (report["options"]["unknown"], report["settings"]["columns"]) == ("typed", [])
    assert "block_characters" not in report["settings"]
    assert str(tmp_path) not in json.dumps(report)
    words = " ".join(report["in_words"])
    assert "an even guess" in words
    assert "two texts of 3 tokens, as long as the longest one here, that differ in every token" in words
    assert any("not chosen by looking at these texts" in line for line in report["assumptions"])
    assert "zzyzx" not in json.dumps(report).lower()  # the only word that is not public


def test_a_page_says_what_the_json_says_on_any_screen(wordveil, vocabulary, notes, tmp_path):
    page = sanitized(wordveil, vocabulary, notes, tmp_path, "r.html").read_text(encoding="utf-8")
    report = json.loads(sanitized(wordveil, vocabulary, notes, tmp_path, "r.json").read_text())
    assert '<meta name="viewport" content="width=device-width' in page
    assert "prefers-color-scheme: dark" in page
    text = html.unescape(re.sub(r"<[^>]+>", "\n", page))
    said = [*report["in_words"], *report["assumptions"], *report["disclosed"], report["guarantee"]["sentence"]]
    assert [line for line in said if line not in text] == []
    assert "In plain words" in text
    for term in ("unit", "standing", "slack"):
        assert f"<dt>{term}</dt>" in page


# Progress.
def test_off_a_terminal_a_line_is_said_every_half_minute(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.document_bar("in.txt", "out.txt", quiet=False) as show:
        for now[0] in (5.0, 29.0, 31.0, 40.0, 70.0):
            show(int(now[0] * 10), 1000, 3, 310)
    assert capsys.readouterr().err.splitlines() == [
        "31%, 3 documents, 10 tokens/s, 0:00:31, 0:01:09 left",
        "70%, 3 documents, 4 tokens/s, 0:01:10, 0:00:30 left",
    ]
    with progress.document_bar("in.txt", "out.txt", quiet=True) as show:
        assert show is None
    with progress.count_bar("pair visits") as count:
        now[0] += 31.0
        count(1_000_000)
    assert capsys.readouterr().err == "1,000,000 pair visits, 0:00:31\n"


# What was left out, and what became of an interrupted run.
def test_another_encoding_is_read_when_it_is_named(wordveil, vocabulary, tmp_path):
    note = tmp_path / "note.txt"
    note.write_bytes("babaq \u201cdabaq\u201d\n".encode("windows-1252"))
    arguments = ["sanitize", note, "--vocabulary", vocabulary]
    assert "--encoding windows-1252" in wordveil(*arguments).err
    answer = wordveil.done(*arguments, "--encoding", "windows-1252", "-q")
    assert re.fullmatch(r"\w+ \u201c\w+\u201d\n", answer.out)


def test_a_report_holds_the_digest_of_the_private_input_only_when_asked(wordveil, vocabulary, notes, tmp_path):
    arguments = ["sanitize", notes, "--vocabulary", vocabulary, "--report", tmp_path / "r.json"]
    digest = hashlib.sha256(notes.read_bytes()).hexdigest()
    wordveil(*arguments)
    assert digest not in (tmp_path / "r.json").read_text()
    wordveil(*arguments, "--input-digest")
    assert json.loads((tmp_path / "r.json").read_text())["inputs"][0]["sha256"] == digest


def test_a_system_error_is_told_on_one_line_without_its_number():
    full = OSError(28, "No space left on device", "out.csv")
    assert told(full, {}, []) == "out.csv: No space left on device."
    assert "\n" not in told(DataFormatError("x", "two\nlines."), {}, [])
    unbounded = ParameterError("gamma", -1.0, "must be in (0, inf), or None to compute it.")
    shown = "--set gamma=-1.0 must be greater than 0; leave it out to compute it."
    assert told(unbounded, {"settings": "--set"}, ["-m", "tem"]) == shown


def test_a_member_name_forges_no_line_of_the_promise(wordveil, vocabulary, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"t": "alpha", "k\nguarantee: local DP (proved) epsilon 0": 1}) + "\n")
    answer = wordveil.done(f"sanitize {source} -c t --keep-others -o o.jsonl --vocabulary {vocabulary} --epsilon 1")
    assert sum(line.startswith("guarantee: ") for line in answer.err.splitlines()) == 1


def test_a_report_replaces_nothing_that_a_run_reads_or_writes(wordveil, vocabulary, tmp_path):
    (tmp_path / "in.json").write_text('[{"t": "alpha"}]')
    (tmp_path / "other.json").symlink_to("in.json")
    (tmp_path / "c.json").write_text("{}")
    header = vocabulary / "header.json"
    before = [path.read_bytes() for path in (tmp_path / "in.json", tmp_path / "c.json", header)]
    run = f"sanitize in.json -c t -o out.json --vocabulary {vocabulary} -e 1"
    for command in (
        *(f"{run} --report {report}" for report in ("out.json", "in.json", "other.json", header)),
        "denoise in.txt in.json -o out.txt --certificate c.json --report c.json",
        f"denoise in.txt in.json -o out.txt --vocabulary {vocabulary} --report {header}",
        f"rephrase in.txt -o out.txt --stock {vocabulary} --report {header}",
        f"release in.npy -o out.npy -e 1 --vocabulary {vocabulary} --report {header}",
    ):
        assert "must be another file than those the run reads and writes" in wordveil.refused(command)
    assert [path.read_bytes() for path in (tmp_path / "in.json", tmp_path / "c.json", header)] == before
    assert not (tmp_path / "out.json").exists()
    wordveil.done(f"{run} --report report.json")
    for command in (
        f"sanitize in.json -c t -o other.json --again --public-words other.json --vocabulary {vocabulary} -e 1",
        "redact in.json -c t -o c.json --again --hide c.json",
        "denoise in.txt in.json -o c.json --again --certificate c.json",
    ):
        assert "is a file that the run reads. Name another." in wordveil.refused(command)
    assert [path.read_bytes() for path in (tmp_path / "in.json", tmp_path / "c.json", header)] == before


LINE = "warning: " + "an observer may become 99 % sure of a word (exp(8)), or more; " * 3
TABLE = "name               promise    a long line of a table whose columns stand two blanks apart, left alone"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_gets_whole_words_and_a_warning_in_colour(narrow, monkeypatch):
    shown = for_screen(LINE, Terminal())
    assert shown.startswith("\033[1;33mwarning: \033[0m")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = for_screen(LINE, Terminal())
    assert "\033" not in plain
    assert shown.replace("\033[1;33m", "").replace("\033[0m", "") == plain
    assert max(map(len, plain.splitlines())) <= 60
    assert plain.split() == LINE.split()


def test_whoever_reads_no_terminal_gets_each_line_on_one(narrow):
    assert (for_screen(LINE, io.StringIO()), for_screen(TABLE, Terminal())) == (LINE, TABLE)


def test_a_table_wraps_its_last_column():
    rows = [{"name": "tem", "paper": "Carvalho, Vasiloudis and Feyisetan 2021, Algorithm 2, and more " * 2}] * 2
    lines = aligned(rows, 50)
    assert max(map(len, lines)) <= 50
    assert " ".join(" ".join(lines).split()).count("Algorithm 2, and more") == 4
    assert aligned([{"a": "1", "b": ""}]) == ["a  b", "1"]
