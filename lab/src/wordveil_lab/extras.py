"""What says that an extra of the laboratory is missing."""

from __future__ import annotations

from wordveil.api import MissingExtraError


def missing_extra(what: str, module: str, extra: str) -> MissingExtraError:
    """Return the error of something that needs a package which an extra of wordveil-lab brings."""
    return MissingExtraError(what, module, extra, remedy=f"pip install 'wordveil-lab[{extra}]'")
