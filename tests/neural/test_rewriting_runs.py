"""Files through a rewriter: atomic, resumable with the same noise, in bounded memory, passes counted."""

from __future__ import annotations

import json
import stat
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import seeds

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import sentences, small_table  # noqa: E402
from tests.beside import hidden, names  # noqa: E402
from tests.neural.gaussian_passes import epsilon_of  # noqa: E402

from wordveil.documents import DocumentSettings  # noqa: E402
from wordveil.errors import DataFormatError, DocumentFormatError, GuaranteeError, ParameterError, ResumeError  # noqa: E402
from wordveil.files.journal import is_resumable  # noqa: E402
from wordveil.files.run_key import (  # noqa: E402
    load_run_key,
    run_key_path,
    run_source,
)
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian  # noqa: E402
from wordveil.randomness import RandomSource  # noqa: E402
from wordveil_lab.neural.models import Rewriter  # noqa: E402
from wordveil_lab.neural.pass_records import PassRecord  # noqa: E402
from wordveil_lab.neural.private_embedding import PrivateEmbedding  # noqa: E402
from wordveil_lab.neural.rewriting import TextRewriter  # noqa: E402
from wordveil_lab.neural.rewriting_runs import rewrite_documents  # noqa: E402

MECHANISM = ClippedGaussian(epsilon=1.0)
SMALL_BLOCKS = DocumentSettings(columns=("text",), keep_others=True, block_characters=400)


