"""Released files read back: only what a report vouches for, in its own format, resumable, the promise unchanged."""

import json
import os
from collections import Counter

import pytest
from tests.denoising.conftest import few, prior, sentences  # noqa: F401 (fixtures)
from tests.tables import read_rows, write_rows

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import ChecksumError, DataFormatError, DocumentFormatError, ParameterError
from wordveil.runs import denoise as denoising_runs
from wordveil.runs.denoise import DenoisedTexts, ReleaseReport, denoise_documents
from wordveil.runs.evidence import Evidence
from wordveil.runs.report import read_and_attacked, write_facts, write_report

MECHANISM = wv.SanText(epsilon=2.5, metric=wv.Angular())
OPTIONS = wv.TextOptions(unknown="typed", public_words=frozenset({"not"}))
ORIGINALS = sentences(60, seed=4)


@pytest.fixture
def folder(tmp_path, few):  # noqa: F811
    """A private file, what was released of it, and the report."""
    records = [{"id": i, "text": text, "note": "kept"} for i, text in enumerate(ORIGINALS)]
    write_rows(tmp_path / "in.jsonl", records)
    source = seeds.source(1)
    sanitizer = wv.Sanitizer(few, MECHANISM, options=OPTIONS, source=source)
    settings = DocumentSettings(columns=("text",), keep=("id",))
    report = wv.sanitize_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", sanitizer, settings=settings)
    write_report(report, tmp_path / "report.json", Evidence.of_facts(sanitizer, report.as_dict()))
    return tmp_path


@pytest.fixture
def denoiser(few, prior):  # noqa: F811
    return wv.Denoiser(few, MECHANISM, options=OPTIONS, prior=prior, public=sentences(60, seed=6), least=0.0)


def denoised(folder, denoiser, **choices):
    report = ReleaseReport.load(folder / "report.json")
    return denoise_documents(folder / "out.jsonl", report, folder / "read.jsonl", denoiser, **choices)


def test_a_released_file_is_read_in_its_own_format_and_keeps_its_promise(folder, denoiser):
    told = denoised(folder, denoiser, deliver=lambda said: write_facts(said, folder / "read.json"))
    texts = [row["text"] for row in read_rows(folder / "out.jsonl")]
    assert [row["text"] for row in read_rows(folder / "read.jsonl")] == [own.text for own in denoiser.read(texts)]
    assert [set(row) for row in read_rows(folder / "read.jsonl")] == [{"id", "text"}] * len(texts)
    before, after = (json.loads((folder / name).read_text()) for name in ("report.json", "read.json"))
    assert after == json.loads(json.dumps(told))
    for name in ("guarantee", "disclosed", "provenance", "options", "settings", "tokens", "documents"):
        assert after[name] == before[name]
    said = after["denoised"]
    passed = sum(text.lower().replace(".", " ").replace(",", " ").split().count("not") for text in texts)
    assert before["tokens"] - passed <= said["words"] <= before["tokens"]  # where it reads "not", that may be public
    assert 0 < said["attack"] < 1
    assert said["on_public_text"]["named"] > said["on_public_text"]["random"] > 0
    attack = [line for line in read_and_attacked(after) if line.startswith("attack: ")]
    assert f"name {said['attack']:.2f} of its words" in attack[0]
    write_facts(after, folder / "read.html")
    assert attack[0].removesuffix(".") in (folder / "read.html").read_text()


def test_what_was_not_released_is_refused_before_anything_is_written(folder, denoiser):
    report = ReleaseReport.load(folder / "report.json")
    (folder / "changed.jsonl").write_text((folder / "out.jsonl").read_text().replace("dog", "cat", 1))
    for name in ("in.jsonl", "changed.jsonl", "absent.jsonl"):
        with pytest.raises(ChecksumError, match="is not the release that the report speaks of"):
            denoise_documents(folder / name, report, folder / "read.jsonl", denoiser)
    assert not (folder / "read.jsonl").exists()


def test_what_takes_the_place_of_a_release_while_it_is_read_is_not_denoised(folder, denoiser):
    def replaced(*_):
        (folder / "in.jsonl").replace(folder / "out.jsonl")

    with pytest.raises(ChecksumError, match="is not the release that the report speaks of"):
        denoised(folder, denoiser, progress=replaced)
    assert not (folder / "read.jsonl").exists()


@pytest.mark.parametrize("in_place", [True, False])
def test_an_original_that_lies_there_between_two_looks_at_a_release_is_not_denoised(
    folder, denoiser, monkeypatch, in_place
):
    release, original, checks = folder / "out.jsonl", (folder / "in.jsonl").read_bytes(), []
    check, released, times = ReleaseReport.check, release.read_bytes(), release.stat()

    def put(content):
        if in_place:
            release.write_bytes(content)
            os.utime(release, ns=(times.st_atime_ns, times.st_mtime_ns))
        else:
            (folder / "other").write_bytes(content)
            (folder / "other").replace(release)

    def swapped(self, path):
        put(released)
        check(self, path)
        checks.append(path)
        put(original.ljust(len(released))[: len(released)] if in_place else original)

    monkeypatch.setattr(ReleaseReport, "check", swapped)
    with pytest.raises(DocumentFormatError, match="was written to"):
        denoised(folder, denoiser, progress=lambda *_: put(released))
    assert len(checks) >= 2
    assert not (folder / "read.jsonl").exists()


