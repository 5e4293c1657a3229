"""Every engine of a kernel, as parameters of tests: what is not built beside the package is skipped aloud.

A library in the user's own cache directory does not count, so that what is tested does not depend on it.
"""

import pytest

from wordveil.kernels.compiled import building, library
from wordveil.kernels.compiled.library import available_engines

BESIDE = building.built_directories()[0]


def is_here(name):
    built = name == library.NUMPY or (BESIDE / building.library_name(name)).is_file()
    return built and name in available_engines()


def _parameter(name, here, reason):
    return pytest.param(name, marks=pytest.mark.skipif(not here, reason=reason))


def _parameters(source):
    """NumPy, and the engines that the kernel of a C file is built for."""
    names = [library.NUMPY, *(name for name, (file, _) in building.LEVELS.items() if file == source)]
    reason = "{} is not built here or cannot run: python -m wordveil.kernels.compiled"
    return [_parameter(name, is_here(name), reason.format(name)) for name in names]


SELECTING, DECODING = _parameters("ceilings.c"), _parameters("nearest.c")
every_selecting = pytest.mark.parametrize("engine", SELECTING, indirect=True)
every_decoding = pytest.mark.parametrize("engine", DECODING, indirect=True)
every_screen = pytest.mark.parametrize("engine", DECODING[1:], indirect=True)
