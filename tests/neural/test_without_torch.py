"""Without PyTorch the package imports, and says what is missing when it is first used."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import wordveil as wv
from wordveil.errors import MissingExtraError
from wordveil_lab.neural import models, training
from wordveil_lab.neural.private_embedding import PrivateEmbedding
table = wv.Embeddings.from_arrays(["a", "b"], [[0.0], [1.0]])
for use in (lambda: PrivateEmbedding(table, None), lambda: models.nn.Linear(1, 1), lambda: training.torch.nn):
    try:
        use()
    except MissingExtraError as error:
        print(error.extra, "torch" in sys.modules)
"""


def test_the_missing_extra_is_named():
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == ["torch False"] * 3
