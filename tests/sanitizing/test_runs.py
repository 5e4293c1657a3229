"""Runs over document sets: reports, keys, resume, and bytes that depend on key, input and settings alone."""

import json
import os
import sys

import pytest
from tests.beside import hidden, names
from tests.dying import check_deaths, interrupt_after
from tests.tables import write_rows

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError, ParameterError, ResumeError
from wordveil.files.journal import is_resumable, journal_path
from wordveil.files.run_key import run_key_path, run_source
from wordveil.runs import engine as engine
from wordveil.runs import frame
from wordveil.runs.evidence import Evidence
from wordveil.runs.report import write_report

KEY = seeds.key(16)
MECHANISM = wv.TEM(epsilon=2.0)


@pytest.fixture(scope="module")
def lines(vocabulary):
    """150 documents of 0 to 30 tokens, some of them equal."""
    generator = seeds.rng(5)
    entries = [*vocabulary.words, "Zzyzx", "12.5", "babaq-dadaq"]
    made = [" ".join(entries[i] for i in generator.integers(0, 303, n)) for n in generator.integers(0, 31, 140)]
    return made + ["babaq dadaq fabaq"] * 10


@pytest.fixture
def text_file(tmp_path, lines):
    path = tmp_path / "notes.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def source_of_a_run():
    """The source of a run's own key, which goes with the run, and is known here."""
    source = wv.RandomSource(KEY)
    source.lasts = False
    return source


def sanitizer_for(table, source=None, **options):
    return wv.Sanitizer(
        table, MECHANISM, options=wv.TextOptions(**options), source=source or source_of_a_run(), threads=1
    )


def run(table, path, output, *, block=1 << 20, resume=False, again=False, source=None, progress=None, **settings):
    return wv.sanitize_documents(
        path, output, sanitizer_for(table, source), settings=DocumentSettings(block_characters=block, **settings),
        resume=resume, again=again, progress=progress,
    )  # fmt: skip


def test_a_run_is_the_sanitizer_on_every_record(vocabulary, text_file, lines, tmp_path):
    report = run(vocabulary, text_file, tmp_path / "out.txt")
    sanitizer = sanitizer_for(vocabulary)
    expected = [sanitizer(line, document_id=f"notes.txt:{i}").text for i, line in enumerate(lines)]
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").split("\n")[:-1] == expected
    assert (report.documents, report.files, report.resumed_documents) == (len(lines), 1, 0)
    assert report.tokens == sum(sanitizer(line).tokens for line in lines)


def interrupted(vocabulary, text_file, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(vocabulary, text_file, tmp_path / "out.txt", block=100, progress=interrupt_after(50))
    return tmp_path / "out.txt"


def test_a_resume_with_another_key_and_a_mistyped_start_are_refused_and_keep_everything(
    vocabulary, text_file, tmp_path
):
    output = interrupted(vocabulary, text_file, tmp_path)
    with pytest.raises(ResumeError, match="differs in: run key"):
        run(vocabulary, text_file, output, resume=True, source=wv.RandomSource())
    with pytest.raises(DocumentFormatError, match="no such file"):
        run(vocabulary, tmp_path / "nots.txt", output, source=wv.RandomSource())
    assert run_key_path(output).read_bytes() == KEY
    run(vocabulary, text_file, output, resume=True, source=run_source(output, resume=True))
    run(vocabulary, text_file, tmp_path / "whole.txt")
    assert output.read_bytes() == (tmp_path / "whole.txt").read_bytes()


def test_a_resume_with_other_choices_is_refused(vocabulary, text_file, tmp_path):
    output = interrupted(vocabulary, text_file, tmp_path)
    others = [
        sanitizer_for(vocabulary, unknown="mask", casing="shape"),
        sanitizer_for(vocabulary.without_outputs(["babaq"])),
        sanitizer_for(vocabulary.with_header(casing="cased")),
        wv.Sanitizer(vocabulary, wv.TEM(epsilon=2.5), source=wv.RandomSource(KEY)),
    ]
    facts = [r"options\.casing, options\.unknown", "candidates_checksum", "noise", "mechanism"]
    for other, named in zip(others, facts, strict=True):
        with pytest.raises(ResumeError, match=f"differs in: .*{named}"):
            wv.sanitize_documents(text_file, output, other, settings=DocumentSettings(), resume=True)
    text_file.write_text("changed\n")
    with pytest.raises(ResumeError, match="differs in: input"):
        run(vocabulary, text_file, output, resume=True)


def test_no_key_lies_about_where_a_run_cannot_be_resumed(vocabulary, text_file, tmp_path, monkeypatch):
    seen = []
    kept = engine.save_run_key
    monkeypatch.setattr(engine, "save_run_key", lambda path, key: seen.append(path.name) or kept(path, key))
    run(vocabulary, text_file, os.devnull)
    with pytest.raises(DocumentFormatError, match="no such file"):
        run(vocabulary, tmp_path / "absent.txt", tmp_path / "out.txt")
    with pytest.raises(ParameterError, match="must lie in an existing directory"):
        run(vocabulary, text_file, tmp_path / "nowhere" / "out.txt")
    assert seen == []
    run(vocabulary, text_file, tmp_path / "out.txt")
    (tmp_path / "bad.txt").write_bytes(b"babaq\n" * 99 + b"\xff")
    with pytest.raises(DocumentFormatError, match="line 100"):
        run(vocabulary, tmp_path / "bad.txt", tmp_path / "bad.out", block=50)
    assert seen == [".out.txt.key", ".bad.out.key"]
    assert names(tmp_path) == ["bad.txt", "notes.txt", "out.txt"]


def test_reports_of_runs_without_a_guarantee(vocabulary, text_file, tmp_path):
    source = seeds.source(1)
    report = run(vocabulary, text_file, tmp_path / "out.txt", source=source)
    assert isinstance(report.guarantee, wv.NoGuarantee)
    for name in ("report.html", "report.json"):
        write_report(report, tmp_path / name, Evidence.of_facts(sanitizer_for(vocabulary, source), report.as_dict()))
        assert "no guarantee (refuted)" in (tmp_path / name).read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match=r"report='report.pdf' must end in .json or .html"):
        write_report(report, tmp_path / "report.pdf", Evidence.of_facts(sanitizer_for(vocabulary), report.as_dict()))


