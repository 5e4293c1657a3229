"""`wordveil report`: whether a report speaks of the file at hand, agrees with itself, and who signed it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import wordveil as wv
from wordveil.cli.common import default_epsilon, read_word_lists, sanitizing_vocabulary, say
from wordveil.cli.exit_codes import NO
from wordveil.cli.options import CertificateOption, ExcludeOutputsOption
from wordveil.cli.printing import JsonOption, show
from wordveil.cli.rephrase import LOSES
from wordveil.errors import DataFormatError, ParameterError, WordveilError, counted, printable

if TYPE_CHECKING:
    from wordveil.promises.release import Provenance
    from wordveil.runs.beforehand import UserBudget
    from wordveil.runs.report_schema import StoredReport
    from wordveil.runs.vectors.binding import Binding

UNSIGNED = "not signed; it proves nothing about the honesty of whoever sent it"
KEYS = {"private": "keep it to yourself", "public": "give it to who reads reports"}
UNCHECKED = "signed, by whom is not checked; name the sender's public key with --public-key"


@dataclass(frozen=True, kw_only=True)
class Public:
    """The public inputs of a release, from which its promise is computed again."""

    vocabulary: Annotated[
        Path | None, Option(help="The vocabulary that the report names; default: the embedded one.")
    ] = None
    exclude_outputs: ExcludeOutputsOption = None
    certificate: CertificateOption = None
    stock: Annotated[
        Path | None, Option(metavar="DIR", help="The stock of a report of rephrase; default: the general one.")
    ] = None
    public_words: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Words that a report of redact says were added; repeat.")
    ] = None
    hide: Annotated[list[Path] | None, Option(metavar="FILE", help="Words that it says were taken away; repeat.")] = (
        None
    )

    def source(self, report: StoredReport) -> tuple[wv.Sanitizer | Binding, set[str]]:
        """Return what released, rebuilt from its report, and the notes that such a report may hold."""
        from wordveil.runs.rebuilding import rebuilt
        from wordveil.runs.vectors.binding import bind

        origin = report.provenance
        mechanism = rebuilt(origin.mechanism)
        if "rows" in report.facts:
            table = None
            if origin.vocabulary != "none":
                table = _checked(wv.load_embeddings(self.vocabulary), origin, report.path)
            return bind(mechanism, report.facts["input_dimensions"], table), set()
        if "stock" in report.facts["options"]:
            return self._rephraser(report, mechanism), {LOSES}
        sanitizer, barred = self._words(report, mechanism)
        return sanitizer, {*barred, default_epsilon(mechanism.name, mechanism.epsilon)}

    def _words(self, report: StoredReport, mechanism: Any) -> tuple[wv.Sanitizer, tuple[str, ...]]:
        rules = (self.exclude_outputs,) if self.exclude_outputs is not None or self.vocabulary else (None, "none")
        tables = [sanitizing_vocabulary(self.vocabulary, rule, verify=True) for rule in rules]
        wanted = report.provenance.candidates_checksum
        table, barred = next((each for each in tables if each[0].candidates_checksum == wanted), tables[0])
        sanitizer = wv.Sanitizer(
            _checked(table, report.provenance, report.path),
            mechanism,
            options=report.options,
            source=_source(report.provenance),
            certificate=None if self.certificate is None else wv.Certificate.load(self.certificate),
        )
        return sanitizer, barred

    def _rephraser(self, report: StoredReport, mechanism: Any) -> wv.Sanitizer:
        chosen = report.facts["options"]
        rephraser = wv.Rephraser(
            wv.load_stock(self.stock),
            epsilon=mechanism.epsilon,
            grids=[wv.NumberGrid(**grid) for grid in chosen.get("grids", ())],
            source=_source(report.provenance),
            **{name: chosen[name] for name in ("prototypes", "encoder")},
        )
        _checked(rephraser.embeddings, report.provenance, report.path)
        return rephraser.sanitizer


def _source(origin: Provenance) -> Any:
    return wv.RandomSource.seeded_for_tests(0) if origin.test_source else wv.RandomSource()


def _checked(table: wv.Embeddings, origin: Provenance, path: Path) -> wv.Embeddings:
    wanted = origin.checksum, origin.candidates_checksum or table.candidates_checksum
    if (table.header.checksum, table.candidates_checksum) != wanted:
        problem = f"was made with another vocabulary or other outputs, of {origin.vocabulary!r}; it cannot be checked."
        raise DataFormatError(path, problem, remedy="Name them with --vocabulary, --exclude-outputs or --stock.")
    return table


def report(
    released: Annotated[
        Path | None, Argument(metavar="FILE", help="The released file, or directory.", show_default=False)
    ] = None,
    *,
    verify: Annotated[
        Path | None, Option(metavar="REPORT", help="A report, .json or .html, to hold FILE against.")
    ] = None,
    public: Public,
    public_key: Annotated[
        Path | None, Option(metavar="KEY", help="Refuse a report not signed with this key (extra: sign).")
    ] = None,
    sign: Annotated[
        Path | None, Option(metavar="KEY", help="Sign the report with this private key, if it holds.")
    ] = None,
    new_key: Annotated[
        Path | None, Option(metavar="KEY", help="Write a new private key, and its public one (.pub) beside it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that FILE is, byte for byte, what a report speaks of, and that the report agrees with itself.

    Epsilon, sentences, odds, sums and warnings are computed again from the mechanism that the report names. Exit code
    0: all of it holds. 1: something does not; a line says what. 2: it cannot be checked here; a line says why.
    """
    if new_key is not None:
        if not (released is verify is public_key is sign is None) or any(vars(public).values()):
            raise ParameterError("--new-key", str(new_key), "must be given alone.")
        from wordveil.runs.report_signatures import new_key as make_key

        pair = {"private": new_key, "public": make_key(new_key)}
        show(pair, [f"{pair[name]}: the {name} key; {use}" for name, use in KEYS.items()], as_json=as_json)
        return
    if released is None or verify is None:
        raise ParameterError("--verify", None, "must name a report, and FILE what it speaks of.")
    _check(released, verify, public, public_key, sign, as_json=as_json)


