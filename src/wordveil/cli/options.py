"""Options that several commands declare, and the group of those that name a mechanism; other groups: `running`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordveil.names import DECODERS, DEFAULT_MECHANISM, FORMATS, MECHANISMS

MechanismOption = Annotated[str, Option("--mechanism", "-m", help=f"One of {', '.join(MECHANISMS)}.")]
EpsilonOption = Annotated[
    float | None,
    Option("--epsilon", "-e", help="Privacy loss: nats a word for neighbours (default 7), else per unit of distance."),
]
VocabularyOption = Annotated[
    Path | None, Option("--vocabulary", help="A vocabulary directory or embedding file; default: the embedded one.")
]
SetOption = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="Another parameter of the mechanism; repeat for several."),
]
CalibrationOption = Annotated[
    str | None, Option("--calibration", help="How the noise is sized, where a mechanism offers a choice.")
]
DecoderOption = Annotated[str | None, Option("--decoder", help=f"For vector mechanisms: one of {', '.join(DECODERS)}.")]
AllowRefutedOption = Annotated[
    bool, Option("--allow-refuted", help="Permit a calibration that is known to break its claim.")
]
ExcludeOutputsOption = Annotated[
    str | None,
    Option(
        "--exclude-outputs",
        metavar="FILE",
        help="File of words never output, besides the slurs the embedded vocabulary leaves out; offensive: bar these "
        "from any vocabulary; none: bar nothing.",
    ),
]
CertificateOption = Annotated[
    Path | None, Option("--certificate", help="Certificate for a certified calibration; default: shipped, or made now.")
]
SourceArgument = Annotated[str, Argument(metavar="[IN]", help="File, directory, or - for standard input.")]
OutputOption = Annotated[str, Option("--output", "-o", help="File or directory; - for standard output.")]
ColumnOption = Annotated[
    list[str] | None,
    Option("--column", "-c", metavar="NAME", help="Column with text, a.b for nested; repeat for several."),
]
FormatOption = Annotated[str | None, Option("--format", help=f"One of {', '.join(FORMATS)}.")]
ThreadsOption = Annotated[int | None, Option("--threads", help="Number of threads. Default: one per processor.")]
ResumeOption = Annotated[
    bool,
    Option(
        "--resume",
        help="Continue an interrupted run, and leave a complete output as it is; needs the same input and choices.",
    ),
]
QuietOption = Annotated[bool, Option("--quiet", "-q", help="No summary on standard error.")]
DryRunOption = Annotated[
    bool,
    Option("--dry-run", help="Look at the files' beginnings, say what the run would do and take, and release nothing."),
]
PreviewOption = Annotated[
    int, Option("--preview", min=0, help="Show so many public sentences, before and after, and release nothing.")
]
EngineOption = Annotated[
    str | None,
    Option(
        "--engine",
        help="Kernels that may search and draw: numpy, avx2, avx512, amx or neon. Default: WORDVEIL_ENGINE, or the "
        "fastest.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The options that name a mechanism; None where nothing was said."""

    mechanism: MechanismOption = DEFAULT_MECHANISM
    epsilon: EpsilonOption = None
    calibration: CalibrationOption = None
    certificate: CertificateOption = None
    decoder: DecoderOption = None
    decoder_settings: Annotated[
        list[str] | None,
        Option(
            "--decoder-set", metavar="NAME=VALUE", help="A parameter of the decoder: c of rank-softmax, t of vickrey."
        ),
    ] = None
    allow_refuted: AllowRefutedOption = False
    settings: SetOption = None
    vocabulary: VocabularyOption = None

    def certify_command(self, output: str = "certificate.json") -> str:
        """The whole command that makes the certificate this needs."""
        return shlex.join(["wordveil", "certify", *self._words(), "--output", output])

    def sanitize_command(self) -> str:
        """The whole command that uses the certificate."""
        given = ["--certificate", str(self.certificate)]
        return shlex.join(["wordveil", "sanitize", "IN", "--output", "OUT", *self._words(), *given])

    def _words(self) -> list[str]:
        words = ["--mechanism", self.mechanism]
        words += [] if self.epsilon is None else ["--epsilon", f"{self.epsilon!r}"]
        words += ["--calibration", self.calibration or "certified"]
        words += [word for setting in self.settings or () for word in ("--set", setting)]
        return words + ([] if self.vocabulary is None else ["--vocabulary", str(self.vocabulary)])
