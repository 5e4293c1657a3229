"""Compute the certificates that ship with the embedded vocabulary: five seconds each on two cores, twenty for local DP.

Run after tools/build_vocabulary.py: python tools/certify_default_vocabulary.py
Existing certificates of the same vocabulary are kept, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import wordveil as wv
from wordveil.certification import certify
from wordveil.mechanisms.exponential import SelectionMechanism
from wordveil.sanitizing.fitting import FOLDER, file_name, shipped_certificate

GRID = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.36, 10.0, 12.0, 15.0, 20.0)
LOCAL_GRID = (2.0, 4.0, 8.0, 12.0, 16.0, 20.0)
"""Epsilons of local DP, in nats between any two words."""


def main() -> None:
    """Certify TEM and SanText over the grids."""
    embeddings = wv.load_embeddings()
    FOLDER.mkdir(exist_ok=True)
    for kind in (wv.TEM, wv.SanText):
        chosen: list[SelectionMechanism] = [kind(epsilon=epsilon, calibration="certified") for epsilon in GRID]
        chosen += [kind(epsilon=epsilon, calibration="certified-local") for epsilon in LOCAL_GRID]
        for mechanism in chosen:
            certificate = shipped_certificate(mechanism, embeddings) or certify(mechanism, embeddings)
            certificate.save(FOLDER / file_name(mechanism))
            print(f"{file_name(mechanism)}: rate {certificate.numbers['rate']:.4g}", flush=True)


if __name__ == "__main__":
    main()
