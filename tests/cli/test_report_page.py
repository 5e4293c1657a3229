"""What a report tells its reader, and who wrote it: every warning of the screen, the sum, a signature of all facts."""

import errno
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
from fractions import Fraction

import numpy as np
import pytest
from tests.cli.forging import facts_of, forged, named, places

import seeds
import wordveil as wv
from wordveil.cli import report as report_command
from wordveil.runs import report_signatures
from wordveil.runs.report import form, write_sealed
from wordveil.runs.report_schema import sealed


# One list of warnings.
def drawn_configurations(number: int) -> Iterator[list[str]]:
    rng = seeds.rng(24)
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


@pytest.mark.parametrize("chosen", [*drawn_configurations(12), ["-e", "8"], REFUTED])
def test_screen_json_and_page_give_the_same_warnings(wordveil, vocabulary, notes, tmp_path, chosen):
    common = ["sanitize", notes, "-o", tmp_path / "out.txt", "--yes", "--again", "--vocabulary", vocabulary, *chosen]
    shown = []
    for ending in ("json", "html"):
        answer = wordveil.done(*common, "--report", tmp_path / f"r.{ending}", "--explain")
        shown.append([line.removeprefix("warning: ") for line in answer.err.splitlines() if line.startswith("warning")])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    boxes = re.findall(r'<p class="warning"><strong>Warning:</strong> (.*?)\.</p>', page)
    assert facts_of(tmp_path / "r.json")["warnings"] == shown[0] == shown[1] == [html.unescape(line) for line in boxes]
    four = wordveil("sanitize", notes, "--yes", "--vocabulary", vocabulary, *chosen).err.splitlines()
    four = [line for line in four if not line.startswith("certifying the rate on this vocabulary; to keep it for")]
    assert [line.partition(":")[0] for line in four[:3]] == ["released", "guarantee", "passed unchanged"]
    strongest = f"warning: {shown[0][0]} (" if shown[0] else "more: "
    assert (len(four), four[3].startswith(strongest)) == (4, True)
    assert ("1 more warning, " in four[3]) == (len(shown[0]) == 2)
    first = wordveil.done("report", tmp_path / "out.txt", "--verify", tmp_path / "r.html", "--vocabulary", vocabulary)
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
    wordveil("sanitize", rows, "-o", tmp_path / "out.csv", *arguments, "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    fold = html.unescape(re.sub(r"<[^>]+>", "\n", page[page.index("<body>") : page.index("<h2>The promise</h2>")]))
    for said in (
        r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, rows.csv to out.csv",
        "What leaves",
        "unchanged: the columns customer, mail",
        "What stays",
        "Anybody who holds the release",
        "an even guess becomes at most 99.91 % sure",
        "14 nats, the sum over the 2 tokens of the longest text here",
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
        report = wv.sanitize_documents(source, tmp_path / f"out-{size}.txt", sanitizer, settings=settings)
        assert (report.longest, report.tokens) == (23, 143)
    explained = sanitizer.explained(report.longest, longest=True)
    assert "two texts of 23 tokens, as long as the longest one here," in "\n".join(explained.examples)


def test_the_sum_over_the_tokens_of_a_text_is_rounded_up(vocabulary):
    """A product of floats lies below the exact one for about half of these."""
    below = 0
    for epsilon in np.linspace(1.0, 9.0, 25).tolist():
        sanitizer = wv.Sanitizer(wv.load_embeddings(vocabulary), wv.NeighbourResponse(epsilon=epsilon))
        each, exact = sanitizer.guarantee.epsilon, 7 * Fraction(sanitizer.guarantee.epsilon)
        assert Fraction(sanitizer.explained(7).text.epsilon) >= exact
        below += Fraction(7 * each) < exact
    assert below


def test_the_longest_text_may_be_too_long_for_a_list(vocabulary):
    sanitizer = wv.Sanitizer(wv.load_embeddings(vocabulary), wv.NeighbourResponse(epsilon=8.0))
    assert sanitizer.explained(10**13).text_loss == 8e13


def test_examples_are_words_that_people_know():
    examples = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse()).explained().examples
    assert [re.findall("'(.+?)'", line) for line in examples[:2]] == [["diabetes", "asthma"], ["diabetes", "football"]]


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
    rng = seeds.rng(1)
    for value in [*rng.uniform(0.001, 50, 2000), *(np.round(rng.uniform(0.001, 50, 2000), 3) * (1 - 1e-15)), 8.0000001]:
        claimed = wv.LocalDP(epsilon=float(value), standing=wv.Standing.PROVED).epsilon
        assert value <= claimed <= value * (1 + 1e-9)
    claim = wv.LocalDP(epsilon=8.0000001, standing=wv.Standing.PROVED)
    assert claim.epsilon == 8.0000001
    assert "exp(8.001)" in claim.sentence()


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
    assert "must not end in .pub" in wordveil.refused("report", "--new-key", tmp_path / "third.pub")
    (tmp_path / "other.txt").write_text("my notes")
    assert "must be a new file" in wordveil.refused("report", "--new-key", tmp_path / "other.txt")
    pair = key.read_bytes(), key.with_suffix(".pub").read_bytes()
    key.with_suffix(".pub").unlink()  # as after a kill between the two
    wordveil.done("report", "--new-key", key)
    assert pair == (key.read_bytes(), key.with_suffix(".pub").read_bytes())
    (tmp_path / "html.txt").write_text("other")
    before = (tmp_path / "r.html").read_bytes()
    assert released("html", "--sign", key).status == 1
    assert (tmp_path / "r.html").read_bytes() == before, "what does not hold is not signed"


def test_a_key_that_could_not_be_written_leaves_nothing(wordveil, tmp_path, monkeypatch):
    monkeypatch.setattr(report_signatures, "sync", lambda file: file.fileno() and full())
    assert "No space" in wordveil.refused("report", "--new-key", tmp_path / "k.key")
    assert not list(tmp_path.iterdir())


def full():
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_measurement_replaces_no_file_of_somebody_else(wordveil, tmp_path):
    few = ["audit", "-m", "laplace", "-e", 1, "--dimensions", 2, "--samples", 200, "--pairs", 1, "--report"]
    for name in ("r.json", "r.html"):
        for _ in range(2):  # its own is replaced
            wordveil.done(*few, name)
        (tmp_path / name).write_text('{"rows": "private"}')
        assert "was left alone" in wordveil.refused(*few, name)
        assert (tmp_path / name).read_text() == '{"rows": "private"}'
    (tmp_path / "d.json").mkdir()
    (tmp_path / "l.json").symlink_to(tmp_path / "nowhere" / "l.json")
    assert "is a folder or a pipe" in wordveil.refused(*few, "d.json")
    assert "must lie in an existing directory" in wordveil.refused(*few, "l.json")
    (tmp_path / "o.json").symlink_to(tmp_path / "o.json")
    assert "leads nowhere" in wordveil.refused(*few, "o.json")


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


def test_a_key_replaces_no_link_and_an_unsigned_report_says_so(wordveil, released, tmp_path):
    (tmp_path / "k.pub").symlink_to(tmp_path / "absent")
    assert "must be a new file" in wordveil.refused("report --new-key k")
    assert not (tmp_path / "k").exists()
    assert not (tmp_path / "absent").exists()
    assert report_command.UNSIGNED in released().out
