"""Which engine decodes: the environment's choice, or the fastest of those that can run here.

Decoded words are the same on every engine. `engine_name` of the compiled package says what weighs words in selection,
where draws can differ between engines; that is the one a run records.
"""

from __future__ import annotations

import os

from wordveil.kernels.compiled.library import NUMPY, VARIABLE, available_engines, engine_name
from wordveil.kernels.library_product import LIBRARY, library_installed, library_is_fast

__all__ = ["LIBRARY", "NUMPY", "decoding_engine", "decoding_engines"]

AMX = "amx"


def decoding_engines() -> tuple[str, ...]:
    """Return the engines that can decode here, slowest first; the library is slowest without fast products."""
    compiled = available_engines()
    if not library_installed():
        return compiled
    if not library_is_fast():
        return (LIBRARY, *compiled)
    below = tuple(name for name in compiled if name != AMX)
    return (*below, LIBRARY, *compiled[len(below) :])


def decoding_engine() -> str:
    """Return the engine that searches made now will use.

    Raises:
        ParameterError: If WORDVEIL_ENGINE names an engine that is unknown or cannot run here.
        MissingExtraError: If it names a library that is not installed.
    """
    forced = engine_name()  # says what is wrong with a name
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return decoding_engines()[-1]
    return LIBRARY if wanted == LIBRARY else forced
