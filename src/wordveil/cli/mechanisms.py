"""`wordveil mechanisms`: every mechanism, calibration and decoder with its promise and paper, read off the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wordveil as wv
from wordveil.cli.common import say
from wordveil.cli.printing import JsonOption, aligned, show
from wordveil.errors import WordveilError
from wordveil.names import DECODERS
from wordveil.plugins import decoder_class, foreign_names, mechanism_class, mechanism_names

if TYPE_CHECKING:
    from wordveil.mechanisms.common import Mechanism

EPSILON = 4.0
FEW_WORDS = 500  # promise and standing do not depend on how many words a mechanism is fitted to; time does


def mechanisms(as_json: JsonOption = False) -> None:
    """List mechanisms with promise, standing and paper, fitted to words of the embedded vocabulary at epsilon 4.

    Then the decoders of vector mechanisms, which see released vectors alone: what the vectors promise stands.
    """
    from wordveil.sanitizing.fitting import fit_words

    embeddings = wv.load_embeddings(None)
    few = wv.Embeddings.from_arrays(embeddings.words[:FEW_WORDS], embeddings.vectors[:FEW_WORDS])
    rows: list[dict[str, str]] = []
    for name in mechanism_names():
        listed: dict[str, Mechanism] = {}  # the first example at every calibration
        try:
            examples = mechanism_class(name).examples()
        except WordveilError as problem:  # of another package
            say(str(problem))
            continue
        for example in examples:
            listed.setdefault(example.calibration, example.with_epsilon(EPSILON))
        for calibration, mechanism in listed.items():
            certificate = wv.certify(mechanism, few) if mechanism.needs_certificate else None
            guarantee = fit_words(mechanism, few, certificate).guarantee()
            rows.append(
                {
                    "name": name,
                    "calibration": calibration or "-",
                    "promise": guarantee.promise,
                    "standing": str(guarantee.standing),
                    "paper": mechanism.paper,
                }
            )
    for name in (*DECODERS, *foreign_names("decoders", DECODERS)):
        paper = decoder_class(name).paper
        rows.append({"name": name, "calibration": "-", "promise": "post-processing", "standing": "-", "paper": paper})
    show(rows, aligned(rows), as_json=as_json)
