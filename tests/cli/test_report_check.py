"""A report protects its reader: every warning, a schema, held against itself, signed; an edit of it does not pass."""

from __future__ import annotations

import copy
import html
import json
import math
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli import report as report_command
from wordveil.pipeline.denoising_runs import ReleaseReport
from wordveil.pipeline.report_schema import sealed
from wordveil.pipeline.run_report import form, write_sealed

NOTE = "babaq dabaq, Zzyzx.\nbabaq dabaq fabaq gabaq 3.\nbabaq\n"


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(NOTE)
    return path


@pytest.fixture
def released(wordveil, vocabulary, notes, tmp_path):
    """A release with its report in both forms, of one run each, and the command that checks them."""
    for ending in ("json", "html"):
        answer = wordveil(
            *["sanitize", notes, "-o", tmp_path / f"{ending}.txt", "--vocabulary", vocabulary],
            *["--report", tmp_path / f"r.{ending}", "-e", 8, "-m", "neighbours"],
        )
        assert answer.status == 0, answer.err

    def check(ending="json", *more, report=None, vocabulary=vocabulary):
        named = tmp_path / f"r.{ending}" if report is None else report
        return wordveil("report", tmp_path / f"{ending}.txt", "--verify", named, "--vocabulary", vocabulary, *more)

    check.folder = tmp_path
    return check


def facts_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


# One list of warnings.


def drawn_configurations(number: int) -> Iterator[list[str]]:
    rng = np.random.default_rng(24)
    for _ in range(number):
        mechanism = rng.choice(["neighbours", "tem", "santext", "nadp", "laplace", "mahalanobis", "projection"])
        epsilon = round(float(rng.choice([0.2, 1.0, 4.0, 9.0, 30.0])), 3)
        around = [
            *("--unknown", rng.choice(["random", "typed", "drop", "mask"])),
            *("--per", rng.choice(["token", "document"])),
            *("--casing", rng.choice(["sentence", "vocabulary", "shape"])),
            *("--markup", rng.choice(["none", "html"])),
            *(["--public-words", "function"] if rng.random() < 0.5 else []),
        ]
        sized = ["--set", "dimensions=4"] if mechanism == "projection" else []
        yield list(map(str, ["-m", mechanism, "-e", epsilon, *sized, *around]))


REFUTED = ["-m", "truncated-laplace", "-e", "1", "--calibration", "published", "--allow-refuted"]


@pytest.mark.parametrize("chosen", [*drawn_configurations(12), REFUTED], ids=" ".join)
def test_screen_json_and_page_give_the_same_warnings(wordveil, vocabulary, notes, tmp_path, chosen):
    common = ["sanitize", notes, "-o", tmp_path / "out.txt", "--vocabulary", vocabulary, *chosen]
    shown = []
    for ending in ("json", "html"):
        answer = wordveil(*common, "--report", tmp_path / f"r.{ending}")
        assert answer.status == 0, answer.err
        shown.append([line.removeprefix("warning: ") for line in answer.err.splitlines() if line.startswith("warning")])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    boxes = re.findall(r'<p class="warning"><strong>Warning:</strong> (.*?)\.</p>', page)
    assert facts_of(tmp_path / "r.json")["warnings"] == shown[0] == shown[1] == [html.unescape(line) for line in boxes]
    first = wordveil("report", tmp_path / "out.txt", "--verify", tmp_path / "r.html", "--vocabulary", vocabulary)
    assert first.status == 0, first.err
    assert [line for line in first.out.splitlines() if line.startswith("warning: ")] == [
        f"warning: {line}" for line in shown[0]
    ]


def test_the_configurations_drawn_warn_of_all_there_is_to_warn_of(wordveil, vocabulary, notes):
    told = "".join(
        wordveil("sanitize", notes, "--vocabulary", vocabulary, *chosen).err
        for chosen in (["-e", "9"], ["-e", "0.2", "-m", "tem"], REFUTED)
    )
    assert told.count("warning: a weak promise") >= 1
    assert re.search(r"warning: (nothing is promised|the promise is refuted)", told)


