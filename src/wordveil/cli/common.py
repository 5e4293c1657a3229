"""What several commands share: turning options into library objects, and what is said on the way."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import wordveil as wv
from wordveil.cli.exit_codes import DONE, INCOMPLETE
from wordveil.cli.options import Wanted
from wordveil.cli.printing import for_screen
from wordveil.errors import CertificateError, DataFormatError, ParameterError
from wordveil.plugins import build_decoder, build_mechanism, decoder_class, mechanism_class, python_value
from wordveil.promises.rounding import round_up

OPTIONS = ("epsilon", "calibration", "allow_refuted")
"""Parameters that have their own option; --set refuses them so that no value is given twice."""


def say(line: str) -> None:
    """Print one line for the person at the terminal, on standard error; a terminal gets it wrapped at words."""
    if sys.stderr is not None:
        print(for_screen(line, sys.stderr), file=sys.stderr, flush=True)


@cache
def told_of_commands() -> dict[str, dict[str, Any]]:
    """Return what `commands.toml` says of each command."""
    return tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))


def end_of_run(bad_files: int, *, allowed: bool) -> int:
    """Return the exit code of a run that left out so many files; says so even where nothing else is said."""
    if not bad_files or allowed:
        return DONE
    which = "1 file or folder" if bad_files == 1 else f"{bad_files:,} files or folders"
    say(f"wordveil: incomplete, as {which} could not be read (exit code {INCOMPLETE}; --allow-bad-files accepts that).")
    return INCOMPLETE


def sanitizing_vocabulary(
    path: Path | None, exclude: str | None, *, verify: bool
) -> tuple[wv.Embeddings, tuple[str, ...]]:
    """Return the vocabulary, checked where asked for, without the words that must not be output, and what was barred.

    The embedded vocabulary leaves out the slurs and obscene words of its list unless `exclude` is "none".
    """
    from wordveil.vocabulary.packaged import never_output

    embedded = path is None and exclude != "none"
    embeddings = wv.load_embeddings(path, every_output=not embedded)
    if verify:
        embeddings.verify()
    notes = []
    listed = never_output()
    if exclude == "offensive" and not embedded:
        embeddings = embeddings.without_outputs(listed)
    if embedded or exclude == "offensive":
        notes.append(
            f"never output: the slurs and obscene words of wordveil's public list of {len(listed)} "
            "(--exclude-outputs none lets them through)"
        )
    if exclude not in (None, "none", "offensive"):
        own = named_word_list("--exclude-outputs", str(exclude), ["none", "offensive"])
        narrowed = embeddings.without_outputs(own)
        barred = len(embeddings.candidates) - len(narrowed.candidates)
        notes.append(
            f"never output: {barred:,} words of {exclude}; the other {len(own) - barred:,} never were"
            " (surrogates of typed tokens and public words may hold them)"
        )
        embeddings = narrowed
    return embeddings, tuple(notes)


@dataclass(frozen=True, kw_only=True)
class PreparedMechanism:
    """A mechanism ready to be fitted."""

    mechanism: wv.WordMechanism | wv.VectorMechanism
    certificate: wv.Certificate | None
    notes: tuple[str, ...] = ()


def prepare(wanted: Wanted, embeddings: wv.Embeddings, *, quiet: bool = False) -> PreparedMechanism:
    """Return the mechanism wanted and the certificate it needs: from the file, shipped, or computed now."""
    mechanism_class(wanted.mechanism)  # a wrong name is the first thing to report
    given = None
    if wanted.certificate is not None:
        given, wanted = _with_certificate(wanted, wanted.certificate)
    epsilon, notes = chosen_epsilon(wanted)
    wanted = replace(wanted, epsilon=epsilon)
    mechanism = chosen_mechanism(wanted, elsewhere=OPTIONS)
    certificate = _certificate(wanted, mechanism, embeddings, given, quiet=quiet)
    return PreparedMechanism(mechanism=mechanism, certificate=certificate, notes=notes)


def _with_certificate(wanted: Wanted, path: Path) -> tuple[wv.Certificate, Wanted]:
    """Return the certificate of a file, and what is wanted with the calibration and the epsilon it was made for."""
    from wordveil.mechanisms.exponential import LARGEST_LOSS

    if "calibration" not in [field.name for field in fields(mechanism_class(wanted.mechanism))]:
        made_for = wv.Certificate.load(path).parameters.get("mechanism") if path.is_file() else None
        other = "" if made_for is None else f", and this one is for --mechanism {made_for}"
        raise ParameterError("--certificate", str(path), f"cannot be used: {wanted.mechanism} needs none{other}.")
    if wanted.calibration not in (None, "certified", "certified-local"):
        raise ParameterError("--calibration", wanted.calibration, "uses no certificate; leave out one of the two.")
    certificate = wv.Certificate.load(path)
    made_for = "certified-local" if certificate.method == LARGEST_LOSS else "certified"
    epsilon = certificate.parameters.get("epsilon")
    known = float(epsilon) if isinstance(epsilon, int | float) else None
    return certificate, replace(
        wanted, calibration=wanted.calibration or made_for, epsilon=known if wanted.epsilon is None else wanted.epsilon
    )


def _certificate(
    wanted: Wanted, mechanism: Any, embeddings: wv.Embeddings, given: wv.Certificate | None, *, quiet: bool
) -> wv.Certificate | None:
    """Return the certificate that the mechanism needs, checked to be for these inputs; None where it needs none."""
    from wordveil.sanitizing.fitting import shipped_certificate

    if not mechanism.needs_certificate:
        return given
    if given is not None:
        try:
            mechanism.require(given, embeddings)
        except CertificateError as error:
            difference = str(error).partition("; ")[0].rstrip(".")
            raise CertificateError(
                f"{wanted.certificate}: {difference}. If it was made for another vocabulary, name that with "
                f"--vocabulary; else make one with: {wanted.certify_command()}"
            ) from None
        return given
    found = shipped_certificate(mechanism, embeddings)
    if found is None:
        if not quiet:
            say(f"certifying the rate on this vocabulary; to keep it for next time: {wanted.certify_command()}")
        found = wv.certify(mechanism, embeddings)  # loads SciPy, which would double the time of a first sentence
    return found


def chosen_mechanism(
    wanted: Wanted, *, elsewhere: Collection[str] = ("epsilon", "allow_refuted")
) -> wv.WordMechanism | wv.VectorMechanism:
    """Return the mechanism that options name; no setting of it has a name in `elsewhere`."""
    allowed = [field.name for field in fields(mechanism_class(wanted.mechanism))]
    values = {"epsilon": wanted.epsilon, **parse_settings(wanted.settings or (), allowed, elsewhere=elsewhere)}
    if wanted.calibration is not None:
        if "calibration" not in allowed:
            raise ParameterError("--calibration", wanted.calibration, f"cannot be chosen for {wanted.mechanism}.")
        values["calibration"] = wanted.calibration
    if wanted.allow_refuted and "allow_refuted" in allowed:
        values["allow_refuted"] = True
    mechanism: wv.WordMechanism | wv.VectorMechanism = build_mechanism(wanted.mechanism, values)
    if wanted.decoder is not None:
        return _decoded(mechanism, wanted.decoder, wanted)
    if wanted.decoder_settings:
        sentence = "--decoder-set needs --decoder, which names the decoder that it is a parameter of."
        raise ParameterError("--decoder-set", wanted.decoder_settings[0], sentence=sentence)
    return mechanism


def _decoded(mechanism: Any, decoder: str, wanted: Wanted) -> wv.WordMechanism:
    """Return a vector mechanism with the decoder of this name, whose epsilon is the mechanism's."""
    chosen = decoder_class(decoder)
    if mechanism.releases != "vectors":
        raise ParameterError("--decoder", decoder, f"is for vector mechanisms; {mechanism.name} selects words itself.")
    known = [field.name for field in fields(chosen)]
    values = parse_settings(wanted.decoder_settings or (), known, elsewhere=("epsilon",), option="--decoder-set")
    if "epsilon" in known:
        values["epsilon"] = wanted.epsilon
    return wv.Decoded(mechanism=mechanism, decoder=build_decoder(decoder, values))


