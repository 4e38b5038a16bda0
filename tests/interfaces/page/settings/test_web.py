"""The settings of the web search on the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    open_settings,
    opened,
    settled,
    typed,
    wait_until,
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def without_search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app whose SearXNG is set on the page, if at all."""
    with running_app(tmp_path_factory.mktemp("without")) as url:
        yield url


@pytest.mark.everyday
def test_the_web_settings_explain_what_is_wrong(chromium: Browser, without_search: str) -> None:
    with opened(chromium, without_search) as page:
        open_settings(page, "Web")
        address = page.get_by_label("Address of your SearXNG")
        typed(address, "http://127.0.0.1:9")
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("SearXNG is not running")
        address.fill("http://8.8.8.8")
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("8.8.8.8 is neither this computer")


def test_what_is_typed_while_the_settings_are_being_read_stays(chromium: Browser, without_search: str) -> None:
    with opened(chromium, without_search) as page:
        held: list[Route] = []
        slow = True

        def on_its_way(request: Route) -> None:
            if slow:
                held.append(request)
            else:
                request.continue_()

        def asked() -> bool:
            settled(page)
            return bool(held)

        page.route("**/queue/join*", on_its_way)
        open_settings(page, "Web")
        wait_until(asked)
        address = page.get_by_label("Address of your SearXNG")
        typed(address, "http://127.0.0.1:7")
        slow = False
        with page.expect_response("**/queue/data*"):
            for request in held:
                request.continue_()
        page.wait_for_load_state("networkidle")
        settled(page)
        expect(address).to_have_value("http://127.0.0.1:7")
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("SearXNG is not running")
        expect(address).to_have_value("http://127.0.0.1:7")