def test_what_everybody_should_read_stands_above_the_promise(wordveil, vocabulary, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text('customer,mail,text\nMaria,m@example.org,"babaq dabaq"\n')
    arguments = ["-c", "text", "--keep", "customer", "--keep", "mail", "--vocabulary", vocabulary]
    wordveil(
        "sanitize",
        rows,
        "-o",
        tmp_path / "out.csv",
        *arguments,
        "--report",
        tmp_path / "r.html",
    )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    fold = html.unescape(re.sub(r"<[^>]+>", "\n", page[page.index("<body>") : page.index("<h2>The promise</h2>")]))
    for said in (
        r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, rows.csv to out.csv",
        "What leaves",
        "unchanged: the columns customer, mail",
        "What stays",
        "Anybody who holds the release",
        "an even guess becomes at most 99.97 % sure",
        "16 nats, the sum over the 2 tokens of the longest text here",
        "a weak promise",
        "the column customer\n",
        "punctuation, layout",
    ):
        assert re.search(said, fold), said
    assert "Maria" not in page


def test_the_sum_is_that_of_the_longest_text_however_the_run_is_cut(vocabulary, tmp_path):
    table = wv.load_embeddings(vocabulary)
    sanitizer = wv.Sanitizer(table, wv.SanText(epsilon=2.0))
    source = tmp_path / "in.txt"
    source.write_text("babaq\n" * 40 + "babaq " * 23 + "\n" + "dabaq dabaq\n" * 40)
    for size in (1, 30, 1 << 20):
        settings = wv.documents.DocumentSettings(block_characters=size)
        report = wv.sanitize_documents(source, tmp_path / "out.txt", sanitizer, settings=settings)
        assert (report.longest, report.tokens) == (23, 143)
    explained = sanitizer.explained(report.longest, longest=True)
    assert "two texts of 23 tokens, as long as the longest one here," in "\n".join(explained.examples)


@pytest.mark.parametrize("tokens", [1, 2, 7, 1000])
def test_the_sum_over_equal_tokens_is_that_of_the_composition(vocabulary, tokens):
    sanitizer = wv.Sanitizer(wv.load_embeddings(vocabulary), wv.SanText(epsilon=2.0))
    explained = sanitizer.explained(tokens)
    composed = wv.compose_tokens(sanitizer.guarantee, [explained.typical] * tokens)
    assert explained.text == composed


def test_the_longest_text_may_be_too_long_for_a_list(vocabulary):
    sanitizer = wv.Sanitizer(wv.load_embeddings(vocabulary), wv.NeighbourResponse(epsilon=8.0))
    assert sanitizer.explained(10**13).text_loss == 8e13


def test_examples_are_words_that_people_know():
    examples = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse()).explained().examples
    assert [re.findall("'(.+?)'", line) for line in examples[:2]] == [["diabetes", "asthma"], ["diabetes", "football"]]


# Against itself.

FREE = {  # what no mechanism knows: the checksum holds it against an edit, a signature against a new checksum
    "finished", "seconds", "tokens_per_second", "source", "destination", "outputs[0].name", "schema",
    "provenance.version", "provenance.engine", "skipped_documents", "skipped_files", "missing_texts", "bad_files",
    "replaced_values", "resumed_documents", "exempt", "inputs", "denoised",
    "settings.format", "settings.columns", "settings.keep", "settings.drop_others", "settings.missing",
    "settings.encoding", "settings.pattern", "settings.details.whole_file", "settings.details.delimiter",
    "settings.details.quoting", "settings.details.header", "settings.details.ascii_json",
    "settings.details.section_documents", "settings.details.row_group_rows",
}  # fmt: skip
ELSEWHERE = {  # exit code 2: names a mechanism or a vocabulary that is not here
    "provenance.mechanism",
    "provenance.checksum",
    "provenance.candidates_checksum",
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))
    else:
        yield path