def test_the_report_of_a_tree_has_every_file_and_only_counts_those_left_out(vocabulary, tmp_path):
    tree = tmp_path / "in"
    (tree / "deep").mkdir(parents=True)
    (tree / "a.txt").write_text("babaq dadaq\n" * 3)
    (tree / "deep" / "b.txt").write_text("babaq dadaq\n" * 3)
    (tree / "bad.txt").write_bytes(b"babaq \xff\n")
    for name in ("Maria_HIV.pdf", ".Maria_HIV.txt"):
        (tree / name).write_text("babaq\n")
    said: list[str] = []
    report = wv.sanitize_documents(tree, tmp_path / "out", sanitizer_for(vocabulary), notice=said.append)
    assert [file.name for file in report.outputs] == ["a.txt", "deep/b.txt"]
    assert (tmp_path / "out" / "a.txt").read_text() != (tmp_path / "out" / "deep" / "b.txt").read_text()
    assert any("file names" in line for line in report.disclosed)
    assert (report.files, report.skipped_files, report.bad_files, report.tokens) == (2, 2, 1, 12)
    assert "Maria" not in json.dumps(report.as_dict())
    assert "bad.txt" not in json.dumps(report.as_dict())
    assert "Maria_HIV.pdf" in " ".join(said)
    assert ".Maria_HIV.txt" in " ".join(said)
    assert [file.name for file in report.with_inputs(tree).inputs] == ["a.txt", "bad.txt", "deep/b.txt"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("law", ["sanitizer", "redactor"])
def test_a_run_killed_at_any_step_leaves_no_key_beside_its_output_and_can_be_continued(
    vocabulary, text_file, tmp_path, law
):
    output = tmp_path / "place" / "out.txt"
    output.parent.mkdir()
    if law == "redactor":
        text_file.write_text("She saw Maria at home, and he went away.\n" * 200)

    def work(death, *, resume):
        death.around_the_disk()
        going_on, has_key = resume and is_resumable(output), run_key_path(output).exists()
        source = run_source(output, resume=True) if going_on else source_of_a_run()
        assert not has_key or source.export_key() == KEY
        if law == "sanitizer":
            run(vocabulary, text_file, output, block=7000, resume=resume, source=source)
        else:
            redactor = wv.Redactor(law="surrogate", source=source)
            settings = DocumentSettings(block_characters=7000)
            wv.redact_documents(text_file, output, redactor, settings=settings, resume=resume)

    found = check_deaths(work, output, every=3)
    outcomes = {(each.has_output, each.resumable, each.has_key) for each in found}
    assert {(False, True, True), (False, True, False), (True, True, False), (True, False, False)} <= outcomes


def failing(report):
    assert report.outputs
    raise OSError(28, "No space left on device")


def test_a_run_whose_report_fails_is_not_released_again_by_resuming(vocabulary, text_file, tmp_path):
    tree = tmp_path / "in"
    tree.mkdir()
    (tree / "a.txt").write_text(text_file.read_text())
    write_rows(tmp_path / "in.parquet", {"t": text_file.read_text().splitlines()})
    for source, output in (
        (text_file, tmp_path / "out.txt"),
        (tree, tmp_path / "out"),
        (tmp_path / "in.parquet", tmp_path / "out.parquet"),
    ):
        settings = DocumentSettings(columns=("t",) if source.suffix == ".parquet" else ())
        written, reports, said = [], [], []
        for deliver in (failing, failing, reports.append):
            sanitizer = sanitizer_for(vocabulary, run_source(output, resume=True))
            options = {"settings": settings, "resume": True, "notice": said.append}
            if deliver is failing:
                with pytest.raises(OSError, match="add --resume"):
                    wv.sanitize_documents(source, output, sanitizer, deliver=deliver, **options)
                assert hidden(tmp_path) == [f".{output.name}.journal"]
            else:
                wv.sanitize_documents(source, output, sanitizer, deliver=deliver, **options)
            written.append([p.read_bytes() for p in (output.iterdir() if output.is_dir() else [output])])
        assert written[0] == written[1] == written[2]
        assert said[1:] == ["the output of the interrupted run is complete: nothing is released anew."] * 2
        (report,) = reports
        assert report.documents == report.resumed_documents == 150
        assert report.tokens > 1000
        assert hidden(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="two runs of one output are not noticed there")
def test_no_other_run_writes_an_output_before_all_is_written_that_speaks_of_it(vocabulary, text_file, tmp_path):
    """A report of epsilon 1 could speak of what a run of epsilon 13 wrote while the first one stood still."""
    other, output = tmp_path / "other.txt", tmp_path / "out.txt"
    other.write_text("alpha beta\n")

    def meanwhile(report):
        with pytest.raises(ParameterError, match="is being written by another run"):
            wv.sanitize_documents(other, output, sanitizer_for(vocabulary, run_source(output)), again=True)
        with output.open("a") as file:
            file.write("what nobody released\n")

    wv.sanitize_documents(text_file, output, sanitizer_for(vocabulary, run_source(output)), deliver=meanwhile)
    with pytest.raises(ResumeError, match="is not what"):
        wv.sanitize_documents(text_file, output, sanitizer_for(vocabulary, run_source(output)), resume=True)
    assert hidden(tmp_path) == []


def test_what_is_written_over_while_its_report_is_made_again_is_not_reported_on(
    vocabulary, text_file, tmp_path, monkeypatch
):
    output, run_documents = tmp_path / "out.txt", frame.run_documents

    def then_another(*given, **how):
        summary = run_documents(*given, **how)
        output.write_text("another's\n")
        return summary

    wv.sanitize_documents(text_file, output, sanitizer_for(vocabulary, run_source(output)))
    again = wv.sanitize_documents(text_file, output, sanitizer_for(vocabulary, run_source(output)), resume=True)
    assert again.documents == 150
    monkeypatch.setattr(frame, "run_documents", then_another)
    with pytest.raises(ResumeError, match="was written over while its report was made"):
        wv.sanitize_documents(text_file, output, sanitizer_for(vocabulary, run_source(output)), resume=True)


def test_a_second_run_leaves_the_key_of_the_first(vocabulary, text_file, tmp_path):
    output = tmp_path / "out.txt"
    refused = []

    def second(done, total, documents, tokens):
        key, journal = run_key_path(output).read_bytes(), journal_path(output).read_bytes()
        for resume in (False, True):
            with pytest.raises(ParameterError, match="is being written by another run") as caught:
                run(vocabulary, text_file, output, resume=resume)
            refused.append(str(caught.value))
        assert run_key_path(output).read_bytes() == key == KEY
        assert journal_path(output).read_bytes() == journal, "the journal of a living run is left alone"

    run(vocabulary, text_file, output, block=500, progress=second)
    assert refused
    run(vocabulary, text_file, tmp_path / "whole.txt")
    assert output.read_bytes() == (tmp_path / "whole.txt").read_bytes()