def test_the_check_is_what_keeps_an_original_out(folder, denoiser, monkeypatch):
    """A twin without it reads the original and writes what it finds there."""
    monkeypatch.setattr(ReleaseReport, "check", lambda self, release: None)
    report = ReleaseReport.load(folder / "report.json")
    denoise_documents(folder / "in.jsonl", report, folder / "read.jsonl", denoiser)
    assert len(read_rows(folder / "read.jsonl")) == len(ORIGINALS)


def test_a_denoised_file_is_no_release(folder, denoiser):
    denoised(folder, denoiser, deliver=lambda said: write_facts(said, folder / "read.json"))
    with pytest.raises(DataFormatError, match="denoised already"):
        ReleaseReport.load(folder / "read.json")
    for text in ("", "[]", "{}", '{"outputs": []}'):
        (folder / "bad.json").write_text(text)
        with pytest.raises(DataFormatError, match="no report of `wordveil sanitize`"):
            ReleaseReport.load(folder / "bad.json")


def test_a_report_rebuilds_its_mechanism_and_runs_no_other_code(folder):
    report = ReleaseReport.load(folder / "report.json")
    assert (report.mechanism(), report.options) == (MECHANISM, OPTIONS)
    facts = json.loads((folder / "report.json").read_text())
    others = (
        "SanText(epsilon=2.5)", "Other(epsilon=1.0)", "__import__('os').getcwd()", "print('x')", "sanitize(texts='x')",
        "SanText(2.5)", "SanText(**{'epsilon': 2.5})", "SanText(epsilon=2.5, metric='sha256:00', more=1)", "1 +",
        "load_embeddings()",
    )  # fmt: skip
    for said in others:
        facts["provenance"]["mechanism"] = said
        (folder / "other.json").write_text(json.dumps(facts))
        with pytest.raises(ParameterError, match="does not say all of the mechanism"):
            ReleaseReport.load(folder / "other.json").mechanism()


@pytest.mark.parametrize("options", [
    wv.TextOptions(unknown="mask", casing="shape", per="document", markup="html"),
    wv.TextOptions(unknown="typed", numbers="metric",
        grids=(wv.NumberGrid(kind="number", low=0, high=9, step=1, epsilon=1.0),)),
])  # fmt: skip
def test_the_options_of_a_release_are_read_back(folder, few, options):  # noqa: F811
    sanitizer = wv.Sanitizer(few, MECHANISM, options=options, source=seeds.source(1))
    settings = DocumentSettings(columns=("text",), keep_others=True)
    report = wv.sanitize_documents(folder / "in.jsonl", folder / "again.jsonl", sanitizer, settings=settings)
    write_report(report, folder / "again.json", Evidence.of_facts(sanitizer, report.as_dict()))
    assert ReleaseReport.load(folder / "again.json").options == options


def test_an_interrupted_run_is_resumed_to_the_same_bytes_and_counts(folder, denoiser, monkeypatch):
    monkeypatch.setattr(denoising_runs, "BLOCK_CHARACTERS", 400)
    whole = denoised(folder, denoiser)
    expected = (folder / "read.jsonl").read_bytes()
    (folder / "read.jsonl").unlink()
    counted, honest = [0], DenoisedTexts.of

    def breaking(self, texts):
        counted[0] += 1
        if counted[0] == 4:
            raise KeyboardInterrupt
        return honest(self, texts)

    monkeypatch.setattr(DenoisedTexts, "of", breaking)
    with pytest.raises(KeyboardInterrupt):
        denoised(folder, denoiser)
    assert not (folder / "read.jsonl").exists()
    notices = []
    again = denoised(folder, denoiser, resume=True, notice=notices.append)
    assert (folder / "read.jsonl").read_bytes() == expected
    assert again["denoised"] == whole["denoised"]
    assert any("going on" in line for line in notices)
    assert counted[0] > 5


def test_a_sanitizer_s_run_writes_what_the_denoiser_reads_of_it(folder, few, denoiser):  # noqa: F811
    sanitizer = wv.Sanitizer(few, MECHANISM, options=OPTIONS, source=seeds.source(1))
    settings = DocumentSettings(columns=("text",), keep=("id",))
    report = wv.sanitize_documents(
        folder / "in.jsonl", folder / "both.jsonl", sanitizer, settings=settings,
        afterwards=DenoisedTexts(denoiser=denoiser),
    )  # fmt: skip
    denoised(folder, denoiser)
    assert (folder / "both.jsonl").read_bytes() == (folder / "read.jsonl").read_bytes()
    assert report.guarantee == sanitizer.guarantee
    assert report.denoised is not None
    assert 0.9 * report.tokens < report.denoised["words"] <= report.tokens
    assert read_and_attacked(vars(report))


def test_texts_that_are_refused_are_counted(folder, few, prior, denoiser):  # noqa: F811
    least = denoiser.calibration.named - 0.01
    strict = wv.Denoiser(few, MECHANISM, options=OPTIONS, prior=prior, public=sentences(60, seed=6), least=least)
    told = denoised(folder, strict)
    refused = told["denoised"]["refused_texts"]
    before, after = (Counter(row["text"] for row in read_rows(folder / name)) for name in ("out.jsonl", "read.jsonl"))
    assert 0 < refused <= (before & after).total()
    assert f"left as released: {refused:,} texts" in read_and_attacked(told)[-1]
