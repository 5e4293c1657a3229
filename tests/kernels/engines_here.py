"""Every engine, as parameters of tests: what is not built beside the package, or cannot run here, is skipped aloud.

A library in the user's own cache directory does not count, so that what is tested does not depend on it.
"""

import pytest

from wordveil.kernels.compiled import available_engines, building, library

BESIDE = building.built_directories()[0]


def is_here(name):
    built = name == library.NUMPY or (BESIDE / building.library_name(name)).is_file()
    return built and name in available_engines()


def _parameter(name, here, reason):
    return pytest.param(name, marks=pytest.mark.skipif(not here, reason=reason))


EVERY = [
    _parameter(name, is_here(name), f"{name} is not built here or cannot run: python -m wordveil.kernels.compiled")
    for name in library.ENGINES
]
COMPILED = EVERY[1:]
every_engine = pytest.mark.parametrize("engine", EVERY, indirect=True)
every_compiled = pytest.mark.parametrize("engine", COMPILED, indirect=True)
