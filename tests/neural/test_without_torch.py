"""Without PyTorch the package imports, and its modules say what is missing."""

import subprocess
import sys

PROGRAM = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import importlib
import wordveil_lab.neural, wordveil_lab.papers.convert, wordveil_lab.papers.summary
from wordveil.errors import MissingExtraError
for module in ("neural.models", "neural.training", "neural.private_embedding", "papers.trlaplace_neural"):
    try:
        importlib.import_module(f"wordveil_lab.{module}")
    except MissingExtraError as error:
        print(error, "torch" in sys.modules)
"""


def test_the_missing_extra_is_named():
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    said = "A model behind the noise needs the package torch. Install it with: pip install 'wordveil-lab[torch]' False"
    assert answer.stdout.splitlines() == [said] * 4
