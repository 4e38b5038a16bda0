"""Labels, pins and knowledge gaps on the real page, with the real models and search server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from localcrag.storage.database import Database
from localcrag.storage.label_store import LabelStore, PinStore
from localcrag.storage.schema import DATABASE_NAME
from tests.support.app_process import running_app
from tests.support.page_driver import (
    PATIENCE,
    ask,
    close_settings,
    dropped,
    open_settings,
    open_side,
    opened,
    turn,
    wait_until,
)

pytestmark = [pytest.mark.browser, pytest.mark.search]
QUESTION = "How many days after a journey must a claim be handed in?"
ONLY_WEB = "When was penicillin found by Alexander Fleming?"
RELEVANT, NOT_RELEVANT = "This passage is relevant", "This passage is not relevant"
GOOD = "This answer is good"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("learning")


@pytest.fixture(scope="module")
def address(folder: Path, searx: str, handbook: Path, chromium: Browser) -> Iterator[str]:
    with running_app(folder, LOCALCRAG_SEARXNG_URL=searx, LOCALCRAG_WEB="always") as url:
        with opened(chromium, url) as page:
            dropped(page, handbook)
        yield url


def first_card(page: Page) -> Locator:
    return page.locator("#lc-panel .lc-card").first


def pressed(locator: Locator, value: bool = True) -> None:
    expect(locator).to_have_attribute("aria-pressed", "true" if value else "false", timeout=PATIENCE)


def the(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=name, exact=True)


def test_a_label_is_pressed_replaced_by_the_opposite_and_taken_back_by_itself(
    chromium: Browser, address: str, screens: Path
) -> None:
    with opened(chromium, address) as page:
        ask(page, QUESTION)
        panel = page.locator("#lc-panel")
        the(first_card(page), RELEVANT).click()
        pressed(the(first_card(page), RELEVANT))
        expect(the(first_card(page), RELEVANT)).to_be_focused()
        sentence = panel.locator(".lc-support li").first
        the(sentence, "This sentence is wrong").click()
        pressed(the(sentence, "This sentence is wrong"))
        # By keyboard: the other one replaces it, the same one takes it back.
        the(sentence, "This sentence is right").press("Enter")
        pressed(the(sentence, "This sentence is right"))
        pressed(the(sentence, "This sentence is wrong"), value=False)
        the(sentence, "This sentence is right").press("Space")
        pressed(the(sentence, "This sentence is right"), value=False)
        the(panel, GOOD).click()
        pressed(the(panel, GOOD))
        pressed(the(turn(page), GOOD))
        page.screenshot(path=screens / "labelled.png")


def test_labels_stay_pressed_when_an_earlier_turn_is_opened_again(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        first = ask_and_label(page)
        ask(page, "Who keeps the handbook?")
        pressed(the(first_card(page), RELEVANT), value=False)
        pressed(the(turn(page, 0), GOOD))
        pressed(the(turn(page), GOOD), value=False)
        the(turn(page, 0), "How this was answered").last.click()
        expect(page.locator("#lc-panel .lc-panel")).to_have_attribute("data-run", first)
        pressed(the(first_card(page), RELEVANT))


def test_a_stored_run_is_opened_from_its_label_which_can_be_removed(
    chromium: Browser, address: str, folder: Path, screens: Path
) -> None:
    with opened(chromium, address) as page:
        first = ask_and_label(page)
        panel = page.locator("#lc-panel")
        page.locator("#lc-new").click()
        expect(panel).to_contain_text("Here you will see which passages were found")
        labels = open_settings(page, "Feedback")
        labels.locator(".lc-open", has_text=QUESTION).first.click()
        expect(panel.locator(".lc-question")).to_have_text(QUESTION)
        pressed(the(first_card(page), RELEVANT))
        pressed(the(panel, GOOD))
        open_settings(page, "Feedback")
        page.screenshot(path=screens / "labels.png")
        remove = labels.get_by_role("button", name="Remove this rating")
        before = remove.count()
        # The newest label is listed first.
        remove.first.click()
        expect(remove).to_have_count(before - 1)
    kept = {label.kind: label for label in LabelStore(Database(folder / DATABASE_NAME)).find(run_id=first)}
    assert {kind: label.verdict for kind, label in kept.items()} == {"passage": "relevant"}
    assert kept["passage"].logit is not None  # type: ignore[index]


def ask_and_label(page: Page) -> str:
    """Ask a question, label its first passage and its answer, and return the id of its run."""
    ask(page, QUESTION)
    the(first_card(page), RELEVANT).click()
    pressed(the(first_card(page), RELEVANT))
    the(page.locator("#lc-panel"), GOOD).click()
    pressed(the(page.locator("#lc-panel"), GOOD))
    return page.locator("#lc-panel .lc-panel").get_attribute("data-run") or ""


@pytest.mark.everyday
def test_a_thumb_in_the_chat_labels_the_answer_and_opens_what_it_came_from(chromium: Browser, address: str) -> None:
    with opened(chromium, address) as page:
        ask(page, "How are rental cars booked?")
        ask(page, "Who keeps the handbook?")
        chat, panel = page.locator("#lc-chat"), page.locator("#lc-panel")
        the(turn(page, 0), "This answer is bad").click()
        expect(panel.locator(".lc-question")).to_have_text("How are rental cars booked?")
        pressed(the(panel, "This answer is bad"))
        pressed(the(turn(page, 0), "This answer is bad"))
        the(turn(page, 0), "This answer is bad").click()
        pressed(the(panel, "This answer is bad"), value=False)
        the(panel, "This answer is good").click()
        pressed(the(turn(page, 0), "This answer is good"))
        page.locator("#lc-new").click()
        expect(chat).to_contain_text("Ask your documents")
        ask(page, "Who keeps the handbook?")
        pressed(the(turn(page), "This answer is good"), value=False)


def test_a_question_is_pinned_with_what_is_proposed_edited_and_unpinned(
    chromium: Browser, address: str, folder: Path, screens: Path
) -> None:
    pins = PinStore(Database(folder / DATABASE_NAME))
    with opened(chromium, address) as page:
        ask(page, QUESTION)
        pin = page.locator("#lc-panel .lc-pin")
        pin.locator("summary").click()
        field = pin.get_by_label("Accepted answers")
        expect(field).to_have_value(re.compile(r"^[^\n]{0,120}twenty days[^\n]{0,80}$"))
        field.fill("30 days\nthirty days")
        page.screenshot(path=screens / "pin.png")
        pin.get_by_role("button", name="Pin the question").click()
        expect(pin.locator("summary")).to_have_text("Pinned")
        expect(pin.locator("summary")).to_be_focused()
        run = page.locator("#lc-panel .lc-panel").get_attribute("data-run")
        assert [question.question.answers for question in pins.find(run_id=run)] == [("30 days", "thirty days")]
        pin.locator("summary").click()
        pin.get_by_label("should not be answered").check()
        expect(field).to_be_disabled()
        pin.get_by_role("button", name="Save").click()
        wait_until(lambda: pins.find(run_id=run)[0].question.answers == ())
        expect(pin).not_to_have_attribute("open", "")
        pin.locator("summary").click()
        expect(pin.get_by_label("should not be answered")).to_be_checked()
        pin.get_by_role("button", name="Unpin").click()
        expect(pin.locator("summary")).to_have_text("Pin")
        assert pins.find(run_id=run) == []


def test_a_gaps_web_text_is_added_with_one_click_and_the_documents_answer_then(
    chromium: Browser, address: str, screens: Path
) -> None:
    with opened(chromium, address) as page:
        ask(page, ONLY_WEB)
        panel = page.locator("#lc-panel")
        expect(panel.locator(".lc-badge")).to_have_text("INCORRECT")
        open_settings(page, "Questions")
        gap = page.locator("#lc-gaps-list li", has_text=ONLY_WEB)
        expect(gap).to_have_count(1)
        expect(page.locator("#lc-gaps-list")).to_contain_text("This adds text from the web")
        page.screenshot(path=screens / "knowledge-gaps.png")
        gap.get_by_role("button", name="Add the web text that answered it").click()
        name = "How penicillin was found (web, pages.example).md"
        expect(page.locator("#lc-documents")).to_contain_text(name)
        expect(gap).to_contain_text(f"Web text that answers it was added as “{name}”.")
        expect(panel.locator(".lc-card", has_text="This web text is in your documents")).to_have_count(1)
        expect(page.locator("#lc-uploads")).to_contain_text("This is web text.")
        close_settings(page)
        ask(page, ONLY_WEB)
        expect(panel.locator(".lc-badge")).to_have_text("CORRECT")
        expect(first_card(page)).to_contain_text(name)
        expect(turn(page)).to_contain_text("1928")
        open_settings(page, "Questions")
        expect(gap).to_have_count(0)
        close_settings(page)
        first_card(page).scroll_into_view_if_needed()
        page.screenshot(path=screens / "gap-filled.png")


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (400, "dark"), (1280, "dark")], ids=["narrow", "narrow dark", "wide dark"]
)
def test_labels_and_pins_are_whole_on_a_narrow_screen_and_in_the_dark(
    chromium: Browser, address: str, screens: Path, width: int, scheme: str
) -> None:
    with opened(chromium, address, width=width, scheme=scheme) as page:
        ask(page, "How are rental cars booked?")
        open_side(page, "right")
        the(first_card(page), NOT_RELEVANT).click()
        pressed(the(first_card(page), NOT_RELEVANT))
        page.locator("#lc-panel .lc-pin summary").click()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        page.locator("#lc-panel .lc-said").scroll_into_view_if_needed()
        page.screenshot(path=screens / f"labelled-{scheme}-{width}.png")
        page.locator("#lc-panel .lc-support").scroll_into_view_if_needed()
        page.screenshot(path=screens / f"labelled-sentences-{scheme}-{width}.png")
