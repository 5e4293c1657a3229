"""Every example of an integration runs against the real library, and a page leads to it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples" / "integrations").glob("*.py") if "main()" in path.read_text())
MISSING = re.compile(r"^(?:ModuleNotFoundError: No module named|.*MissingExtraError: ).*", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example, tmp_path):
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(example)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
    if run.returncode and (absent := MISSING.search(run.stderr)):
        pytest.skip(absent[0])
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout


def test_every_example_is_named_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "integrations").glob("*.md"))
    assert EXAMPLES
    assert [example.name for example in EXAMPLES if f"examples/integrations/{example.name}" not in pages] == []
