"""`wordveil sanitize`: a file, a directory or standard input through the sanitizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from wordveil.cli.common import (
    DEFAULT_MECHANISM,
    AllowRefutedOption,
    CalibrationOption,
    CertificateOption,
    DecoderOption,
    EpsilonOption,
    MechanismOption,
    ParameterOption,
    VocabularyOption,
    Wanted,
    counted,
    open_vocabulary,
    prepare,
    read_word_list,
    say,
)
from wordveil.cli.file_options import (
    ColumnOption,
    DestinationOption,
    DropOthersOption,
    FormatOption,
    QuietOption,
    ResumeOption,
    SourceArgument,
    ThreadsOption,
)
from wordveil.cli.options import option
from wordveil.cli.progress import document_bar

if TYPE_CHECKING:
    from wordveil.denoising.denoiser import Style
    from wordveil.documents.base import Missing
    from wordveil.pipeline.explanations import InWords
    from wordveil.pipeline.runs import RunReport
    from wordveil.promises.certificates import Certificate
    from wordveil.promises.guarantees import Guarantee
    from wordveil.promises.release import TextOptions
    from wordveil.vocabulary.table import Embeddings

__all__ = ["ExcludeOutputsOption", "sanitize", "sanitizing_vocabulary"]

WARNING = (
    "warning: a weak promise: an observer may become 99 % sure of a word, or more; a smaller --epsilon is stronger"
)
WORTH_A_RATE = 2.0  # seconds; the rate of a shorter run is that of its start
CHARACTERS_PER_TOKEN = 6  # of English text with its spaces: turns --block-tokens into characters read at once

# How documents are read.
KeepOption = Annotated[list[str] | None, option("--keep", help="Copy only these other columns; repeat.")]
DelimiterOption = Annotated[
    str | None,
    option("--delimiter", help="CSV, TSV: one character. Default: found in the header, or a comma."),
]
QuotingOption = Annotated[str, option("--quoting", help="CSV, TSV: auto, none, minimal or all.")]
NoHeaderOption = Annotated[
    bool, option("--no-header", help="CSV, TSV: the first line is data; columns are called 1, 2, ...")
]
MissingOption = Annotated[
    str,
    option(
        "--missing",
        help="JSON records without the column, or with no text in it: refuse, keep (as null) or skip (leave out).",
    ),
]
EncodingOption = Annotated[
    str | None, option("--encoding", help="Encoding of the input, such as windows-1252. Default: UTF-8.")
]
WholeFileOption = Annotated[bool, option("--whole-file", help="A text file is one document, not one a line.")]

# What happens around the mechanism.
UnknownOption = Annotated[str, option("--unknown", help="Unknown words: random, typed, drop or mask.")]
PerOption = Annotated[str, option("--per", help="token: draw for each; document: once for each distinct word.")]
CasingOption = Annotated[str, option("--casing", help="sentence, vocabulary or shape.")]
NumbersOption = Annotated[str, option("--numbers", help="Tokens with digits: unknown, vocabulary or metric.")]
GridOption = Annotated[
    list[str] | None,
    option(
        "--grid",
        metavar="KIND=LOW:HIGH:STEP@EPSILON",
        help="With --numbers metric: keep the magnitude of number, year, money or date on this public grid; FACTOR:log "
        "for STEP makes it logarithmic; repeat.",
    ),
]
MarkupOption = Annotated[str, option("--markup", help="none, or html to keep plain tags.")]
PublicWordsOption = Annotated[
    list[str] | None,
    option(
        "--public-words",
        metavar="FILE",
        help="File of words that stay, written as listed; function: the English function words; repeat.",
    ),
]
ExcludeOutputsOption = Annotated[
    str | None,
    option(
        "--exclude-outputs",
        metavar="FILE",
        help="File of words never output, besides the slurs the embedded vocabulary leaves out; offensive: bar these "
        "from any vocabulary; none: bar nothing.",
    ),
]

# How the run goes.
BlockTokensOption = Annotated[int, option("--block-tokens", help="About how many tokens are held at once.")]
DeviceOption = Annotated[str, option("--device", help="cpu, or cuda for a graphics card (extra: gpu).")]
LineBufferedOption = Annotated[bool, option("--line-buffered", help="Write every line at once.")]
ReportOption = Annotated[Path | None, option("--report", help="Write a report, .json or .html.")]
DenoiseOption = Annotated[
    str | None,
    option(
        "--denoise",
        metavar="STYLE",
        help="Write what the released text may have said: fluent, faithful or balanced. Same promise.",
    ),
]
InputDigestOption = Annotated[
    bool,
    option(
        "--input-digest",
        help="Put the input's size and SHA-256 into the report. Who reads them can test a guess of the whole file.",
    ),
]
VerifyOption = Annotated[bool, option("--verify", help="Check the vocabulary's checksum first.")]


def sanitize(
    source: SourceArgument = "-",
    output: DestinationOption = "-",
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    epsilon: EpsilonOption = None,
    calibration: CalibrationOption = None,
    certificate: CertificateOption = None,
    decoder: DecoderOption = None,
    allow_refuted: AllowRefutedOption = False,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    column: ColumnOption = None,
    keep: KeepOption = None,
    drop_others: DropOthersOption = False,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = "auto",
    no_header: NoHeaderOption = False,
    whole_file: WholeFileOption = False,
    missing: MissingOption = "refuse",
    encoding: EncodingOption = None,
    unknown: UnknownOption = "typed",
    per: PerOption = "token",
    casing: CasingOption = "sentence",
    numbers: NumbersOption = "unknown",
    grid: GridOption = None,
    markup: MarkupOption = "none",
    public_words: PublicWordsOption = None,
    exclude_outputs: ExcludeOutputsOption = None,
    threads: ThreadsOption = None,
    block_tokens: BlockTokensOption = 4_000_000,
    device: DeviceOption = "cpu",
    line_buffered: LineBufferedOption = False,
    denoise: DenoiseOption = None,
    resume: ResumeOption = False,
    report: ReportOption = None,
    input_digest: InputDigestOption = False,
    verify: VerifyOption = False,
    quiet: QuietOption = False,
) -> None:
    """Sanitize IN and write it in its own format.

    Plain text is one document a line; .jsonl, .json, .csv, .tsv and .parquet need --column. Files may end in .gz or
    .zst. The guarantee and what is disclosed whatever the noise are printed on standard error.
    """
    from wordveil.documents import DocumentSettings, FormatDetails
    from wordveil.errors import ParameterError
    from wordveil.files.run_key import run_source
    from wordveil.pipeline.runs import sanitize_documents
    from wordveil.pipeline.sanitizer import Sanitizer

    if block_tokens < 1:
        raise ParameterError("--block-tokens", block_tokens, "must be at least 1.")
    options = _text_options(
        public_words or (), grid or (), unknown=unknown, per=per, casing=casing, numbers=numbers, markup=markup
    )
    documents = DocumentSettings(
        format=format,
        columns=tuple(column or ()),
        keep=tuple(keep) if keep else None,
        drop_others=drop_others,
        missing=cast("Missing", missing),
        encoding=encoding,
        details=FormatDetails(whole_file=whole_file, delimiter=delimiter, quoting=quoting, header=not no_header),
        block_characters=CHARACTERS_PER_TOKEN * block_tokens,
        line_buffered=line_buffered,
    )
    if report is not None:
        from wordveil.pipeline.run import check_report_path

        check_report_path(report, others=(source, output, *(public_words or ()), certificate, exclude_outputs))
    embeddings, notes = sanitizing_vocabulary(vocabulary, exclude_outputs, verify=verify or report is not None)
    wanted = Wanted(
        mechanism=mechanism,
        epsilon=epsilon,
        calibration=calibration,
        certificate=certificate,
        decoder=decoder,
        allow_refuted=allow_refuted,
        settings=settings or (),
        vocabulary=vocabulary,
    )
    prepared = prepare(wanted, embeddings, quiet=quiet)
    sanitizer = Sanitizer(
        embeddings,
        prepared.mechanism,
        options=options,
        source=run_source(output, resume=resume),
        threads=threads,
        device=device,
        certificate=prepared.certificate,
    )

    afterwards = None
    if denoise is not None:
        from wordveil.pipeline.denoising_runs import BLOCK_CHARACTERS, denoised_texts

        documents = replace(documents, block_characters=min(documents.block_characters, BLOCK_CHARACTERS))
        afterwards = denoised_texts(sanitizer, cast("Style", denoise))

    def deliver(result: RunReport) -> None:
        if report is not None:
            from wordveil.pipeline.evidence import Evidence
            from wordveil.pipeline.run_report import write_report

            whole = result.with_inputs(source, documents) if input_digest else result
            write_report(whole, report, Evidence.of_run(sanitizer, whole, (*prepared.notes, *notes)))

    with document_bar(quiet=quiet) as progress:
        result = sanitize_documents(
            source,
            output,
            sanitizer,
            settings=documents,
            resume=resume,
            progress=progress,
            notice=None if quiet else say,
            deliver=deliver,
            afterwards=afterwards,
        )
    if not quiet:
        _print_summary(result, (*prepared.notes, *notes), sanitizer.in_words, prepared.certificate)


def _text_options(public_words: Sequence[str], grids: Sequence[str], **choices: Any) -> TextOptions:
    """Return the choices around the mechanism; `TextOptions` refuses a word that is none of them."""
    from wordveil.promises.number_grids import NumberGrid
    from wordveil.promises.release import TextOptions
    from wordveil.text.function_words import FUNCTION_WORDS

    lists = (FUNCTION_WORDS if name == "function" else read_word_list(Path(name)) for name in public_words)
    return TextOptions(public_words=frozenset().union(*lists), grids=tuple(map(NumberGrid.parse, grids)), **choices)


def sanitizing_vocabulary(
    path: Path | None, exclude: str | None, *, verify: bool
) -> tuple[Embeddings, tuple[str, ...]]:
    """Return the vocabulary, checked where asked for, without the words that must not be output, and what was barred.

    The embedded vocabulary leaves out the slurs and obscene words of its list unless `exclude` is "none".
    """
    from wordveil.vocabulary.packaged import never_output
    from wordveil.vocabulary.table import load_embeddings

    embedded = path is None and exclude != "none"
    embeddings = load_embeddings(None, every_output=not embedded) if path is None else open_vocabulary(path)
    if verify:
        embeddings.verify()
    notes = []
    listed = never_output()
    if exclude == "offensive" and not embedded:
        embeddings = embeddings.without_outputs(listed)
    if embedded or exclude == "offensive":
        notes.append(
            f"never output: the slurs and obscene words of wordveil's public list of {len(listed)} "
            "(--exclude-outputs none lets them)"
        )
    if exclude not in (None, "none", "offensive"):
        own = read_word_list(Path(str(exclude)))
        narrowed = embeddings.without_outputs(own)
        barred = len(embeddings.candidates) - len(narrowed.candidates)
        notes.append(f"never output: {barred:,} words of {exclude}; the other {len(own) - barred:,} never were")
        embeddings = narrowed
    return embeddings, tuple(notes)


def _largest_loss(guarantee: Guarantee, certificate: Certificate | None) -> str:
    """Return the largest loss between any two words, or "" where the guarantee already says it or there is none."""
    from wordveil.mechanisms.certificate_check import NOT_REPEATED
    from wordveil.mechanisms.selection import LARGEST_LOSS
    from wordveil.promises.guarantees import LocalDP, MetricDP, round_up

    if isinstance(guarantee, LocalDP) and certificate is not None and certificate.method == LARGEST_LOSS:
        repeated = not any(NOT_REPEATED in assumption for assumption in guarantee.assumptions)
        ground = "computed over all pairs" if repeated else f"by a certificate {NOT_REPEATED}"
        return f"{round_up(guarantee.epsilon + (guarantee.slack or 0.0))} nats, {ground}"
    if isinstance(guarantee, MetricDP) and guarantee.largest_distance is not None:
        cap = guarantee.largest_distance
        bound = f"{round_up(guarantee.loss(cap))} nats, a bound: no pair need reach it"
        return f"{bound} (distances count up to {round_up(cap)})"
    return ""


def _print_summary(report: RunReport, notes: Sequence[str], words: InWords, certificate: Certificate | None) -> None:
    from wordveil.pipeline.run_report import left_out, read_and_attacked

    said = [f"{counted(report.documents, 'document')}, {counted(report.tokens, 'token')}"]
    if report.seconds >= WORTH_A_RATE:
        said.append(f"{report.tokens_per_second:,.0f} tokens/s")
    say(", ".join(said))
    if report.resumed_documents:
        say(f"{counted(report.resumed_documents, 'document')} taken over from the interrupted run")
    if missed := left_out(vars(report)):
        say(f"left out or replaced: {missed}")
    for note in notes:
        say(note)
    say(f"guarantee: {report.guarantee.sentence()}")
    say(f"in words: {words.sentence}; `wordveil explain` says more")
    if largest := _largest_loss(report.guarantee, certificate):
        say(f"largest loss between any two words: {largest}")
    if words.weak:
        say(WARNING)
    for line in getattr(report.guarantee, "assumptions", ()):
        say(f"assumes: {line}")
    for line in report.disclosed:
        say(f"disclosed: {line}")
    for line in read_and_attacked(vars(report)):
        say(line)