def rewriter(source=None, mechanism=MECHANISM):
    """An untrained rewriter, the same every time: its words follow from the noisy vectors alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seeds.seed(1))
        model = Rewriter(PrivateEmbedding(small_table(), mechanism, source=source), hidden=8, dropout=0.0)
    return TextRewriter(model)


@pytest.fixture
def private(tmp_path):
    path = tmp_path / "private.jsonl"
    lines = [json.dumps({"n": i, "text": f"{text} {'here ' * (i // 24)}"}) for i, (text, _) in enumerate(sentences(60))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def run(private, out, *, key=None, resume=False, stop_after=None, passes=None, **changes):
    source = run_source(out, resume=resume) if key is None else RandomSource(key)
    blocks = []

    def progress(*_):
        blocks.append(1)
        if len(blocks) == stop_after:
            raise KeyboardInterrupt

    model = rewriter(source, **changes)
    options = {"settings": SMALL_BLOCKS, "passes": passes, "resume": resume, "progress": progress}
    return rewrite_documents(private, str(out), model, **options)


def leftovers(folder):
    return hidden(folder)


def test_a_resumed_run_writes_what_the_whole_run_would_have_written(private, tmp_path):
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(private, out, stop_after=3)
    assert not out.exists()
    assert leftovers(tmp_path) == [f".out.jsonl.{end}" for end in ("journal", "key", "partial", "passes")]
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in leftovers(tmp_path)]
    assert modes == [0o600, 0o600, 0o700, 0o600]
    key = load_run_key(run_key_path(out))
    report = run(private, out, resume=True)
    assert report.summary.documents == 60
    assert 0 < report.summary.resumed_documents < 60
    assert leftovers(tmp_path) == []
    complete = run(private, whole, key=key)
    assert whole.read_text() == out.read_text()
    assert (complete.tokens, complete.passes) == (report.tokens, report.passes)


def test_a_new_run_draws_afresh(private, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        run(private, tmp_path / name)
    assert (tmp_path / "a.jsonl").read_text() != (tmp_path / "b.jsonl").read_text()


def test_a_rewriter_serves_several_runs(private, tmp_path):
    model = rewriter()
    for name in ("a.jsonl", "b.jsonl"):
        report = rewrite_documents(private, str(tmp_path / name), model, settings=SMALL_BLOCKS)
        assert report.passes == 2  # no line of the file is there more often
        model.rewrite(["the film was sad"])
        assert model.passes.largest == 1


def test_another_model_does_not_resume(private, tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(private, out, stop_after=3)
    with pytest.raises(ResumeError, match="differs in: model"):
        run(private, out, resume=True, mechanism=ClippedGaussian(epsilon=2.0))


def test_a_run_begun_with_a_test_source_does_not_become_a_proved_one(private, tmp_path):
    out, blocks = tmp_path / "out.jsonl", []

    def stop(*_):
        blocks.append(1)
        if len(blocks) == 3:
            raise KeyboardInterrupt

    model = rewriter(seeds.source(42))
    with pytest.raises(KeyboardInterrupt):
        rewrite_documents(private, str(out), model, settings=SMALL_BLOCKS, progress=stop)
    with pytest.raises(ResumeError, match="differs in: test source"):
        run(private, out, resume=True)


def test_malformed_input_leaves_nothing(private, tmp_path):
    with open(private, "a", encoding="utf-8") as stream:
        stream.write("{broken\n")
    with pytest.raises(DocumentFormatError):
        run(private, tmp_path / "out.jsonl")
    assert names(tmp_path) == ["private.jsonl"]


def test_a_run_that_cannot_begin_leaves_nothing(private, tmp_path):
    for source, out, message in (
        (str(tmp_path / "absent.jsonl"), tmp_path / "out.jsonl", "no such file"),
        (private, tmp_path / "out.csv", "stands for csv"),
    ):
        with pytest.raises((DocumentFormatError, ParameterError), match=message):
            run(source, out)
    assert names(tmp_path) == ["private.jsonl"]


def test_passes_over_one_text_add_up_over_runs(tmp_path):
    private = tmp_path / "private.jsonl"
    private.write_text('{"text": "the film was sad"}\n{"text": "the food was poor"}\n{"text": "!"}\n', encoding="utf-8")
    for number in (1, 2, 3):
        report = run(str(private), tmp_path / f"{number}.jsonl", passes=PassRecord(tmp_path / "record"))
        assert report.passes == number
        assert report.composed.epsilon == pytest.approx(epsilon_of(number, epsilon=1.0))
    assert stat.S_IMODE((tmp_path / "record").stat().st_mode) == 0o600
    private.write_text('{"text": "a new text"}\n{"text": "a new text"}\n', encoding="utf-8")
    assert run(str(private), tmp_path / "4.jsonl").passes == 2
    assert run(str(private), tmp_path / "5.jsonl", passes=PassRecord(tmp_path / "record")).passes == 3


def test_a_resumed_run_counts_no_pass_twice(private, tmp_path):
    out, record = tmp_path / "out.jsonl", tmp_path / "record"
    with pytest.raises(KeyboardInterrupt):
        run(private, out, stop_after=3, passes=PassRecord(record))
    assert run(private, out, resume=True, passes=PassRecord(record)).passes == run(private, tmp_path / "b.jsonl").passes


def test_a_record_counts_places_not_calls(tmp_path):
    record = PassRecord(tmp_path / "record")
    assert record.largest == 0
    record.count(["a", "b"], [1, 2], promise="p")
    record.count(["a"], [1], promise="p")
    assert record.largest == 1
    record.count(["a"], [3], promise="p")
    assert record.largest == 2
    with pytest.raises(ParameterError, match="must be given as"):
        record.count(None, promise="p")
    record.close()
    assert PassRecord(tmp_path / "record").largest == 2
    held = (tmp_path / "record").read_bytes()
    record = PassRecord(tmp_path / "record")
    record.count(["a private text of some length"], [5], promise="p")
    with pytest.raises(GuaranteeError, match="another promise"):
        record.count(["a"], [6], promise="q")
    record.close()
    assert held != (tmp_path / "record").read_bytes()
    assert b"private text" not in (tmp_path / "record").read_bytes()


def test_a_file_that_is_no_record_is_refused(tmp_path):
    (tmp_path / "record").write_text("not a database, and long enough to be looked at " * 20, encoding="utf-8")
    with pytest.raises(DataFormatError, match="is no record of passes"):
        PassRecord(tmp_path / "record")


def test_a_text_under_its_id_keeps_its_noise_whatever_its_batch():
    source = RandomSource()
    texts = ["the film was sad", "zzz", "the food was here zzz"]
    together = rewriter(source).rewrite(texts, ids=["a", "b", "c"])
    alone = [rewriter(source).rewrite([text], ids=[name])[0] for text, name in zip(texts, "abc", strict=True)]
    assert together == alone
    assert rewriter(source).rewrite(texts * 20, ids=[f"{i}" for i in range(60)])[:3] != together


def test_placed_noise_is_the_mechanisms_for_each_sentence_alone():
    source = seeds.source(3)
    layer = PrivateEmbedding(small_table(), MECHANISM, source=source)
    ids = torch.tensor([[0, 5, -1], [7, -1, -1], [-1, -1, -1], [3, 3, 3]])
    got = layer(ids, nonces=[11, 12, 13, 14]).numpy()
    fitted = MECHANISM.fit(small_table())
    for row, nonce, known in ((0, 11, [0, 5]), (1, 12, [7]), (3, 14, [3, 3, 3])):
        tokens = np.array(known, dtype="<i4").tobytes().decode("latin-1")
        draws = fitted.sample(source.stream(f"{layer.domain}{nonce}", tokens), len(known))
        expected = fitted.randomize(np.asarray(small_table().vectors[known], dtype=np.float64), draws)
        assert np.abs(got[row, : len(known)] - expected).max() <= layer.step / 2
    assert not got[2].any()
    with pytest.raises(ParameterError, match=r"nonces='3 of them' must be one per sentence, 4"):
        layer(ids, nonces=[1, 2, 3])


def test_two_mechanisms_under_one_key_share_no_noise():
    source, other = RandomSource(), ClippedGaussian(epsilon=2.0)
    one, two = rewriter(source), rewriter(source, mechanism=other)
    assert one.model.embedding.domain != two.model.embedding.domain


def test_memory_does_not_grow_with_the_file(tmp_path):
    peaks = []
    for lines in (500, 2000):
        private = tmp_path / f"{lines}.txt"
        private.write_text("".join(f"the film was here {i} sad\n" for i in range(lines)), encoding="utf-8")
        settings = replace(SMALL_BLOCKS, columns=(), block_characters=4_000)
        model = rewriter()
        tracemalloc.start()
        report = rewrite_documents(str(private), str(tmp_path / f"{lines}.out.txt"), model, settings=settings)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert report.summary.documents == lines
    assert peaks[1] < 1.3 * peaks[0]


def test_the_key_is_gone_before_the_output_is_there_and_not_needed_after(private, tmp_path, monkeypatch):
    out, seen = tmp_path / "out.jsonl", []

    def stopping(*given, **named):
        seen.append((run_key_path(out).exists(), is_resumable(out)))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wordveil.pipeline.run.publish", stopping)
        with pytest.raises(KeyboardInterrupt):
            run(private, out)
    assert seen == [(False, True)]
    partial = (tmp_path / ".out.jsonl.partial" / "whole").read_bytes()
    report = run(private, out, resume=True)
    assert out.read_bytes() == partial
    assert (report.summary.documents, report.passes) == (60, 2)
    assert leftovers(tmp_path) == []
