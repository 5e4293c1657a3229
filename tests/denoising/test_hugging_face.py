"""Models of Hugging Face, made and trained here: whole words against sums piece by piece, and what they make better."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.denoising.conftest import WORDS, sentences

import seeds
from wordveil.denoising.context import Speller
from wordveil.denoising.hugging_face import load_hugging_face
from wordveil.denoising.reading import PAUSE, STOP
from wordveil.errors import MissingExtraError, ParameterError

torch = pytest.importorskip("torch", reason="the extra `priors` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `priors` is not installed")

pytestmark = pytest.mark.slow
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "the", "a", "do", "##g", "c", "##at", "bird", "r",
          "##un", "##s", "sleep", "sing", "and", "not", "here", "there", "x"]  # fmt: skip
STEPS, SHORT = 150, {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def tokenizer():
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    numbers = {piece: i for i, piece in enumerate(PIECES)}
    made = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    special = [(name, numbers[name]) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    names = {f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "CLS", "SEP", "PAD", "MASK")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="[CLS]", **names)


def trained(kind):
    """A model of the made-up grammar."""
    torch.manual_seed(seeds.seed(0))
    torch.set_num_threads(1)
    if kind == "masked":
        config = transformers.BertConfig(
            vocab_size=len(PIECES), intermediate_size=64, max_position_embeddings=64, **SHORT
        )
        model = transformers.BertForMaskedLM(config)
    else:
        sizes = {"vocab_size": len(PIECES), "n_positions": 64, "n_embd": 32, "n_layer": 1, "n_head": 2}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=2, eos_token_id=3))
    pieces, mask = tokenizer(), PIECES.index("[MASK]")
    ids = [torch.tensor(pieces(text)["input_ids"]) for text in sentences(400)]
    ids = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
    adam = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(STEPS):
        given = ids[torch.randint(len(ids), (32,))]
        wanted = given.masked_fill(given == 0, -100)
        if kind == "masked":
            hidden = (torch.rand(given.shape) < 0.3) & (given > 4)
            given, wanted = given.masked_fill(hidden, mask), wanted.masked_fill(~hidden, -100)
        loss = model(input_ids=given, attention_mask=(given != 0).long(), labels=wanted).loss
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model.eval()


@pytest.fixture(scope="module", params=["masked", "causal"])
def model(request, tmp_path_factory, few):
    """Kind, model and folder."""
    folder = tmp_path_factory.mktemp(request.param)
    made = trained(request.param)
    made.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return request.param, made, folder


@pytest.fixture(scope="module")
def speller(few):
    shares = np.arange(1, len(few) + 1, dtype=np.float32)
    return Speller(few.words, shares / shares.sum())


def spoken(few, words):
    stop = len(few) + STOP
    inner = [len(few) + PAUSE if word == "," else few.id(word) for word in words.split()]
    return np.array([stop, *inner, stop], np.int32)


def pieces_of(word):
    return tokenizer()(word, add_special_tokens=False)["input_ids"]


def log(model, ids, place, token):
    with torch.no_grad():
        return float(model(input_ids=torch.tensor([ids])).logits[0, place].log_softmax(-1)[token])


def expected(kind, made, speller, words, place, word):
    """The score of one word in the plainest way."""
    if kind == "causal":
        ids = tokenizer()(" ".join([*words[:place], word, *words[place + 1 :]]) + ".")["input_ids"]
        return sum(log(made, ids[: i + 1], i, ids[i + 1]) for i in range(len(ids) - 1))
    own, mask = pieces_of(word), PIECES.index("[MASK]")
    before, after = pieces_of(" ".join(words[:place])), pieces_of(" ".join(words[place + 1 :]) + ".")
    total = 0.0
    for j, piece in enumerate(own):
        row = [2, *before, *own[:j], *[mask] * (len(own) - j), *after, 3]
        total += log(made, row, 1 + len(before) + j, piece)
    alike = [share for other, share in zip(WORDS, speller.frequency, strict=True) if len(pieces_of(other)) == len(own)]
    return total + np.log(sum(alike))


def test_whole_words_are_scored_however_many_pieces_spell_them(model, few, speller):
    kind, made, folder = model
    own = load_hugging_face(str(folder), speller)
    words = ["the", "dog", "runs", "and", "not", "here"]
    places, candidates = [2, 3, 4], [["dog", "cat", "bird"], ["runs", "sleeps", "not"], ["and", "dog", "a"]]
    given = np.array([few.ids(some) for some in candidates])
    found = own.scores(spoken(few, " ".join(words)), np.array(places), given)
    for row, place, some in zip(found, places, candidates, strict=True):
        told = [expected(kind, made, speller, words, place - 1, word) for word in some]
        assert row == pytest.approx(told, abs=1e-3)
        assert len({len(pieces_of(word)) for word in some}) > 1


def test_it_knows_the_grammar_and_answers_each_sentence_alone(model, few, speller):
    own = load_hugging_face(str(model[2]), speller)
    nouns = few.ids(["dog", "cat", "bird"])
    table = []
    for verb, place in (("runs", "here"), ("sleeps", "there"), ("sings", "here")):
        sentence = spoken(few, f"the dog {verb} , and not {place}")
        table.append(own.scores(sentence, np.array([2]), nouns[None])[0])
        assert np.array_equal(table[-1], own.scores(sentence, np.array([2]), nouns[None])[0])
    # Each noun is likelier beside its own verb than beside the others.
    assert np.trace(table) > np.sum(table) / 3 + 1


def test_the_checksum_is_that_of_the_weights_and_the_tokenizer(model, tmp_path, speller):
    _, made, folder = model
    own, again = (load_hugging_face(str(folder), speller).checksum for _ in range(2))
    assert own == again
    with torch.no_grad():
        first = next(made.parameters())
        first[0, 0] += 1
        made.save_pretrained(tmp_path)
        first[0, 0] -= 1
    tokenizer().save_pretrained(tmp_path)
    assert load_hugging_face(str(tmp_path), speller).checksum != own


def test_what_is_no_such_model_is_refused_in_words(few, tmp_path, speller, monkeypatch):
    with pytest.raises(ParameterError, match=r"must be a folder with a model's config\.json; nothing is downloaded"):
        load_hugging_face("bert-base-uncased", speller)
    transformers.BertModel(transformers.BertConfig(vocab_size=24, intermediate_size=8, **SHORT)).save_pretrained(
        tmp_path
    )
    with pytest.raises(ParameterError, match="must be a masked or a causal language model"):
        load_hugging_face(str(tmp_path), speller)
    ran = tmp_path / "ran"
    (tmp_path / "config.json").write_text('{"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}')
    (tmp_path / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Config: ...\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ParameterError, match="must be a model of a kind that transformers knows"):
        load_hugging_face(str(tmp_path), speller)
    assert not ran.exists()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wordveil\[priors\]'"):
        load_hugging_face(str(tmp_path), speller)
