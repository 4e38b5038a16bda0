"""The real page in a real browser, with the real models and search server; its screenshots are the README's."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.app_process import Watched, running_app, start_chromium, watch
from tests.documents import make_html, make_pdf

pytestmark = [pytest.mark.browser, pytest.mark.search]
PATIENCE = 120_000
"""Milliseconds for what the models do, on a machine that is busy with other tests."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = start_chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, searx: str) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("page"), LOCALCRAG_SEARXNG_URL=searx, LOCALCRAG_WEB="always") as url:
        yield url


@pytest.fixture
def opened(chromium: Browser, address: str) -> Iterator[Watched]:
    """A fresh page; in the end nothing was complained about and nobody else was asked."""
    with chromium.new_context(viewport={"width": 1280, "height": 860}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watched = watch(page)
        page.goto(address)
        expect(question_box(page)).to_be_visible(timeout=PATIENCE)
        yield watched
        assert watched.problems == []
        assert watched.foreign == []


@pytest.fixture(scope="module")
def with_handbook(address: str, chromium: Browser, handbook: Path) -> str:
    """The app's address, once the handbook is in its collection."""
    page = chromium.new_page()
    page.goto(address)
    drop(page, handbook)
    expect(page.locator("#lc-documents")).to_contain_text("handbook.pdf", timeout=PATIENCE)
    page.close()
    return address


def question_box(page: Page):  # type: ignore[no-untyped-def]
    return page.locator("#lc-question textarea")


def drop(page: Page, *files: Path) -> None:
    page.locator("#lc-drop input[type=file]").set_input_files(list(files))


def ask(page: Page, question: str) -> None:
    question_box(page).fill(question)
    page.locator("#lc-send").click()
    expect(page.locator("#lc-panel .lc-question")).to_have_text(question, timeout=PATIENCE)
    expect(page.locator("#lc-send")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#lc-panel .lc-busy")).to_have_count(0, timeout=PATIENCE)


def test_an_empty_page_says_what_to_do(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    with running_app(tmp_path) as url, chromium.new_context(viewport={"width": 1280, "height": 860}) as context:
        page = context.new_page()
        watched = watch(page)
        page.goto(url)
        expect(page.locator("#lc-documents")).to_contain_text("No documents yet", timeout=PATIENCE)
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents.")
        expect(page.locator("#lc-panel")).to_contain_text("Here you will see which passages were found")
        page.screenshot(path=screens / "empty.png")
        ask_about_nothing(page)
        assert watched.problems == []
        assert watched.foreign == []


def ask_about_nothing(page: Page) -> None:
    ask(page, "What is the hotel limit?")
    expect(page.locator("#lc-chat")).to_contain_text("There is nothing in the collection")


def test_dropped_documents_show_their_progress_go_in_and_failures_say_why(
    opened: Watched, tmp_path: Path, screens: Path
) -> None:
    page = opened.page
    make_pdf(tmp_path / "harbour.pdf", ["The harbour master is called Runa.", "The crane lifts forty tonnes."])
    (tmp_path / "broken.pdf").write_bytes(b"this is no PDF")
    long = "A sentence that has to be embedded like any other one. " * 4000
    (tmp_path / "long.txt").write_text(long, encoding="utf-8")
    drop(page, tmp_path / "harbour.pdf", tmp_path / "broken.pdf", tmp_path / "long.txt")
    expect(page.locator("#lc-uploads .lc-upload")).to_contain_text(
        re.compile(r"\d+ of \d+ chunks embedded"), timeout=PATIENCE
    )
    page.screenshot(path=screens / "ingesting.png")
    expect(page.locator("#lc-documents")).to_contain_text("harbour.pdf", timeout=PATIENCE)
    expect(page.locator("#lc-uploads .lc-result-failed")).to_contain_text("broken.pdf")
    expect(page.locator("#lc-uploads .lc-result-failed")).to_be_visible()
    page.locator("#lc-cancel").click()
    expect(page.locator("#lc-uploads")).to_contain_text("1 of 3 files were not taken in", timeout=PATIENCE)
    expect(page.get_by_text("1 of 3 files were not taken in")).to_be_visible()
    expect(page.locator("#lc-documents")).not_to_contain_text("long.txt")
    page.screenshot(path=screens / "failed-upload.png")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("[data-delete='harbour.pdf']").click()
    expect(page.locator("#lc-documents")).not_to_contain_text("harbour.pdf", timeout=PATIENCE)


@pytest.mark.usefixtures("with_handbook")
def test_a_question_that_the_documents_answer(opened: Watched, screens: Path) -> None:
    page = opened.page
    ask(page, "How many days after a journey must a claim be handed in?")
    panel = page.locator("#lc-panel")
    expect(panel.locator(".lc-badge")).to_have_text("CORRECT")
    expect(panel.locator(".lc-decision")).to_contain_text(re.compile(r"best passage 0\.\d+ ≥ 0\.\d+"))
    assert panel.locator(".lc-card").count() >= 3
    assert panel.locator(".lc-card").first.locator(".lc-tick").count() == 2
    assert panel.locator(".lc-kept").count() >= 1
    assert panel.locator(".lc-dropped").count() >= 1
    expect(panel.locator(".lc-steps")).to_contain_text("generate")
    page.screenshot(path=screens / "correct.png")


@pytest.mark.usefixtures("with_handbook")
def test_a_citation_leads_to_its_evidence_also_from_an_earlier_turn(opened: Watched) -> None:
    page = opened.page
    ask(page, "What does the hotel in London cost per night at most?")
    first = page.locator("#lc-panel .lc-panel").get_attribute("data-run")
    citation = page.locator(f"#lc-chat a[href^='#evidence-{first}']").first
    citation.click()
    here = page.locator("#lc-panel .lc-here")
    expect(here).to_have_count(1)
    expect(here).to_be_in_viewport()
    ask(page, "Who keeps the handbook?")
    assert page.locator("#lc-panel .lc-panel").get_attribute("data-run") != first
    citation.click()
    expect(page.locator("#lc-panel .lc-panel")).to_have_attribute("data-run", first or "", timeout=PATIENCE)
    expect(page.locator("#lc-panel .lc-here")).to_be_in_viewport(timeout=PATIENCE)


@pytest.mark.usefixtures("with_handbook")
def test_a_question_that_only_the_web_answers(opened: Watched, screens: Path) -> None:
    page = opened.page
    ask(page, "When was penicillin found by Alexander Fleming?")
    panel = page.locator("#lc-panel")
    expect(panel.locator(".lc-badge")).to_have_text("INCORRECT")
    asked = panel.locator(".lc-note", has_text="asked of your SearXNG")
    expect(asked.locator("code")).to_contain_text(re.compile("penicillin", re.IGNORECASE))
    expect(panel).to_contain_text("How penicillin was found")
    expect(panel.locator(".lc-kept").first).to_contain_text("1928")
    page.screenshot(path=screens / "incorrect.png")


def test_the_language_model_as_scorer_shows_its_reasons_and_can_be_stopped(
    chromium: Browser, tmp_path: Path, handbook: Path, screens: Path
) -> None:
    with (
        running_app(tmp_path, LOCALCRAG_SCORER="llm", LOCALCRAG_K="3") as url,
        chromium.new_context(viewport={"width": 1280, "height": 860}) as context,
    ):
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watched = watch(page)
        page.goto(url)
        drop(page, handbook)
        expect(page.locator("#lc-documents")).to_contain_text("handbook.pdf", timeout=PATIENCE)
        ask(page, "Who keeps the handbook?")
        panel = page.locator("#lc-panel")
        expect(panel).to_contain_text("graded by the language model smollm2-135m-instruct")
        expect(panel.locator(".lc-warning").first).to_contain_text("not been calibrated")
        expect(panel.locator(".lc-reason").first).to_contain_text("the model’s reason:")
        expect(panel.locator(".lc-steps")).to_contain_text(re.compile(r"3 calls, \d+ → \d+ tokens"))
        page.screenshot(path=screens / "graded-by-the-language-model.png")
        question_box(page).fill("How are rental cars booked?")
        page.locator("#lc-send").click()
        expect(panel.locator(".lc-busy")).to_contain_text("grading passage", timeout=PATIENCE)
        page.locator("#lc-stop").click()
        expect(page.locator("#lc-chat")).to_contain_text("Stopped.", timeout=PATIENCE)
        expect(panel.locator(".lc-card")).to_have_count(0)
        assert watched.problems == []
        assert watched.foreign == []


@pytest.mark.usefixtures("with_handbook")
def test_totals_are_shown_and_all_questions_are_summed_up_as_they_come(opened: Watched, screens: Path) -> None:
    page = opened.page
    ask(page, "Who keeps the handbook?")
    expect(page.locator("#lc-panel .lc-because").first).to_contain_text("correct:")
    expect(page.locator("#lc-panel .lc-totals")).to_contain_text(re.compile(r"plain RAG's \d+"))
    page.get_by_role("button", name="All questions so far").click()
    summed_up = page.locator("#lc-all .lc-all").first
    expect(summed_up).to_contain_text(re.compile(r"[1-9]\d* CORRECT"), timeout=PATIENCE)
    ask(page, "Which colour has the Brackwater lighthouse <b>?")
    newest = page.locator("#lc-gaps li").first
    expect(newest).to_contain_text("Which colour has the Brackwater lighthouse <b>?", timeout=PATIENCE)
    expect(summed_up).to_be_visible()
    summed_up.scroll_into_view_if_needed()
    page.screenshot(path=screens / "all-questions.png")


@pytest.mark.usefixtures("with_handbook")
def test_stop_stops_and_a_new_chat_forgets(opened: Watched) -> None:
    page = opened.page
    question_box(page).fill("How are rental cars booked, and what has to be done before they are given back?")
    page.locator("#lc-send").click()
    page.locator("#lc-stop").click()
    expect(page.locator("#lc-stop")).to_be_hidden(timeout=PATIENCE)
    expect(page.locator("#lc-send")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#lc-chat")).to_contain_text("Stopped.")
    page.locator("#lc-new").click()
    expect(page.locator("#lc-chat")).to_contain_text("Ask your documents.", timeout=PATIENCE)
    ask(page, "Who keeps the handbook?")
    expect(page.locator("#lc-chat [data-testid='bot']")).to_have_count(1)


HOSTILE = (
    "The vault of Zorblax is opened by <img src=x onerror=\"window.hurt=1\"> the ${window.hurt=2} keeper "
    "{{constructor}} ![pixel](http://192.0.2.1/pixel.png) <script>window.hurt=3</script> Mirabel "
    "[here](http://192.0.2.1) https://example.com www.example.com a@b.cc &amp; &lt;."
)  # fmt: skip


@pytest.mark.usefixtures("with_handbook")
def test_hostile_text_is_shown_as_text(opened: Watched, tmp_path: Path) -> None:
    page = opened.page
    name = "<img src=x onerror=window.hurt=4>.txt"
    shown = "img src=x onerror=window.hurt=4.txt"  # Gradio takes the angle brackets out of an upload's name
    (tmp_path / name).write_text(HOSTILE, encoding="utf-8")
    make_html(tmp_path / "page.html", f"<p>{HOSTILE.replace('<', '&lt;')}</p>")
    drop(page, tmp_path / name, tmp_path / "page.html")
    expect(page.locator("#lc-documents")).to_contain_text("page.html", timeout=PATIENCE)
    expect(page.locator("#lc-documents")).to_contain_text(shown)
    ask(page, 'Who opens the vault of Zorblax? <b>bold</b> ![q](http://192.0.2.1/q.png) www.x.com a@b.cc &lt; "$&')
    expect(page.locator("#lc-panel")).to_contain_text("![pixel](http://192.0.2.1/pixel.png)")
    expect(page.locator("#lc-panel")).to_contain_text("<script>window.hurt=3</script>")
    expect(page.locator("#lc-panel")).to_contain_text("${window.hurt=2}")
    expect(page.locator("#lc-chat")).to_contain_text(
        '<b>bold</b> ![q](http://192.0.2.1/q.png) www.x.com a@b.cc &lt; "$&'
    )
    assert page.locator("#lc-chat a:not([href^='#evidence-'])").count() == 0
    assert page.locator("#lc-chat img[src*='192.0.2.1'], #lc-panel img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_a_preset_is_chosen_on_the_page_and_shown_with_the_answer(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    question = "How many days after a journey must a claim be handed in?"
    with chromium.new_context(viewport={"width": 1280, "height": 860}) as context:
        page = context.new_page()
        watched = watch(page)
        page.goto(with_handbook)
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions", timeout=PATIENCE)
        choose_preset(page, "strict")
        expect(page.locator("#lc-preset")).to_contain_text("two passages must carry it", timeout=PATIENCE)
        page.reload()
        expect(page.locator("#lc-preset")).to_contain_text("two passages must carry it", timeout=PATIENCE)
        ask(page, question)
        expect(page.locator("#lc-panel .lc-decision")).to_contain_text("2 are enough")
        expect(page.locator("#lc-panel")).to_contain_text("Preset strict, policy count")
        page.screenshot(path=screens / "preset.png")
        choose_preset(page, "general")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions", timeout=PATIENCE)
        choose_preset(page, "balanced", "#lc-preset-once")
        ask(page, question)
        expect(page.locator("#lc-panel")).to_contain_text("Preset balanced, policy ratio")
        expect(page.locator("#lc-preset-once input")).to_have_value("the same", timeout=PATIENCE)
        ask(page, question)
        expect(page.locator("#lc-panel")).to_contain_text("Preset general, policy max")
        assert watched.problems == []


def choose_preset(page: Page, name: str, box: str = "#lc-preset") -> None:
    page.locator(f"{box} input").click()
    page.get_by_role("option", name=name, exact=True).click()
    # The list fades away, and takes clicks meanwhile.
    expect(page.get_by_role("option")).to_have_count(0)


def test_the_web_settings_explain_what_is_wrong(chromium: Browser, tmp_path: Path) -> None:
    with running_app(tmp_path) as url, chromium.new_context() as context:
        page = context.new_page()
        page.goto(url)
        page.get_by_role("button", name="Web search").click()
        address = page.get_by_label("Address of your SearXNG")
        address.wait_for()
        # Gradio makes what an accordion holds when it is opened, and sets its value after that: what is typed within
        # those milliseconds, which nobody does by hand, is gone. It is done before the second frame.
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        address.fill("http://127.0.0.1:9")
        expect(address).to_have_value("http://127.0.0.1:9")
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("SearXNG is not running", timeout=PATIENCE)
        page.get_by_label("Address of your SearXNG").fill("http://8.8.8.8")
        page.get_by_role("button", name="Save and test").click()
        expect(page.locator("#lc-web-report")).to_contain_text("8.8.8.8 is neither this computer", timeout=PATIENCE)


def test_how_answers_are_made_is_set_on_the_page_and_kept(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    with running_app(tmp_path) as url, chromium.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.get_by_role("button", name="How answers are made").click()
        page.get_by_label("only sentences that the evidence backs in full").check()
        page.get_by_label("Look once more").uncheck()
        page.locator("#lc-how input").first.click()
        page.get_by_role("option", name="two correct passages are needed").click()
        page.screenshot(path=screens / "how.png")
        settings = tmp_path / "settings.json"
        expected = {"strictness": "strict", "retry": False, "policy": "count"}
        wait_until(lambda: settings.is_file() and json.loads(settings.read_text("utf-8")) == expected)
        page.locator("#lc-how input").first.click()
        page.get_by_role("option", name="as the preset says").click()
        wait_until(lambda: "policy" not in json.loads(settings.read_text("utf-8")))


def wait_until(holds: Callable[[], bool]) -> None:
    """Return when `holds` does; fail when it does not within PATIENCE."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "dark"), (400, "light"), (400, "dark")], ids=["wide dark", "narrow", "narrow dark"]
)
def test_the_page_is_whole_in_the_dark_and_on_a_narrow_screen(
    chromium: Browser, with_handbook: str, screens: Path, width: int, scheme: str
) -> None:
    with chromium.new_context(
        viewport={"width": width, "height": 860}, color_scheme="dark" if scheme == "dark" else "light"
    ) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(with_handbook)
        ask(page, "What does the company pay per kilometre for one's own car?")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        page.screenshot(path=screens / f"{scheme}-{width}.png", full_page=width < 1000)


def test_the_page_starts_behind_a_proxy_and_answers_only_to_its_own_name(tmp_path: Path) -> None:
    with running_app(tmp_path, HTTP_PROXY="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9") as url:
        statuses = [
            httpx.get(url, headers={"Host": host}, trust_env=False).status_code
            for host in (url.removeprefix("http://"), "localhost", "evil.example", "evil.example:80")
        ]
    assert statuses == [200, 200, 400, 400]


@pytest.mark.usefixtures("with_handbook")
def test_what_is_typed_while_an_answer_is_written_stays(opened: Watched) -> None:
    page = opened.page
    question_box(page).fill("How are rental cars booked, and what is done before they are given back?")
    page.locator("#lc-send").click()
    expect(page.locator("#lc-stop")).to_be_visible(timeout=PATIENCE)
    question_box(page).fill("my next question")
    expect(page.locator("#lc-send")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#lc-panel .lc-busy")).to_have_count(0, timeout=PATIENCE)
    expect(question_box(page)).to_have_value("my next question")


@pytest.mark.usefixtures("with_handbook")
def test_files_dropped_while_others_are_taken_in_wait_their_turn(opened: Watched, tmp_path: Path) -> None:
    page = opened.page
    (tmp_path / "first.txt").write_text("A sentence that has to be embedded like any other one. " * 1500)
    (tmp_path / "second.txt").write_text("A short one.")
    drop(page, tmp_path / "first.txt")
    expect(page.locator("#lc-uploads .lc-upload")).to_contain_text("embedded", timeout=PATIENCE)
    drop(page, tmp_path / "second.txt")
    expect(page.locator("#lc-documents")).to_contain_text("first.txt", timeout=PATIENCE)
    expect(page.locator("#lc-documents")).to_contain_text("second.txt", timeout=PATIENCE)
