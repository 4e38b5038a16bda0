"""The card that shows a query before it leaves, and the web settings, in a real browser over a server that counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.app_process import running_app
from tests.support.page_driver import PATIENCE, close_settings, open_settings, opened, question_box, typed
from tests.support.search_servers import ScriptedSearch, answer_reply, scripted_search

pytestmark = pytest.mark.browser

EVEREST = {"title": "Everest", "url": "http://example.org/e", "content": "Mount Everest is 8,849 metres high."}
QUESTION = "How high is Mount Everest?"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedSearch]:
    with scripted_search(*[answer_reply(results=[EVEREST])] * 20) as running:
        yield running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, server: ScriptedSearch) -> Iterator[str]:
    """The app, which asks before every query and keeps no answers."""
    settings = {"LOCALCRAG_SEARXNG_URL": server.url, "LOCALCRAG_WEB_CACHE_HOURS": "0"}
    with running_app(tmp_path_factory.mktemp("page"), **settings) as url:
        yield url


def ask_and_wait_for_the_card(page: Page) -> None:
    question_box(page).fill(QUESTION)
    page.locator("#lc-send").click()
    expect(proposed(page)).to_have_value(QUESTION, timeout=PATIENCE)
    expect(page.locator("#lc-panel .lc-busy")).to_contain_text("waiting for your consent", timeout=PATIENCE)


def proposed(page: Page):  # type: ignore[no-untyped-def]
    return page.locator("#lc-consent-query textarea")


def expect_done(page: Page) -> None:
    expect(page.locator("#lc-send")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#lc-consent")).to_be_hidden()
    expect(page.locator("#lc-panel .lc-busy")).to_have_count(0, timeout=PATIENCE)


@pytest.mark.parametrize("screen", [(1280, "light"), (1280, "dark"), (400, "light")], ids=["wide", "dark", "narrow"])
def test_a_query_is_shown_edited_and_sent(
    chromium: Browser, address: str, server: ScriptedSearch, screens: Path, screen: tuple[int, str]
) -> None:
    width, scheme = screen
    with opened(chromium, address, width=width, scheme=scheme) as page:
        ask_and_wait_for_the_card(page)
        before = len(server.requests)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        expect(page.locator("#lc-consent-send")).to_be_in_viewport()
        page.screenshot(path=screens / f"consent-{scheme}-{width}.png")
        proposed(page).fill(f"everest height {width} {scheme}")
        page.locator("#lc-consent-send").click()
        expect_done(page)
        expect(page.locator("#lc-panel .lc-note", has_text="sent to your SearXNG").locator("code")).to_have_text(
            f"everest height {width} {scheme}"
        )
        expect(page.locator("#lc-chat")).to_contain_text("8,849")
    assert [request.query["q"] for request in server.requests[before:]] == [f"everest height {width} {scheme}"]


@pytest.mark.everyday
def test_enter_sends_and_a_refusal_sends_nothing_and_says_so(
    chromium: Browser, address: str, server: ScriptedSearch
) -> None:
    with opened(chromium, address) as page:
        ask_and_wait_for_the_card(page)
        before = len(server.requests)
        page.locator("#lc-consent-refuse").click()
        expect_done(page)
        expect(page.locator("#lc-chat")).to_contain_text("The web was not searched, because you did not allow it.")
        expect(page.locator("#lc-panel")).to_contain_text("Proposed query:")
        assert len(server.requests) == before
        ask_and_wait_for_the_card(page)
        proposed(page).press("Enter")
        expect_done(page)
        assert server.requests[-1].query["q"] == QUESTION


@pytest.mark.parametrize("button", ["#lc-stop", "#lc-new"])
def test_stop_and_new_chat_end_the_wait_and_nothing_leaves(
    chromium: Browser, address: str, server: ScriptedSearch, button: str
) -> None:
    with opened(chromium, address) as page:
        ask_and_wait_for_the_card(page)
        before = len(server.requests)
        page.locator(button).click()
        expect_done(page)
        expect(page.locator("#lc-chat")).to_contain_text("Stopped" if button == "#lc-stop" else "Ask your documents")
        assert len(server.requests) == before


def test_a_tab_that_is_closed_while_it_waits_does_not_keep_another_waiting(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        ask_and_wait_for_the_card(page)
    with opened(chromium, address) as page:
        ask_and_wait_for_the_card(page)
        page.locator("#lc-consent-refuse").click()
        expect_done(page)


def test_one_tab_asks_in_another_chat_while_the_first_one_waits(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        ask_and_wait_for_the_card(page)
        first = page.url
        page.locator("#lc-new").click()
        expect(page.locator("#lc-consent")).to_be_hidden()
        ask_and_wait_for_the_card(page)
        assert page.url != first
        page.locator("#lc-consent-refuse").click()
        expect_done(page)
        # The first one is still where it was.
        page.locator("#lc-chats .lc-chat-title").nth(1).click()
        expect(page).to_have_url(first)
        expect(proposed(page)).to_have_value(QUESTION)
        page.locator("#lc-consent-refuse").click()
        expect_done(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)


def test_a_chat_that_ends_elsewhere_does_not_come_back_into_a_tab_that_left_it(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        ask_and_wait_for_the_card(page)
        left = page.url
        page.locator("#lc-new").click()
        expect(page).to_have_url(f"{address}/")
        with opened(chromium, left) as other:
            expect(proposed(other)).to_have_value(QUESTION, timeout=PATIENCE)
            other.locator("#lc-consent-refuse").click()
            expect_done(other)
        # Whatever is said at the end of the first answer has been said by the time that a second one waits.
        ask_and_wait_for_the_card(page)
        assert page.url != left
        page.locator("#lc-consent-refuse").click()
        expect_done(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)


def test_mode_and_forbidden_terms_are_set_on_the_page_and_hold(
    chromium: Browser, address: str, server: ScriptedSearch, screens: Path
) -> None:
    with opened(chromium, address) as page:
        open_settings(page, "Web")
        terms = page.locator("#lc-web-terms textarea")
        typed(terms, "Mount\n\nBlue Heron")
        page.get_by_label("Always search without asking me").check()
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("Works:", timeout=PATIENCE)
        page.locator("#lc-web-report").scroll_into_view_if_needed()
        page.screenshot(path=screens / "web-settings.png")
        close_settings(page)
        question_box(page).fill(QUESTION)
        page.locator("#lc-send").click()
        expect(page.locator("#lc-panel .lc-question")).to_have_text(QUESTION, timeout=PATIENCE)
        expect_done(page)
        assert server.requests[-1].query["q"] == "How high is Everest?"
        warning = page.locator("#lc-panel .lc-warning", has_text="Words were removed from the web query")
        expect(warning).to_be_visible()
    # A page of its own: a reload would break off what this one still reads after an answer, and report that.
    with opened(chromium, address) as page:
        open_settings(page, "Web")
        expect(page.locator("#lc-web-terms textarea")).to_have_value("Mount\nBlue Heron", timeout=PATIENCE)
        expect(page.get_by_label("Always search without asking me")).to_be_checked()
        page.locator("#lc-web-terms textarea").fill("")
        page.get_by_label("Ask me before each query").check()
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("Works:", timeout=PATIENCE)
