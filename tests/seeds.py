"""The one place where tests get their seeds: `WORDVEIL_TEST_SHIFT` gives every seeded draw of every test other draws.

Shift 0, the default, draws what the numbers in the tests say. Under any other shift a number stands for another seed,
which is a hash of both, so that no two shifts share a draw. A test must pass under every shift and with every engine:
what it holds is exact, or wrong with a probability of at most 1e-9, which it states. A failure names the shift of its
run; changing a number until a test passes is never the fix.

What the code asks of the operating system, such as a fresh key, a test's own process gets from `entropy`: by the
test's name, the shift and the number of the request. A failure that turns on such a key can be repeated. Children of
that process ask the operating system.

Only what is compared with bytes, digests or counts that are stored in the tree keeps its draws: `fixed`, with the
reason.
"""

import hashlib
import itertools
import os

import numpy as np

from wordveil.randomness import RandomSource

VARIABLE = "WORDVEIL_TEST_SHIFT"
SHIFT = int(os.environ.get(VARIABLE) or 0)

_of_the_system, _of_tests = os.urandom, os.getpid()
_requests = itertools.count()
_test = ""


def seed(number: int) -> int:
    """Return the seed that a test's number stands for under this run's shift: a whole number from 0 to 2**62."""
    if not SHIFT:
        return int(number)
    digest = hashlib.blake2b(f"{SHIFT}:{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2


def rng(number: int) -> np.random.Generator:
    """Return numpy's generator of this number's seed."""
    return np.random.Generator(np.random.PCG64(seed(number)))


def source(number: int) -> RandomSource:
    """Return a source of noise of this number's seed, which says that it is a test's."""
    return RandomSource.seeded_for_tests(seed(number))


def key(number: int) -> bytes:
    """Return the 16 bytes of a run's key of this number's seed, for sources that do not say that they are a test's."""
    return source(number).export_key()


def fixed(number: int, *, because: str) -> np.random.Generator:
    """Return numpy's generator of exactly this seed under any shift, for what is compared with stored bytes.

    Args:
        number: The seed.
        because: What is stored, and where: for the reader.
    """
    if not because.strip():
        raise ValueError("Say what is stored that needs these very draws.")
    return np.random.Generator(np.random.PCG64(number))


def begin(test: str) -> None:
    """Let the bytes of `entropy` be those of this test, from the first on."""
    global _test, _requests
    _test, _requests = test, itertools.count()


def entropy(size: int) -> bytes:
    """Return `size` bytes in place of those of the operating system, other ones at each request."""
    if os.getpid() != _of_tests:
        return _of_the_system(size)
    return hashlib.shake_128(f"{SHIFT}:{_test}:{next(_requests)}".encode()).digest(size)