def named(path: tuple[Any, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)[1:]


def forged(facts: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """Return the facts with another value at a place."""
    other = copy.deepcopy(facts)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    if isinstance(value, bool):
        value = not value
    elif isinstance(value, int | float):
        value = value / 4 if value else 1
    elif isinstance(value, str):
        value = (
            re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), value, count=1)
            if value[:1].isdigit()
            else value + " x"
        )
    elif isinstance(value, dict | list):
        value = ["x"] if isinstance(value, list) else {"x": 1}
    else:
        value = "x"
    inner[path[-1]] = value
    return other


def test_every_edit_of_a_report_is_refused(released):
    facts = facts_of(released.folder / "r.json")
    target = released.folder / "forged.json"
    passed = []
    for path in places(facts):
        target.write_text(json.dumps(forged(facts, path)))
        status = released(report=target).status
        # A name of a schema that nobody knows is no report; of a newer one, it may be.
        passed += [] if status == (2 if path == ("schema",) else 1) else [(named(path), status)]
    assert passed == []


def test_whoever_makes_a_new_checksum_still_cannot_edit_the_promise(released):
    facts = facts_of(released.folder / "r.json")
    target = released.folder / "forged.json"
    status = {}
    for path in places(facts):
        if path != ("checksum",):
            write_sealed(sealed(forged(facts, path)), target)
            status[named(path)] = released(report=target).status
    assert {place for place, code in status.items() if code == 0} <= FREE
    assert {place for place, code in status.items() if code == 2} <= ELSEWHERE | {
        "schema",
        "provenance.version",
        "settings.missing",
    }
    wanted = {
        "guarantee.epsilon", "guarantee.sentence", "in_words[1]", "in_words[3]", "warnings[0]", "verdict.longest",
        "passes[0]", "disclosed[0]", "documents", "tokens", "longest", "assumptions[1]", "outputs[0].sha256",
    }  # fmt: skip
    assert [place for place in wanted if status[place] != 1] == []
    # A warning, or all of them, may be left out as well as reworded.
    for dropped in ("warnings", "disclosed", "in_words", "passes"):
        write_sealed(sealed({**facts, dropped: facts[dropped][1:]}), target)
        assert released(report=target).status == 1
        write_sealed(sealed({name: fact for name, fact in facts.items() if name != dropped}), target)
        assert released(report=target).status == 1


def test_the_forgery_of_the_review_is_refused(released):
    """Epsilon, sentence and odds edited together, mechanism and all, are not what the release's mechanism comes to."""
    facts = facts_of(released.folder / "r.json")
    text = (
        json.dumps(facts)
        .replace("exp(8)", "exp(0.1)")
        .replace("99.97", "52")
        .replace('"epsilon": 8.0', '"epsilon": 0.1')
    )
    target = released.folder / "forged.json"
    write_sealed(sealed(json.loads(text)), target)
    answer = released(report=target)
    assert answer.status == 1
    assert "guarantee.epsilon: the report says 0.1, its mechanism gives 8.0" in answer.err
    answer = released("json", "--json", report=target)
    assert any("guarantee.epsilon" in line for line in json.loads(answer.out)["wrong"])


def test_any_edit_of_a_page_is_refused(released):
    page = (released.folder / "r.html").read_text(encoding="utf-8")
    target = released.folder / "forged.html"
    body = page.index("<body>")
    spots = [body + match.start(1) for match in re.finditer(r">([^<>\s][^<>]*)<", page[body:])]
    assert len(spots) > 60
    passed = []
    for spot in spots:
        target.write_text(f"{page[:spot]}x{page[spot:]}", encoding="utf-8")
        passed += [] if released("html", report=target).status == 1 else [page[spot : spot + 40]]
    # In the data block alone: an edit of its first letter leaves no JSON.
    assert all(spot.startswith("{") for spot in passed)
    hidden = page.replace(".warning { border", ".warning { display: none; border")
    for other in (hidden, page + "<p>Anonymous.</p>", page.replace("</body>", "<script>1</script></body>")):
        assert other != page
        target.write_text(other, encoding="utf-8")
        assert released("html", report=target).status == 1
    unforged = facts_of(released.folder / "r.json")
    assert [named(path) for path in places(unforged)]


