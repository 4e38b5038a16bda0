"""Fixtures: a real Chromium, started once for each file of tests.

Not for the session: while Playwright runs, its event loop is that of the thread, and tests with one of their own fail.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.support.app_process import start_chromium


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Playwright itself, of which a thread can have one at a time, for tests that start a browser of their own."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = start_chromium(playwright)
    yield browser
    browser.close()