def _check(
    released: Path, verify: Path, public: Public, public_key: Path | None, sign: Path | None, *, as_json: bool
) -> None:
    from wordveil.runs.evidence import shortfall
    from wordveil.runs.report_check import damage
    from wordveil.runs.report_schema import read_report
    from wordveil.runs.warnings import shown

    stored = read_report(verify)
    signature, unsigned = _signature(stored, public_key)
    warnings: tuple[str, ...] = ()
    try:
        files = stored.outputs
        damaged = [*damage(stored), *unsigned]
        wrong = [*_other_files(stored, released), *(f"{verify}: {line}" for line in damaged)]
        if not wrong:
            told, warnings = _redaction(stored, public) or _held(stored, *public.source(stored))
            wrong = [f"{verify}: {line}" for line in told]
    except WordveilError:
        raise
    except Exception:  # noqa: BLE001  # whatever Python says of facts of another shape
        files, wrong = (), [f"{verify}: a fact is missing, or of another kind than in a report of wordveil"]
    result = {"released": released, "report": verify, "files": files, "wrong": wrong}
    if wrong:
        show(result, (), as_json=as_json)
        for line in wrong:
            say(f"wordveil: {printable(line)}.")
        raise typer.Exit(NO)
    if sign is not None:
        signature = _signed_now(stored, sign)
    missing = shortfall(stored.facts)
    lines = [
        f"{released}: is what {verify} speaks of ({counted(len(stored.outputs), 'file')})",
        f"{verify}: says of the promise what {stored.provenance.mechanism} comes to",
        f"{verify}: {signature}",
        *missing,
        *shown(warnings),
    ]
    more = {"signature": signature, "missing": missing, "warnings": warnings}
    show(result | more, lines, as_json=as_json)


def _signed_now(report: StoredReport, key: Path) -> str:
    """Sign a report that holds, in its place; return what is said of its signature."""
    from wordveil.runs.report import write_sealed
    from wordveil.runs.report_signatures import signed

    write_sealed(signed(report.facts, key), report.path)
    return f"signed now with {key}"


