"""Fixtures: a real Chromium, started once for all browser tests that a worker runs in a row.

While Playwright runs, its event loop is that of the thread, and tests with an event loop of their own fail. It is
therefore closed before the first test that is not marked `browser`.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.support.app_process import start_chromium


class _Running:
    """Playwright and Chromium, started when they are asked for and not running."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._playwright: Playwright | None = None
        self._chromium: Browser | None = None

    def playwright(self) -> Playwright:
        if self._playwright is None:
            self._playwright = self._open.enter_context(sync_playwright())
        return self._playwright

    def chromium(self) -> Browser:
        if self._chromium is None:
            self._chromium = start_chromium(self.playwright())
            self._open.callback(self._chromium.close)
        return self._chromium

    def close(self) -> None:
        self._playwright = self._chromium = None
        self._open.close()


_running = _Running()


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(_running.close)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Close Playwright before a test that is not marked `browser`."""
    if item.get_closest_marker("browser") is None:
        _running.close()


@pytest.fixture(scope="module")
def playwright() -> Playwright:
    """Playwright itself, of which a thread can have one at a time, for tests that start a browser of their own."""
    return _running.playwright()


@pytest.fixture(scope="module")
def chromium() -> Browser:
    return _running.chromium()
