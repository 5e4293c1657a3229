"""Record the default epsilons of the embedded vocabulary: half of typical words stay unchanged.

Run after tools/build_vocabulary.py: python tools/record_default_epsilons.py
It edits header.json in place, keeps every other key, and prints what it found.
"""

from __future__ import annotations

import json
from pathlib import Path

import wordveil as wv

HEADER = Path(wv.__file__).parent / "vocabulary" / "default" / "header.json"
KEEP = 0.5


def main() -> None:
    """Calibrate every mechanism that has a default and write the results."""
    embeddings = wv.load_embeddings()
    mechanisms = (wv.MultivariateLaplace(epsilon=1.0), wv.SanText(epsilon=1.0), wv.TEM(epsilon=1.0))
    found = {}
    for mechanism in mechanisms:
        found[mechanism.name] = float(f"{wv.calibrate(embeddings, mechanism, keep=KEEP).epsilon:.3g}")
        print(f"{mechanism.name}: epsilon {found[mechanism.name]:g} keeps {KEEP:.0%} of 1,000 public words")
    header = json.loads(HEADER.read_text(encoding="utf-8"))
    header["default_epsilon"] = found
    HEADER.write_text(json.dumps(header, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