def _other_files(report: StoredReport, released: Path) -> list[str]:
    """Return in what the files differ from those that a report names, one sentence each."""
    from wordveil.runs.digests import file_digests, strangers
    from wordveil.runs.evidence import differences

    if not report.outputs:
        raise DataFormatError(report.path, "no file is named in this report: the release went to standard output.")
    files = file_digests(released)
    if not files:
        raise DataFormatError(released, "no such file.", remedy="Check the path.")
    told = differences(report.outputs, files)
    told += [f"{printable(name)}: is no file of a release" for name in strangers(released)]
    if not told and report.facts["kind"] == "vectors":
        from wordveil.documents.vectors import open_vectors
        from wordveil.runs.vectors.grid import fits_grid

        with open_vectors(released, report.facts["column"] if report.facts["kept"] else None) as reader:
            if not fits_grid(reader.blocks(0, 4096), report.facts["grid"]):
                told = ["its values lie on another grid"]
            elif reader.rows != report.facts["rows"]:
                told = ["it has another number of rows"]
    return [f"{released} is not what {report.path} speaks of: {'; '.join(told)}"] if told else []


def _signature(report: StoredReport, public_key: Path | None) -> tuple[str, list[str]]:
    if public_key is not None:
        from wordveil.runs.report_signatures import signature_problem

        problem = signature_problem(report.facts, public_key)
        return f"signed with the private key of {public_key}", [problem] if problem else []
    return (UNSIGNED if report.facts.get("signature") is None else UNCHECKED), []


def _held(report: StoredReport, source: wv.Sanitizer | Binding, allowed: set[str]) -> tuple[list[str], tuple[str, ...]]:
    """Hold a report against what its mechanism comes to; return what is wrong, and the warnings that it should give.

    Raises:
        DataFormatError: If it differs in wording alone from what this version writes, and is of another one; or in what
            fitting computes, which rounds otherwise elsewhere.
    """
    from wordveil.runs.report_check import contradictions, is_rounding
    from wordveil.runs.warnings import release_warnings

    wrong = contradictions(report, source, _budget(report.facts))
    if wrong and not any(each.is_meant for each in wrong):
        report.check_version()
        if is_rounding(wrong):
            problem = "rests on numbers that another processor or library rounds otherwise; it cannot be checked here."
            raise DataFormatError(report.path, problem, remedy="Check it on a machine like the one that wrote it.")
    if isinstance(source, wv.Sanitizer):
        warnings = release_warnings(source.guarantee, source.in_words)
    else:
        warnings = source.guarantee(test_source=report.provenance.test_source).warnings()
    strange = {_nameless(note) for note in report.facts.get("notes", ())} - set(map(_nameless, allowed))
    told = [each.sentence() for each in wrong]
    told += [f"notes: {note!r} is none of this release" for note in sorted(strange)]
    return told, warnings


def _redaction(report: StoredReport, public: Public) -> tuple[list[str], tuple[str, ...]] | None:
    """Hold a report of redact against what its choices come to; None where it is of another command."""
    from wordveil.runs.report import REDACTION
    from wordveil.withholding.report_check import redaction_contradictions

    if report.facts.get("kind") != REDACTION:
        return None
    report.check_version()
    said = report.facts["options"]["words"]
    own = {"added": read_word_lists(public.public_words), "hidden": read_word_lists(public.hide)}
    words = wv.PublicWords(common=said["common"], packs=tuple(said["packs"]), sensitive=said["sensitive"], **own)
    if words.choices() != said:
        problem = "was made with other lists of words; it cannot be checked."
        raise DataFormatError(report.path, problem, remedy="Name them with --public-words and --hide.")
    return redaction_contradictions(report.facts, words, _source(report.provenance)), ()


def _nameless(note: str) -> str:
    return re.sub(r"(?s) words of .*; the other ", " words of it; the other ", note)


def _budget(facts: Mapping[str, Any]) -> UserBudget | None:
    from wordveil.runs.beforehand import UserBudget

    told = facts.get("budget")
    try:
        return None if told is None else UserBudget(**{name: told[name] for name in ("user", "max_nats", "over")})
    except ParameterError as problem:  # no run has such a one
        raise TypeError from problem
