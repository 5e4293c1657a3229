"""Compute the certificates that ship with the embedded vocabulary; about five seconds each on two cores.

Run after tools/record_default_epsilons.py: python tools/certify_default_vocabulary.py
Existing certificates of the same vocabulary are kept, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import wordveil as wv
from wordveil.certification import certify
from wordveil.fitting import FOLDER, file_name, shipped_certificate
from wordveil.mechanisms.exponential import SelectionMechanism

GRID = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 20.0)


def main() -> None:
    """Certify TEM and SanText over the grid and at the vocabulary's default epsilons."""
    embeddings = wv.load_embeddings()
    FOLDER.mkdir(exist_ok=True)
    defaults = embeddings.header.default_epsilon
    for kind in (wv.TEM, wv.SanText):
        for epsilon in sorted({*GRID, defaults[kind.name]}):
            mechanism: SelectionMechanism = kind(epsilon=epsilon, calibration="certified")
            certificate = shipped_certificate(mechanism, embeddings) or certify(mechanism, embeddings)
            certificate.save(FOLDER / file_name(mechanism))
            rate = certificate.numbers["rate"]
            print(f"{file_name(mechanism)}: {rate / (epsilon / 2):.3f} times the textbook rate", flush=True)


if __name__ == "__main__":
    main()
