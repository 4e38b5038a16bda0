"""The page in another language: chosen in the settings, all of it after that, and kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from make_languages import read
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from tests.support.app_process import running_app
from tests.support.page_driver import answered, loaded_anew, open_settings, opened, question_box, reload

pytestmark = pytest.mark.browser

SEEN = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest("script, style")) texts.push(walker.currentNode.textContent.trim());
  }
  for (const name of ["aria-label", "title", "placeholder"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) texts.push(element.getAttribute(name));
  }
  return texts;
}"""


@pytest.fixture(scope="module")
def english() -> set[str]:
    """The texts that are something else in German."""
    catalogue = read("de")
    return {str(message.id) for message in catalogue if message.id and message.id != message.string}


def in_german(page: Page, english: set[str]) -> None:
    """Wait until nothing on the page is English; lists come in one after the other when it is loaded."""
    with suppress(NotInTime):  # What is left is said below.
        all_german = f"english => {{ const any = new Set(english); return !({SEEN})().some(text => any.has(text)); }}"
        page.wait_for_function(all_german, arg=sorted(english), polling=200)
    assert english.intersection(page.evaluate(SEEN)) == set()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("language")) as url:
        yield url


@contextmanager
def german(browser: Browser, address: str) -> Iterator[Page]:
    """Open the page and have it in German; in the end it is in English again."""
    with opened(browser, address) as page:
        open_settings(page).locator("[data-language]").select_option("Deutsch")
        expect(page.locator("#lc-send")).to_have_text("Fragen")
        loaded_anew(page)
        yield page
        if page.locator("#lc-send").inner_text() != "Ask":
            in_english(page)


def in_english(page: Page) -> None:
    """Have the page in English."""
    open_settings(page).locator("[data-language]").select_option("English")
    expect(page.locator("#lc-send")).to_have_text("Ask")
    loaded_anew(page)


@pytest.mark.everyday
def test_a_chosen_language_is_that_of_the_whole_page_and_its_settings(
    chromium: Browser, address: str, english: set[str]
) -> None:
    with german(chromium, address) as page:
        expect(page.locator("html")).to_have_attribute("lang", "de")
        in_german(page, english)
        screen = open_settings(page)
        for tab in ("Web", "Modelle", "Daten", "Fragen", "Bewertungen"):
            screen.get_by_role("tab", name=tab, exact=True).click()
            in_german(page, english)


def test_uploads_and_answers_are_in_the_chosen_language(
    chromium: Browser, address: str, screens: Path, english: set[str]
) -> None:
    with german(chromium, address) as page:
        page.get_by_role("button", name="Beispiele aufnehmen").click()
        expect(page.locator("#lc-uploads")).to_contain_text("10 Dateien sind aufgenommen.")
        question_box(page).fill("How much is the fine for a late book of the Haldmere town library?")
        question_box(page).press("Enter")
        answered(page, 1)
        expect(page.locator("#lc-panel")).to_contain_text("Passagen")
        in_german(page, english)
        page.screenshot(path=screens / "german.png")
        # A turn is kept in the language that it was answered in; the page is in the one chosen.
        in_english(page)
        expect(page.locator("#lc-panel")).to_contain_text("Passages")


def test_a_language_that_the_environment_sets_is_kept_over_a_reload(chromium: Browser, tmp_path: Path) -> None:
    with running_app(tmp_path, LOCALCRAG_LANGUAGE="de") as url, opened(chromium, url) as page:
        expect(page.locator("#lc-send")).to_have_text("Fragen")
        reload(page)
        expect(page.locator("#lc-send")).to_have_text("Fragen")