def test_a_page_written_from_forged_facts_is_refused(released):
    facts = json.loads(re.search(r'id="wordveil-report">(.*?)</script>', (released.folder / "r.html").read_text())[1])
    assert released("html").status == 0
    target = released.folder / "forged.html"
    for path in [("guarantee", "epsilon"), ("in_words", 1), ("warnings", 0), ("verdict", "attack"), ("passes", 0)]:
        write_sealed(sealed(forged(facts, path)), target)
        assert released("html", report=target).status == 1


def test_a_fact_that_stands_twice_is_no_report(released):
    text = (released.folder / "r.json").read_text()
    target = released.folder / "forged.json"
    target.write_text(text.replace('"epsilon": 8.0', '"epsilon": 0.1, "epsilon": 8.0', 1))
    assert released(report=target).status == 2


def test_what_cannot_be_computed_here_is_said_and_does_not_pass(released):
    facts = facts_of(released.folder / "r.json")
    target = released.folder / "other.json"
    facts["provenance"]["mechanism"] = "ClusterResponse(epsilon=8.0, class='00')"
    write_sealed(sealed(facts), target)
    answer = released(report=target)
    assert answer.status == 2
    assert "a package that brings it is not installed" in answer.err


def test_another_vocabulary_is_asked_for(wordveil, released):
    answer = wordveil("report", released.folder / "json.txt", "--verify", released.folder / "r.json")
    assert answer.status == 2
    assert "Name them with --vocabulary" in answer.err


# Older and newer reports.


def older(facts, sanitizer):
    """Return the facts as reports said them before they had a schema: a mean text, and words of a sample."""
    new = ("schema", "kind", "longest", "copied", "tree", "warnings", "verdict", "passes", "checksum")
    facts = {name: fact for name, fact in copy.deepcopy(facts).items() if name not in new}
    pairs = [sanitizer.embeddings.words[:2], sanitizer.embeddings.words[3:5]]
    mean = round(facts["tokens"] / facts["documents"])
    facts["in_words"][1:] = sanitizer.explained(mean, pairs=pairs).examples
    facts["guarantee"]["epsilon"] = 7.999999999999999
    return facts


def test_a_report_from_before_there_was_a_schema_is_read_and_held(released, vocabulary):
    table = wv.load_embeddings(vocabulary)
    sanitizer = wv.Sanitizer(table, wv.NeighbourResponse(epsilon=8.0), options=wv.TextOptions(unknown="typed"))
    facts = older(facts_of(released.folder / "r.json"), sanitizer)
    target = released.folder / "older.json"
    target.write_text(json.dumps(facts))
    answer = released(report=target)
    assert answer.status == 0, answer.err
    assert "warning: a weak promise" in answer.out, "that such a report gives no warning is made good"
    assert ReleaseReport.load(target).mechanism() == sanitizer.mechanism
    for path in [
        ("guarantee", "epsilon"),
        ("guarantee", "sentence"),
        ("in_words", 0),
        ("in_words", 1),
        ("disclosed", 2),
    ]:
        target.write_text(json.dumps(forged(facts, path)))
        assert released(report=target).status in (1, 2)
    for added in ({"verdict": {"attack": "Nobody."}}, {"passes": ["nothing"]}, {"warnings": []}, {"weather": "fine"}):
        target.write_text(json.dumps(facts | added))
        assert released(report=target).status == 1, "what stands unchecked would be shown"


def test_a_newer_minor_version_is_read_and_a_newer_major_one_refused(released):
    facts = facts_of(released.folder / "r.json")
    target = released.folder / "newer.json"
    facts |= {"schema": "1.9", "weather": "fine"}
    facts["provenance"]["country"] = "SE"
    facts["options"]["tone"] = "kind"
    write_sealed(sealed(facts), target)
    answer = released(report=target)
    assert answer.status == 0, answer.err
    assert "written by a newer version; not checked: options.tone, provenance.country, weather" in answer.out
    assert ReleaseReport.load(target).provenance.engine == facts["provenance"]["engine"]
    write_sealed(sealed(facts | {"schema": "1.0"}), target)
    assert released(report=target).status == 1, "this version's reports have no such fields"
    write_sealed(sealed(facts | {"schema": "2.0"}), target)
    answer = released(report=target)
    assert answer.status == 2
    assert "is a report of schema 2.0, which this version cannot read; it reads 1.0. Install a newer" in answer.err


