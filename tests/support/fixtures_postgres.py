"""Fixtures: a PostgreSQL server with pgvector for all tests of a worker, and collections in either home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.homes import Homes, LocalHomes, PostgresHomes
from tests.support.postgres import PostgresServer, a_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with a_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def homes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Homes]:
    """Where collections live in a test that holds for both homes."""
    if request.param == "sqlite":
        yield LocalHomes(tmp_path)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with closing(PostgresHomes(server.new())) as there:
        yield there
