"""A chat on the real page, with the real models and search server: questions, answers and their sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app, standing_still
from tests.support.documents import make_html
from tests.support.page_driver import (
    PATIENCE,
    answered,
    ask,
    drop,
    dropped,
    open_settings,
    opened,
    question_box,
    reload,
    turn,
)

pytestmark = pytest.mark.browser


@pytest.mark.everyday
def test_a_question_that_the_documents_answer(chromium: Browser, with_handbook: str, screens: Path) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "How many days after a journey must a claim be handed in?")
        panel = page.locator("#lc-panel")
        expect(panel.locator(".lc-badge")).to_have_text("CORRECT")
        expect(panel.locator(".lc-decision")).to_contain_text(re.compile(r"best passage 0\.\d+ ≥ 0\.\d+"))
        assert panel.locator(".lc-card").count() >= 3
        assert panel.locator(".lc-card").first.locator(".lc-tick").count() == 2
        assert panel.locator(".lc-kept").count() >= 1
        assert panel.locator(".lc-dropped").count() >= 1
        expect(panel.locator(".lc-steps")).to_contain_text("generate")
        # What the tests before have left there is no part of the README's picture.
        page.get_by_role("button", name="Clear the list").click()
        expect(page.locator("#lc-uploads")).not_to_contain_text("added")
        page.screenshot(path=screens / "correct.png")


def test_a_question_that_only_the_web_answers(chromium: Browser, with_handbook: str, screens: Path) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "When was penicillin found by Alexander Fleming?")
        panel = page.locator("#lc-panel")
        expect(panel.locator(".lc-badge")).to_have_text("INCORRECT")
        asked = panel.locator(".lc-note", has_text="sent to your SearXNG")
        expect(asked.locator("code")).to_contain_text(re.compile("penicillin", re.IGNORECASE))
        expect(panel).to_contain_text("How penicillin was found")
        expect(panel.locator(".lc-kept").first).to_contain_text("1928")
        page.screenshot(path=screens / "incorrect.png")
        panel.locator(".lc-card", has_text="1928").first.locator(".lc-source").click()
        source = page.locator("#lc-source")
        expect(source.locator("mark").first).to_contain_text("1928")
        expect(source).to_contain_text("the page itself was not fetched")
        link = source.get_by_role("link", name="Open this page in a new tab")
        expect(link).to_have_attribute("href", "https://pages.example/penicillin")
        expect(link).to_have_attribute("rel", "noopener noreferrer")
        page.screenshot(path=screens / "web-source.png")


@pytest.mark.everyday
def test_a_citation_opens_its_page_with_the_sentence_marked(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "What does the hotel in London cost per night at most?")
        ask(page, "Who keeps the handbook?")
        citation = turn(page, 0).locator(".lc-cite").first
        citation.hover()
        expect(citation.locator(".lc-tip")).to_contain_text("handbook.pdf")
        citation.click()
        source = page.locator("#lc-source")
        expect(source.locator("h2")).to_have_text("handbook.pdf")
        # The same one once more, which gives Gradio nothing new to show.
        source.get_by_role("button", name="How this was answered").click()
        expect(source).to_be_hidden()
        citation.click()
        expect(source.locator("h2")).to_be_visible()
        expect(source).to_contain_text(re.compile(r"page \d+ of 12"))
        expect(source.locator(".lc-box").first).to_be_in_viewport()
        page.screenshot(path=screens / "source.png")
        before = source.locator("img").get_attribute("alt")
        source.get_by_role("button", name="Larger").click()
        expect(source.locator("figure")).to_have_attribute("style", re.compile("width: 200%"))
        source.get_by_role("button", name="Next page").click()
        expect(source.locator("img")).not_to_have_attribute("alt", before or "")
        page.keyboard.press("Escape")
        expect(source).to_be_hidden()
        expect(page.locator("#lc-panel .lc-question")).to_be_visible()
        page.locator("#lc-documents .lc-name", has_text="handbook.pdf").click()
        expect(source).to_contain_text("page 1 of 12")
        source.locator("[data-back]").click()
        expect(source).to_be_hidden()


def test_sentences_forced_out_and_in_are_answered_from_again(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "How many days after a journey must a claim be handed in?")
        panel = page.locator("#lc-panel")
        first = panel.locator(".lc-panel").get_attribute("data-run") or ""
        kept = panel.locator(".lc-kept").first
        key = kept.locator("[data-force]").get_attribute("data-force")
        kept.locator("[data-force]").click()
        expect(panel.locator(".lc-forced")).to_contain_text("1 changed")
        panel.get_by_role("button", name="Undo").click()
        expect(panel.locator(".lc-forced")).to_be_hidden()
        kept.click()
        panel.locator(".lc-dropped").first.locator("[data-force]").press("Enter")
        expect(panel.locator(".lc-forced")).to_contain_text("2 changed")
        page.screenshot(path=screens / "forced.png")
        panel.get_by_role("button", name="Answer again").click()
        answered(page, 2)
        expect(panel.locator(".lc-panel")).not_to_have_attribute("data-run", first)
        expect(turn(page)).to_contain_text("From sentences that you chose.")
        again = panel.locator(".lc-strip").filter(has=page.locator(f"[data-force='{key}']"))
        expect(again).to_contain_text("removed by you")
        expect(panel.locator(".lc-strip", has_text="added by you")).to_have_count(1)


def test_a_question_is_edited_answered_again_and_copied(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        ask(page, "Who keeps the handbook?")
        first = turn(page).get_attribute("data-run") or ""
        turn(page).get_by_role("button", name="Answer once more").click()
        expect(turn(page)).not_to_have_attribute("data-run", first)
        answered(page, 1)
        turn(page).get_by_role("button", name="Edit this question and ask again").click()
        box = turn(page).get_by_label("Your question")
        expect(box).to_have_value("Who keeps the handbook?")
        box.press("Escape")
        expect(turn(page).locator(".lc-asked p")).to_have_text("Who keeps the handbook?")
        turn(page).get_by_role("button", name="Edit this question and ask again").click()
        # An answer that ends meanwhile leaves what is typed, and where.
        question_box(page).fill("Who keeps the handbook, and where?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-stop")).to_be_visible()
        # The server stands still meanwhile: the answer could be there before the words.
        with standing_still(with_handbook):
            box.fill("How are rental cars booked?")
        answered(page, 2)
        box = turn(page, 0).get_by_label("Your question")
        expect(box).to_have_value("How are rental cars booked?")
        expect(box).to_be_focused()
        box.press("Enter")
        expect(turn(page).locator(".lc-asked p")).to_have_text("How are rental cars booked?")
        answered(page, 1)
        turn(page).get_by_role("button", name="Copy the answer").click()
        expect(page.locator("#lc-say")).to_have_text("Copied")
        assert re.search(r"\[\d+\]", page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.everyday
def test_an_answer_goes_on_while_the_page_is_loaded_again(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        question_box(page).fill("How are rental cars booked, and what has to be done before they are given back?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-live .lc-busy")).to_be_visible()
        reload(page)
        answered(page, 1)
        expect(turn(page).locator(".lc-text")).not_to_be_empty()


def test_what_is_typed_while_an_answer_is_written_stays(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        question_box(page).fill("How are rental cars booked, and what is done before they are given back?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-stop")).to_be_visible()
        question_box(page).fill("my next question")
        answered(page, 1)
        expect(question_box(page)).to_have_value("my next question")


def test_stop_stops_and_a_new_chat_forgets(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        question_box(page).fill("How are rental cars booked, and what has to be done before they are given back?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-stop")).to_be_visible()
        # The server stands still meanwhile: with few words to write, the answer could be there before the click.
        with standing_still(with_handbook):
            page.locator("#lc-stop").click(no_wait_after=True)
        expect(page.locator("#lc-stop")).to_be_hidden()
        expect(page.locator("#lc-send")).to_be_visible()
        expect(page.locator("#lc-chat")).to_contain_text("Stopped")
        page.locator("#lc-new").click()
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        ask(page, "Who keeps the handbook?")


def test_the_language_model_as_scorer_shows_its_reasons_and_can_be_stopped(
    chromium: Browser, tmp_path: Path, handbook: Path, screens: Path
) -> None:
    with running_app(tmp_path, LOCALCRAG_SCORER="llm", LOCALCRAG_K="3") as url, opened(chromium, url) as page:
        dropped(page, handbook)
        ask(page, "Who keeps the handbook?")
        panel = page.locator("#lc-panel")
        expect(panel).to_contain_text("graded by the language model smollm2-135m-answerer")
        expect(panel.locator(".lc-warning").first).to_contain_text("is not calibrated")
        expect(panel.locator(".lc-reason").first).to_contain_text("the model’s reason:")
        expect(panel.locator(".lc-steps")).to_contain_text(re.compile(r"3 calls, \d+ → \d+ tokens"))
        page.screenshot(path=screens / "graded-by-the-language-model.png")
        question_box(page).fill("How are rental cars booked?")
        page.locator("#lc-send").click()
        expect(panel.locator(".lc-busy")).to_contain_text("grading passage", timeout=PATIENCE)
        page.locator("#lc-stop").click()
        expect(page.locator("#lc-chat")).to_contain_text("Stopped.", timeout=PATIENCE)
        expect(panel.locator(".lc-card")).to_have_count(0)


def test_totals_are_shown_and_all_questions_are_summed_up(chromium: Browser, with_handbook: str, screens: Path) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "How are rental cars booked?")
        expect(page.locator("#lc-panel .lc-because").first).to_contain_text("correct:")
        expect(page.locator("#lc-panel .lc-totals")).to_contain_text(re.compile(r"plain RAG's \d+"))
        ask(page, "Which colour has the Brackwater lighthouse <b>?")
        open_settings(page, "Questions")
        expect(page.locator("#lc-all .lc-all").first).to_contain_text(re.compile(r"[1-9]\d* CORRECT"))
        newest = page.locator("#lc-gaps-list li").first
        expect(newest).to_contain_text("Which colour has the Brackwater lighthouse <b>?")
        page.screenshot(path=screens / "all-questions.png")
        newest.locator(".lc-open").first.click()
        expect(page.locator("#lc-settings")).to_be_hidden()
        expect(page.locator("#lc-panel .lc-question")).to_contain_text("Brackwater")


HOSTILE = (
    "The vault of Zorblax is opened by <img src=x onerror=\"window.hurt=1\"> the ${window.hurt=2} keeper "
    "{{constructor}} ![pixel](http://192.0.2.1/pixel.png) <script>window.hurt=3</script> Mirabel "
    "[here](http://192.0.2.1) https://example.com www.example.com a@b.cc &amp; &lt;."
)  # fmt: skip


def test_hostile_text_is_shown_as_text(chromium: Browser, with_handbook: str, tmp_path: Path) -> None:
    name = "<img src=x onerror=window.hurt=4>.txt"
    shown = "img src=x onerror=window.hurt=4.txt"  # Gradio takes the angle brackets out of an upload's name
    (tmp_path / name).write_text(HOSTILE, encoding="utf-8")
    make_html(tmp_path / "page.html", f"<p>{HOSTILE.replace('<', '&lt;')}</p>")
    asked = 'Who opens the vault of Zorblax? <b>bold</b> ![q](http://192.0.2.1/q.png) www.x.com a@b.cc &lt; "$&'
    with opened(chromium, with_handbook) as page:
        drop(page, tmp_path / name, tmp_path / "page.html")
        expect(page.locator("#lc-documents")).to_contain_text("page.html")
        expect(page.locator("#lc-documents")).to_contain_text(shown)
        ask(page, asked)
        expect(page.locator("#lc-panel")).to_contain_text("![pixel](http://192.0.2.1/pixel.png)")
        expect(page.locator("#lc-panel")).to_contain_text("<script>window.hurt=3</script>")
        expect(page.locator("#lc-panel")).to_contain_text("${window.hurt=2}")
        expect(page.locator("#lc-chat")).to_contain_text(asked)
        expect(page.locator("#lc-chats")).to_contain_text("Who opens the vault of Zorblax? <b>bold</b>")
        page.locator("#lc-panel .lc-card .lc-source").first.click()
        expect(page.locator("#lc-source")).to_contain_text("<script>window.hurt=3</script>")
        assert page.locator("#lc-chat a:not(.lc-cite)").count() == 0
        assert page.locator("img[src*='192.0.2.1'], #lc-panel img, #lc-source img").count() == 0
        assert page.evaluate("window.hurt") is None