def test_another_version_s_wording_is_not_called_forged_nor_passed(released):
    facts = facts_of(released.folder / "r.json")
    facts["provenance"]["version"] = "9.9.9"
    target = released.folder / "other.json"
    write_sealed(sealed(facts), target)
    assert released(report=target).status == 0
    write_sealed(sealed(forged(facts, ("in_words", 0))), target)
    answer = released(report=target)
    assert answer.status == 2
    assert "Check it with wordveil 9.9.9" in answer.err
    write_sealed(sealed(forged(facts, ("guarantee", "epsilon"))), target)
    assert released(report=target).status == 1


# Who wrote it.


@pytest.fixture
def key(wordveil, tmp_path):
    mask = os.umask(0)
    try:
        answer = wordveil("report", "--new-key", tmp_path / "sender.key")
    finally:
        os.umask(mask)
    assert answer.status == 0, answer.err
    secret = (tmp_path / "sender.key").read_text()
    assert not set(secret.splitlines()) & set((answer.out + answer.err).splitlines())
    assert stat.S_IMODE((tmp_path / "sender.key").stat().st_mode) == 0o600
    return tmp_path / "sender.key"


@pytest.mark.parametrize("ending", ["json", "html"])
def test_a_signature_holds_every_fact(released, key, ending):
    public = ["--public-key", key.with_suffix(".pub")]
    assert "is not signed" in released(ending, *public).err
    assert released(ending, *public).status == 1
    signing = released(ending, "--sign", key)
    assert signing.status == 0, signing.err
    report = released.folder / f"r.{ending}"
    assert key.read_text().splitlines()[1] not in report.read_text() + signing.out + signing.err
    answer = released(ending, *public)
    assert (answer.status, "signed with the private key" in answer.out) == (0, True)
    assert "by whom is not checked" in released(ending).out
    text = report.read_text(encoding="utf-8")
    facts = json.loads(text if ending == "json" else re.search(r'id="wordveil-report">(.*?)</script>', text)[1])
    target = released.folder / f"forged.{ending}"
    for path in places(facts):
        if path[0] in ("checksum", "schema", "inputs", "budget", "denoised"):  # the last ones make no page
            continue
        other = forged(facts, path)
        kept = {"signature": other["signature"]}
        target.write_text(form({**sealed(other), **kept}, html=ending == "html"), encoding="utf-8")
        assert released(ending, *public, report=target).status == 1, named(path)
    write_sealed(sealed(facts), target)  # its signature left out
    assert released(ending, *public, report=target).status == 1


def test_another_key_and_other_files_are_refused(wordveil, released, key, tmp_path):
    released("json", "--sign", key)
    wordveil("report", "--new-key", tmp_path / "other.key")
    assert "signed with another key" in released("json", "--public-key", tmp_path / "other.pub").err
    for wrong in (tmp_path / "notes.txt", key):
        answer = released("json", "--public-key", wrong)
        assert answer.status == 2
        assert "is no public key in PEM" in answer.err
    assert "is no private key in PEM" in released("json", "--sign", tmp_path / "other.pub").err
    again = wordveil("report", "--new-key", key)
    assert (again.status, "must be a new file" in again.err) == (2, True)
    (tmp_path / "html.txt").write_text("other")
    before = (tmp_path / "r.html").read_bytes()
    assert released("html", "--sign", key).status == 1
    assert (tmp_path / "r.html").read_bytes() == before, "what does not hold is not signed"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_a_key_of_openssl_signs_too(released, tmp_path):
    private, public = tmp_path / "o.pem", tmp_path / "o.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    assert released("json", "--sign", private).status == 0
    assert released("json", "--public-key", public).status == 0


