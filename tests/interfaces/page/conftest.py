"""The app with a search server, as a module's tests share it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.app_process import running_app
from tests.support.page_driver import (
    dropped,
    opened,
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, searx: str) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("page"), LOCALCRAG_SEARXNG_URL=searx, LOCALCRAG_WEB="always") as url:
        yield url


@pytest.fixture(scope="module")
def with_handbook(address: str, chromium: Browser, handbook: Path) -> str:
    """The app's address, once the handbook is in its collection."""
    with opened(chromium, address) as page:
        dropped(page, handbook)
    return address
