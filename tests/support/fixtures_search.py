"""Debian's searx over the sample pages, started once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.search_servers import real_searx
from tests.support.web_pages import PAGES


@pytest.fixture(scope="session")
def searx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with real_searx(tmp_path_factory.mktemp("searx"), PAGES) as url:
        yield url
