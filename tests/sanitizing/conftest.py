"""Small public vocabularies and what the pipeline tests share."""

from types import SimpleNamespace

import numpy as np
import pytest

from wordveil.files.secret import Secret
from wordveil.vocabulary.table import Embeddings
from worlds import made_up


@pytest.fixture(scope="session")
def vocabulary() -> Embeddings:
    """300 words in 8 dimensions, twenty of which share their vector with an earlier word."""
    return made_up()


@pytest.fixture(scope="session")
def tiny() -> Embeddings:
    """Six words on a line, one of which may not be output: enough for exact laws."""
    words = ["alpha", "beta", "gamma", "delta", "kappa", "<unk>"]
    return Embeddings.from_arrays(words, [[0.0], [0.4], [1.0], [1.1], [3.0], [0.5]], name="tiny")


@pytest.fixture(scope="session")
def far_apart() -> Embeddings:
    """Words so far apart that every mechanism at epsilon 1 returns its input, up to e^-28."""
    words = ["cat", "dog", "tree", "house", "river", "stone"]
    return Embeddings.from_arrays(words, 1000.0 * np.eye(6), name="far apart")


@pytest.fixture
def service(tmp_path):
    """Makes a service's releaser of a sanitizer, over a ledger of its own; gives what a request is made of, too."""
    for library in ("fastapi", "sqlalchemy"):
        pytest.importorskip(library, reason="needs the extra serve")
    from wordveil.service import access, charges, costs, ledger, messages, releasing, settings

    opened = ledger.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")

    def made(sanitizer):
        default = settings.Opened(sanitizer)
        promise = costs.cost_of(default.guarantee, 1).promise_id
        opened.allowance = charges.Allowance(promise=promise, units={"key": 10**18})
        releaser = releasing.Releaser(opened, Secret(b"s" * 32), {"default": default})
        caller = access.Caller(id="ab" * 8, scopes=frozenset(["release"]))
        given = {"ledger": opened, "caller": caller, "Asked": releasing.Asked, "messages": messages}
        return SimpleNamespace(releaser=releaser, **given)

    yield made
    opened.close()
