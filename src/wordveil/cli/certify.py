"""`wordveil certify`: make a certificate anyone can repeat, or repeat and check one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer import Option

import wordveil as wv
from wordveil.cli.common import chosen_epsilon, chosen_mechanism, say
from wordveil.cli.options import CalibrationOption, EpsilonOption, MechanismOption, SetOption, VocabularyOption, Wanted
from wordveil.cli.printing import JsonOption, show
from wordveil.cli.progress import count_bar
from wordveil.errors import CertificateError, ParameterError
from wordveil.promises.rounding import round_up


def certify(
    mechanism: MechanismOption = "tem",
    epsilon: EpsilonOption = None,
    rate: Annotated[
        float | None, Option(help="Certify this rate: what it costs, or that it keeps --epsilon. Default: search.")
    ] = None,
    calibration: CalibrationOption = None,
    settings: SetOption = None,
    vocabulary: VocabularyOption = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Certificate file; default: print it.")] = None,
    verify: Annotated[Path | None, Option(metavar="FILE", help="Repeat this certificate.")] = None,
    checkpoint: Annotated[Path | None, Option(help="File to resume long work from.")] = None,
    threads: Annotated[int | None, Option(help="Number of threads. Default: one per processor.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Certify the rate at which a mechanism keeps its epsilon on this vocabulary, over all pairs of words.

    --calibration certified-local certifies local DP: epsilon is then in nats, between any two words.
    """
    embeddings = wv.load_embeddings(vocabulary)
    if verify is not None:
        certificate = _repeated(verify, embeddings, vocabulary, threads)
        line = f"{verify}: verified; the repetition agrees and no claim is below what it found"
        show({"certificate": verify, "verified": True, "numbers": certificate.numbers}, [line], as_json=as_json)
        return
    if calibration == "textbook":
        raise ParameterError("--calibration", calibration, "needs no certificate; say certified, or leave it out.")
    wanted = Wanted(mechanism=mechanism, epsilon=epsilon, calibration=calibration, settings=settings)
    if rate is None:
        epsilon, notes = chosen_epsilon(wanted)
        for note in notes:
            say(note)
    with_epsilon = replace(wanted, epsilon=1.0 if epsilon is None else epsilon)
    chosen: Any = chosen_mechanism(with_epsilon, elsewhere=("epsilon", "calibration"))
    saved = None if checkpoint is None else str(checkpoint)
    with count_bar("pair visits") as progress:
        how: dict[str, Any] = {"threads": threads, "progress": progress, "checkpoint": saved}
        if rate is None or epsilon is not None:
            certificate = wv.certify(chosen, embeddings, rate=rate, **how)
        else:
            certificate = wv.certify_rate(chosen, embeddings, rate, **how)
    if output is None:
        typer.echo(certificate.to_json(), nl=False)
        return
    certificate.save(output)
    _say_use(certificate, replace(wanted, certificate=output, vocabulary=vocabulary))


def _repeated(path: Path, embeddings: wv.Embeddings, vocabulary: Path | None, threads: int | None) -> wv.Certificate:
    certificate = wv.Certificate.load(path)
    if certificate.vocabulary not in ("", embeddings.checksum_in_use):  # "": it was made of none
        which = "the embedded vocabulary" if vocabulary is None else str(vocabulary)
        raise CertificateError(f"{path} was made for another vocabulary than {which}; name it with --vocabulary.")
    with count_bar("pair visits") as progress:
        wv.verify(certificate, embeddings, threads=threads, progress=progress)
    return certificate


def _say_use(certificate: wv.Certificate, wanted: Wanted) -> None:
    from wordveil.certification.certified_rate import RATE_METHODS

    numbers = (f"{name} {round_up(value, 6)}" for name, value in certificate.numbers.items())
    say(f"wrote {wanted.certificate}: {', '.join(numbers)}")
    if certificate.method in RATE_METHODS and "epsilon" in certificate.parameters:
        known = replace(wanted, epsilon=cast(float, certificate.parameters["epsilon"]))
        say(f"use it with: {known.sanitize_command()}")
