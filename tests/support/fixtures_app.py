"""The real app as a process of its own, without anything in it, started once for all tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.app_process import running_app


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("app")) as address:
        yield address
