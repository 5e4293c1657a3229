"""Ledgers on SQLite and on a real PostgreSQL that the tests start; without the extra `serve` all are skipped."""

import importlib.util

import pytest
from tests.browsing import chromium
from tests.service.postgres import Postgres, missing_postgres


class WithoutExtra(pytest.Module):
    def collect(self):
        pytest.skip("needs the extra serve", allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    absent = any(importlib.util.find_spec(name) is None for name in ("fastapi", "sqlalchemy", "httpx"))
    return WithoutExtra.from_parent(parent, path=module_path) if absent else None


@pytest.fixture(scope="session")
def postgres():
    if missing := missing_postgres():
        pytest.skip(missing)
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return request.getfixturevalue("postgres").fresh()


@pytest.fixture(scope="module")
def served(request, tmp_path_factory):
    """A service over SQLite; a test that turns on the database asks for the other one, too."""
    from tests.service.serving import Served

    on_postgres = getattr(request, "param", "sqlite") == "postgresql"
    url = request.getfixturevalue("postgres").fresh() if on_postgres else ""
    default = "default=neighbours:epsilon=8,k=16"
    settings = (
        default, "letters=rephrase", "short=neighbours:epsilon=4,k=8", "noisy=neighbours:epsilon=1",
        "far=tem:epsilon=9", "readable=redact",
    )  # fmt: skip
    opened = [word for each in settings for word in ("--setting", each)]
    running = Served(tmp_path_factory.mktemp("served"), "--subject-budget", "100", "--rate", "60", *opened, url=url)
    yield running
    running.end()