def test_without_the_extra_a_signature_says_how_to_install_it(released, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    answer = released("json", "--sign", released.folder / "k.key")
    assert answer.status == 2
    assert "pip install 'wordveil[sign]'" in answer.err
    assert released("json").status == 0


def test_a_key_is_made_alone_and_a_check_needs_both_names(wordveil, released, tmp_path):
    assert "must be given alone" in wordveil("report", tmp_path, "--new-key", tmp_path / "k").err
    assert "must name a report" in wordveil("report", tmp_path).err
    assert report_command.UNSIGNED in released().out


# Vectors.


def test_a_report_of_vectors_is_held_like_one_of_texts(wordveil, tmp_path):
    np.save(tmp_path / "v.npy", np.random.default_rng(5).normal(size=(7, 6)))
    output, report = tmp_path / "out.npy", tmp_path / "r.json"
    arguments = [
        "release",
        tmp_path / "v.npy",
        "-m",
        "clipped-gaussian",
        "-e",
        2,
        "--set",
        "delta=1e-6",
        "--set",
        "clip_norm=3",
    ]
    answer = wordveil(*arguments, "-o", output, "--report", report)
    assert answer.status == 0, answer.err
    facts = facts_of(report)
    check = ("report", output, "--verify")
    assert wordveil(*check, report).status == 0
    target = tmp_path / "forged.json"
    free = {
        "finished", "seconds", "rows_per_second", "rows", "dtype", "column", "left_out", "resumed_rows",
        "outputs[0].name", "provenance.version", "provenance.engine", "schema", "input_dimensions",
    }  # fmt: skip
    status = {}
    for path in places(facts):
        target.write_text(json.dumps(forged(facts, path)))
        assert wordveil(*check, target).status == (2 if path == ("schema",) else 1), named(path)
        if path != ("checksum",):
            write_sealed(sealed(forged(facts, path)), target)
            status[named(path)] = wordveil(*check, target).status
    assert {place for place, code in status.items() if code == 0} <= free
    assert {place for place, code in status.items() if code == 2} <= {
        "provenance.mechanism",
        "provenance.vocabulary",
        "input_dimensions",
        "schema",
    }


# An epsilon as people write it.


@pytest.mark.parametrize("epsilon", [8.0, 2.5, 0.1, 12.0])
def test_no_epsilon_is_shown_with_the_dust_of_float64(epsilon):
    below = math.nextafter(epsilon, 0.0)
    claim = wv.LocalDP(epsilon=below, standing=wv.Standing.PROVED)
    assert claim.epsilon == epsilon
    assert f"exp({epsilon:g})" in claim.sentence()
    assert f"epsilon={epsilon!r}," in repr(claim)
    assert claim.as_dict()["epsilon"] == epsilon


def test_an_epsilon_is_never_claimed_smaller_nor_moved_by_more_than_a_billionth():
    rng = np.random.default_rng(1)
    for value in [*rng.uniform(0.001, 50, 2000), *(np.round(rng.uniform(0.001, 50, 2000), 3) * (1 - 1e-15)), 8.0000001]:
        claimed = wv.LocalDP(epsilon=float(value), standing=wv.Standing.PROVED).epsilon
        assert value <= claimed <= value * (1 + 1e-9)
    claim = wv.LocalDP(epsilon=8.0000001, standing=wv.Standing.PROVED)
    assert claim.epsilon == 8.0000001
    assert "exp(8.001)" in claim.sentence()


def test_the_default_release_says_eight_everywhere(wordveil, tmp_path):
    release = wv.sanitize("She takes metformin.")
    assert release.guarantee.epsilon == 8.0
    (tmp_path / "in.txt").write_text("She takes metformin.\n")
    shown = repr(release) + json.dumps(release.as_dict())
    for ending in ("json", "html"):
        answer = wordveil(
            "sanitize", tmp_path / "in.txt", "-o", tmp_path / "o.txt", "--report", tmp_path / f"r.{ending}"
        )
        shown += answer.err + (tmp_path / f"r.{ending}").read_text()
    for command in (["explain", "--json"], ["explain"], ["mechanisms", "--json"]):
        shown += wordveil(*command).out
    assert "7.9999" not in shown
