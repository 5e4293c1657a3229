"""Every error wordveil raises on purpose.

    WordveilError
    ├── ParameterError          a parameter is outside its domain
    ├── DataFormatError         a file is not what its format says it is (also a ValueError)
    │   ├── EmbeddingFormatError
    │   └── DocumentFormatError
    ├── ChecksumError           bytes differ from the recorded checksum
    ├── MissingExtraError       an optional dependency is not installed (also an ImportError)
    ├── RefutedClaimError       a refuted calibration was asked for without opting in
    ├── CertificateError        a certificate is missing, does not fit, or does not verify
    ├── GuaranteeError          two promises cannot be composed, converted or compared
    ├── NotConfirmedError       a command stopped at a warning that its user did not confirm
    ├── TooLittleKeptError      a text of which public words are too few to be read, such as one of another language
    └── ResumeError             an interrupted run cannot be continued with these settings

and every warning, for the owner of the input (a UserWarning):

    InputWarning
    └── ForeignTextWarning      text that is not what the vocabulary is for; raised as an error, it stops the release

Messages name the value, its allowed range and the remedy. They may show parameters, shapes, positions
and public vocabulary facts; they never show private text, a private word, or its vector.
"""

from __future__ import annotations


def printable(name: str) -> str:
    """Return a file name on one line: what no screen shows, and bytes that are no UTF-8, as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def counted(n: int, what: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


class WordveilError(Exception):
    """Root of all errors raised by wordveil."""


class ParameterError(WordveilError, ValueError):
    """A parameter is outside its domain.

    Attributes:
        name: The parameter's name.
        value: The rejected value; parameters are public, so it may be shown.
        requirement: What it must be, and the remedy: what follows `name=value`.
        sentence: A whole sentence instead, where several parameters are concerned; else "".
    """

    def __init__(self, name: str, value: object, requirement: str = "", *, sentence: str = "") -> None:
        self.name = name
        self.value = value
        self.requirement = requirement or sentence
        self.sentence = sentence
        super().__init__(sentence or f"{name}={value!r} {requirement}")


class DataFormatError(WordveilError, ValueError):
    """A file is not what its format says it is.

    Attributes:
        path: The file, as the caller named it.
        line: 1-based line number, or None where the format has no lines.
        offset: Byte offset in the (decompressed) file, or None.
    """

    def __init__(
        self, path: object, problem: str, *, line: int | None = None, offset: int | None = None, remedy: str = ""
    ) -> None:
        self.path = str(path)
        self.line = line
        self.offset = offset
        place = printable(self.path)
        if line is not None:
            place += f", line {line}"
        if offset is not None:
            place += f", byte {offset}"
        super().__init__(f"{place}: {problem}" + (f" {remedy}" if remedy else ""))


class EmbeddingFormatError(DataFormatError):
    """An embedding file is malformed."""


class DocumentFormatError(DataFormatError):
    """A document file is malformed; the message names the position, never the content."""


class ChecksumError(WordveilError):
    """Bytes on disk differ from the checksum recorded for them."""


class MissingExtraError(WordveilError, ImportError):
    """An optional dependency is not installed; the remedy is the extra unless the package is none of its parts."""

    def __init__(self, what: str, module: str, extra: str, *, remedy: str = "") -> None:
        self.extra, self.name = extra, module
        command = remedy or f"pip install 'wordveil[{extra}]'"
        super().__init__(f"{what} needs the package {module}. Install it with: {command}")


class RefutedClaimError(WordveilError):
    """A calibration with a known counter-example was asked for without opting in."""


class CertificateError(WordveilError):
    """A certificate is missing, does not fit these inputs, or does not verify."""


class GuaranteeError(WordveilError):
    """Two promises cannot be composed, converted or compared; the message says why."""


class ResumeError(WordveilError):
    """An interrupted run cannot be continued with these settings; the message names the difference."""


class NotConfirmedError(WordveilError):
    """A command stopped at a warning that its user did not confirm; the message says how to go on."""


class TooLittleKeptError(WordveilError):
    """So little of a text is on the public list that nobody could read its release; the message holds no number."""


class InputWarning(UserWarning):
    """An input is not what it should be. The message holds no text and no number; it is for the input's owner."""


class ForeignTextWarning(InputWarning):
    """A text about to be released does not look like what the vocabulary is for. An error filter stops the release."""
