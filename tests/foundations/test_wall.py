"""Private values where released ones belong do not type-check; released ones do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("mypy")  # one run for all of them
START = """
from wordveil.arrays import PrivateIds, PrivateText, PrivateVectors, ReleasedIds, ReleasedText, ReleasedVectors
from wordveil.arrays import write_ids
from wordveil.decoding.nearest import Nearest
from wordveil.denoising.denoiser import Denoiser
from wordveil.mechanisms.multivariate_laplace import FittedMultivariateLaplace
from wordveil.mechanisms.base import WordRandomizer
from wordveil.runs.vectors.grid import round_to_grid
from wordveil.randomness import RandomSource
from wordveil.text.writing import Writer
from wordveil.text.encoding import EncodedBatch, Encoder
from wordveil.vocabulary.table import Embeddings

def step(
    encoder: Encoder, writer: Writer, embeddings: Embeddings, texts: list[PrivateText], vectors: PrivateVectors,
    words: WordRandomizer, noise: FittedMultivariateLaplace, source: RandomSource, denoiser: Denoiser,
) -> object:
    (batch,) = encoder.encode_parts(texts)
"""
THROUGH = {
    "ids never randomized": "return writer.write(batch, batch.ids)",
    "vectors without noise": "return Nearest().fit(embeddings).decode(vectors, ())",
    "vectors of private ids": "return Nearest().fit(embeddings).decode(embeddings.vectors[batch.ids], ())",
    "a private text as a released one": "texts_out: list[ReleasedText] = texts\n    return texts_out",
    "a private text to denoise": "return denoiser.read(texts)",
    "released ids as private ones": "return words.randomize(words.release(batch.ids, source), ())",
    "typed tokens never drawn": "write_ids(words.release(batch.ids, source), slice(0), batch.ids)\n    return writer",
    "vectors rounded without noise": "return round_to_grid(vectors, 1.0, 'float32')",
}
SWAPPED = {
    "typed": ("mechanisms/wrappers", "self.values(codes, words[typed])", "codes"),
    "stand_ins": (
        "mechanisms/wrappers",
        "self.randomizer.randomize(placed, tuple(inside), threads=threads, progress=progress)",
        "placed",
    ),
    "decoded": (
        "decoding/decoded",
        "self.randomizer.randomize(np.asarray(self.embeddings.vectors[ids]), draws[:kept])",
        "np.asarray(self.embeddings.vectors[ids])",
    ),
    "releasing": ("runs/vectors/releasing", "randomizer.points(rows, draws, self.grid)", "rows"),
}
"""Of what draws: its module, the draw, and the private codes or vectors to put in its place."""
HOLDS = (
    "writer.write(batch, words.release(batch.ids, source))\n"
    "    noisy = noise.release(vectors, source)\n"
    "    round_to_grid(noisy, 1.0, 'float32')\n"
    "    denoiser.read(writer.write(batch, words.release(batch.ids, source)))\n"
    "    write_ids(words.release(batch.ids, source), slice(0), words.release(batch.ids, source))\n"
    "    return writer.write(batch, Nearest().fit(embeddings).decode(noisy, ()))"
)


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy says of each step, as strict as the package is checked: its errors by file, of one run over all."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder = tmp_path_factory.mktemp("steps")
    steps = {"holds": HOLDS, **{name.replace(" ", "_"): line for name, line in THROUGH.items()}}
    texts = {name: f"{START}    {line}\n" for name, line in steps.items()}
    for name, (module, draw, codes) in SWAPPED.items():
        text = (ROOT / f"src/wordveil/{module}.py").read_text(encoding="utf-8")
        assert text.count(draw) == 1
        texts |= {f"kept_{name}": text, f"swapped_{name}": text.replace(draw, codes)}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", "made"]
        + [f"{name}.py" for name in texts],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    lines = run.stdout.splitlines()
    return {name: [line for line in lines if line.startswith(f"{name}.py:") and ": error:" in line] for name in texts}


@pytest.mark.slow
@pytest.mark.parametrize("name", THROUGH)
def test_private_values_do_not_pass_where_released_ones_belong(name, complaints):
    (told,) = complaints[name.replace(" ", "_")]
    assert "Released" in told


@pytest.mark.slow
@pytest.mark.parametrize("name", SWAPPED)
def test_private_codes_in_the_place_of_a_draw_do_not_pass(name, complaints):
    assert complaints[f"kept_{name}"] == []
    (told,) = complaints[f"swapped_{name}"]
    assert "ReleasedIds" in told or "ReleasedVectors" in told


@pytest.mark.slow
def test_released_values_pass(complaints):
    assert complaints["holds"] == []