def parse_settings(
    settings: Sequence[str], allowed: Sequence[str] = (), *, elsewhere: Collection[str] = OPTIONS, option: str = "--set"
) -> dict[str, Any]:
    """Read NAME=VALUE strings, a dash in a name as an underscore."""
    values: dict[str, Any] = {}
    names = [name for name in allowed if name not in elsewhere]
    for setting in settings:
        name, separator, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if name in elsewhere:
            raise ParameterError(option, setting, f"cannot be used; give it as --{name.replace('_', '-')}.")
        if not separator or (allowed and name not in names):
            listed = f" with NAME one of {', '.join(names) or 'none'}" if allowed else ""
            raise ParameterError(option, setting, f"must be NAME=VALUE{listed}.")
        if name in values:
            raise ParameterError(option, setting, f"gives {name} a second time; give it once.")
        values[name] = _parse_value(name, text)
    return values


def _parse_value(key: str, text: str) -> Any:
    if key == "metric":
        metrics: dict[str, Any] = {"euclidean": wv.Euclidean, "angular": wv.Angular, "rank": wv.NeighbourRank}
        if text not in metrics:
            raise ParameterError("metric", text, f"must be one of {', '.join(metrics)}.")
        return metrics[text]()
    return python_value(text)


def chosen_epsilon(wanted: Wanted) -> tuple[float, tuple[str, ...]]:
    """Return the epsilon given, or the mechanism's default and a sentence that says so."""
    mechanism = wanted.mechanism
    chosen = mechanism_class(mechanism)  # a wrong name is the first thing to report
    if wanted.epsilon is not None:
        return wanted.epsilon, ()
    default = next(field.default for field in fields(chosen) if field.name == "epsilon")
    if default is MISSING:
        unit = "in nats between any two words" if wanted.calibration == "certified-local" else f"for {mechanism}"
        problem = f"must be given {unit}. Find one with: wordveil calibrate --mechanism {mechanism}"
        raise ParameterError("--epsilon", None, problem)
    return default, (default_epsilon(mechanism, default),)


def default_epsilon(name: str, epsilon: float) -> str:
    """Return the sentence that says that an epsilon is the default of the mechanism of this name."""
    return f"epsilon {round_up(epsilon, 12)} nats a word: the default of {name}"


def named_word_list(option: str, name: str, known: Sequence[str]) -> frozenset[str]:
    """Return the words of a file that an option names, where a few names stand for lists of ours."""
    from difflib import get_close_matches

    if not Path(name).exists() and (meant := get_close_matches(name, known, 1)):
        raise ParameterError(option, name, f"is neither a file nor {' or '.join(known)}; did you mean {meant[0]}?")
    return read_word_list(Path(name))


def read_word_lists(paths: Iterable[Path] | None) -> frozenset[str]:
    """Return the words of all files together; see `read_word_list`."""
    return frozenset().union(*map(read_word_list, paths or ()))


def read_word_list(path: Path) -> frozenset[str]:
    """Return the words of a file, one per line; empty lines and lines starting with # are skipped."""
    lines = read_lines(path)
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file, without their ends."""
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataFormatError(path, "is not UTF-8.", offset=error.start) from None
