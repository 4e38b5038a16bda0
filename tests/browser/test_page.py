"""The real page in a real browser, with the real models and search server; its screenshots are the README's."""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.settings import REPOSITORY_MODELS, load
from localcrag.storage.schema import DATABASE_NAME
from tests.support.app_process import running_app, standing_still
from tests.support.documents import make_html, make_pages_pdf, make_pdf
from tests.support.first_start import started_before
from tests.support.hub_server import HubFile, serve_hub
from tests.support.model_folders import entry, file_line, hub_source
from tests.support.page_driver import (
    PATIENCE,
    answered,
    ask,
    choose,
    close_settings,
    drop,
    dropped,
    each_under_way,
    go,
    loaded_anew,
    loaded_at,
    open_settings,
    open_side,
    opened,
    question_box,
    reload,
    settled,
    turn,
    typed,
    wait_until,
    whole,
)

pytestmark = pytest.mark.search


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, searx: str) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("page"), LOCALCRAG_SEARXNG_URL=searx, LOCALCRAG_WEB="always") as url:
        yield url


@pytest.fixture(scope="module")
def without_search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app whose SearXNG is set on the page, if at all."""
    with running_app(tmp_path_factory.mktemp("without")) as url:
        yield url


@pytest.fixture(scope="module")
def with_handbook(address: str, chromium: Browser, handbook: Path) -> str:
    """The app's address, once the handbook is in its collection."""
    with opened(chromium, address) as page:
        dropped(page, handbook)
    return address


FRAMES = """{
  const drawn = window.requestAnimationFrame.bind(window);
  window.framesAsked = 0;
  window.requestAnimationFrame = (step) => { window.framesAsked += 1; return drawn(step); };
}"""
"""Counts who asks for a frame; stands before the page's own scripts."""
AT_REST = """async () => {
  const before = window.framesAsked;
  for (let own = 0; own < 60; own += 1) await new Promise((next) => window.requestAnimationFrame(next));
  return window.framesAsked - before - 60 < 20;
}"""
"""Of the sixty frames that Gradio's loading sign would ask for, a few at most."""


def test_a_page_at_rest_draws_nothing(chromium: Browser, without_search: str) -> None:
    with chromium.new_context() as context:
        context.add_init_script(FRAMES)
        page = context.new_page()
        go(page, without_search)
        expect(question_box(page)).to_be_visible(timeout=PATIENCE)
        # What has just come is drawn first, on a busy machine for longer than a moment.
        page.wait_for_function(AT_REST, polling=100, timeout=PATIENCE)


def test_a_pdf_with_a_password_is_opened_on_the_page(chromium: Browser, address: str, tmp_path: Path) -> None:
    locked = make_pdf(tmp_path / "locked.pdf", ["The keys hang behind the harbour door."], password="tide")  # noqa: S106
    with opened(chromium, address) as page:
        drop(page, locked)
        uploads = page.locator("#lc-uploads")
        field = uploads.get_by_label("Password of locked.pdf")
        for typed_in, said in (("ebb", "locked.pdf has another password. Try again."), ("tide", "was added.")):
            field.fill(typed_in)
            field.press("Enter")
            expect(uploads).to_contain_text(said)
        expect(field).to_have_count(0)
        expect(page.locator("#lc-documents")).to_contain_text("locked.pdf")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete locked.pdf").click()
        expect(page.locator("#lc-documents")).not_to_contain_text("locked.pdf")


def test_some_documents_alone_are_asked_and_the_panel_says_which(
    chromium: Browser, address: str, tmp_path: Path, screens: Path
) -> None:
    for place, rent in (("Quay Street", 940), ("Mill Lane", 720)):
        (tmp_path / f"{place}.txt").write_text(f"Lease of {place}\n\nThe rent is {rent} euros a month.\n")
    with zipfile.ZipFile(tmp_path / "leases.zip", "w") as archive:
        for lease in tmp_path.glob("*.txt"):
            archive.write(lease, lease.name)
    (tmp_path / "Storage.txt").write_text("The rent of the storage room is 55 euros a month.")
    with opened(chromium, address) as page:
        drop(page, tmp_path / "leases.zip", tmp_path / "Storage.txt")
        listed, line, searched = (page.locator(at) for at in ("#lc-documents", "#lc-scope", ".lc-searched"))
        for name in ("leases.zip/Quay Street.txt", "Storage.txt"):
            expect(listed.get_by_label(f"Choose {name}")).to_be_visible()

        everything = listed.get_by_label("Select all shown")
        everything.check()
        expect(listed.get_by_label("Choose Storage.txt")).to_be_checked()
        everything.uncheck()
        for name in ("Quay Street", "Mill Lane"):
            listed.get_by_label(f"Choose leases.zip/{name}.txt").check()
        page.once("dialog", lambda dialog: dialog.accept("contract, flat"))
        listed.get_by_role("button", name="Tag the chosen documents").click()
        expect(listed.locator("li", has_text="contract")).to_have_count(2)
        page.once("dialog", lambda dialog: dialog.accept("contract"))
        listed.get_by_role("button", name="Tag the chosen documents").click()
        expect(listed.get_by_text("flat", exact=True)).to_have_count(0)

        line.get_by_role("button", name="All documents").click()
        expect(line.get_by_label("contract")).to_be_visible()
        page.screenshot(path=screens / "scope.png")
        page.keyboard.press("Escape")
        expect(line.locator("form")).to_be_hidden()
        line.get_by_role("button", name="All documents").click()
        line.get_by_label("contract").check()
        line.get_by_role("button", name="Ask only these").click()
        expect(line).to_contain_text("Only tag contract")
        ask(page, "How much is the rent a month?")
        expect(searched).to_contain_text(re.compile(r"searched: 2 of \d+ documents \(tag contract\)"))

        listed.get_by_label("Choose leases.zip/Quay Street.txt").uncheck()
        listed.get_by_role("button", name="Ask only these").click()
        expect(line).to_contain_text("Only leases.zip/Mill Lane.txt")
        ask(page, "How much is the rent a month?")
        expect(turn(page).locator(".lc-text")).to_contain_text("720 euros")
        expect(searched).to_contain_text("(leases.zip/Mill Lane.txt)")
        loaded_anew(page)
        expect(line).to_contain_text("Only leases.zip/Mill Lane.txt")

        line.get_by_role("button", name="Ask all documents").click()
        expect(line).to_contain_text("All documents")
        ask(page, "How much is the rent a month?")
        expect(searched).to_contain_text("searched: all")
        for name in ("leases.zip/Quay Street.txt", "leases.zip/Mill Lane.txt", "Storage.txt"):
            page.once("dialog", lambda dialog: dialog.accept())
            listed.get_by_role("button", name=f"Delete {name}").click()
            expect(listed.get_by_label(f"Choose {name}")).to_have_count(0)


def test_a_document_of_which_pages_are_scans_says_which(
    chromium: Browser, address: str, tmp_path: Path, screens: Path
) -> None:
    make_pages_pdf(tmp_path / "minutes.pdf", ["text", "scan", "blank", "scan", "scan"])
    with opened(chromium, address) as page:
        drop(page, tmp_path / "minutes.pdf")
        done = page.locator("#lc-uploads .lc-upload-done")
        minutes = done.filter(has=page.get_by_role("button", name="Remove minutes.pdf from this list"))
        said = "Pages 2, 4–5 are pictures: they can be found as soon as their text is recognised."
        expect(minutes).to_contain_text(said)
        read = done.filter(has_text="text of scans and pictures was recognised")
        expect(read).to_contain_text("No text that can be recognised was found on: page 2, 4–5.")
        page.screenshot(path=screens / "scanned-pages.png")
        page.get_by_role("button", name="Remove minutes.pdf from this list").click()
        expect(minutes).to_have_count(0)
        page.get_by_role("button", name="Clear the list").click()
        expect(read).to_have_count(0)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete minutes.pdf").click()
        expect(page.locator("#lc-documents")).not_to_contain_text("minutes.pdf")


def test_a_dropped_archive_says_which_of_its_files_are_not_in(
    chromium: Browser, address: str, tmp_path: Path, screens: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "papers.zip", "w") as archive:
        archive.writestr("house/garage.txt", "The garage door opens to the left.")
        archive.writestr("house/garage.mp3", b"ID3")
    with opened(chromium, address) as page:
        drop(page, tmp_path / "papers.zip")
        unpacked = page.locator("#lc-uploads .lc-upload-done")
        expect(unpacked).to_contain_text("unpacked · 1 file in it is in the collection.")
        said = "papers.zip/house/garage.mp3 was left out: there is no reader for files that end in .mp3"
        expect(unpacked).to_contain_text(said)
        expect(page.locator("#lc-documents")).to_contain_text("papers.zip/house/garage.txt")
        page.screenshot(path=screens / "archive.png")
        page.get_by_role("button", name="Remove papers.zip from this list").click()
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete papers.zip/house/garage.txt").click()
        expect(page.locator("#lc-documents")).not_to_contain_text("garage.txt")


def test_dropped_documents_show_their_progress_go_in_and_failures_say_why(
    chromium: Browser, address: str, tmp_path: Path, screens: Path
) -> None:
    make_pdf(tmp_path / "harbour.pdf", ["The harbour master is called Runa.", "The crane lifts forty tonnes."])
    (tmp_path / "broken.pdf").write_bytes(b"this is no PDF")
    long = "A sentence that has to be embedded like any other one. " * 4000
    (tmp_path / "long.txt").write_text(long, encoding="utf-8")
    with opened(chromium, address) as page:
        uploads, documents = page.locator("#lc-uploads"), page.locator("#lc-documents")
        drop(page, tmp_path / "harbour.pdf", tmp_path / "broken.pdf", tmp_path / "long.txt")
        expect(uploads.locator(".lc-upload-working")).to_contain_text(re.compile(r"\d+ of \d+ chunks embedded"))
        expect(documents).to_contain_text("harbour.pdf")
        failed = uploads.locator(".lc-upload-failed")
        expect(failed).to_contain_text("broken.pdf")
        expect(failed.locator(".lc-failed")).to_contain_text("PDF")
        page.screenshot(path=screens / "ingesting.png")
        # Another tab, or this one after a reload, sees the same.
        reload(page)
        expect(uploads.locator(".lc-upload-working")).to_contain_text("long.txt")
        page.get_by_role("button", name="Do not add long.txt").click()
        expect(uploads.locator(".lc-upload-cancelled")).to_contain_text("cancelled: not added")
        expect(documents).not_to_contain_text("long.txt")
        expect(failed).to_be_visible()
        page.screenshot(path=screens / "failed-upload.png")
        make_pdf(tmp_path / "broken.pdf", ["Now it can be read."])
        page.get_by_role("button", name="Try broken.pdf again").click()
        # It is the file that was sent that is tried again.
        expect(failed).to_contain_text("broken.pdf")
        page.get_by_role("button", name="Remove broken.pdf from this list").click()
        expect(failed).to_have_count(0)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete harbour.pdf").click()
        expect(documents).not_to_contain_text("harbour.pdf")


def test_documents_are_searched_chosen_renamed_and_moved(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    names = ["anchor.txt", "bollard.txt", "capstan.txt", "davit.txt", "fender.txt", "gangway.txt"]
    for name in names:
        (tmp_path / name).write_text(f"The {name.removesuffix('.txt')} is on deck.")
    with running_app(tmp_path / "data") as url, opened(chromium, url) as page, opened(chromium, url) as other:
        documents = page.locator("#lc-documents")
        dropped(page, *(tmp_path / name for name in names))
        for name in ("mast.txt", "fore/mast.txt"):
            (tmp_path / "ship" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "ship" / name).write_text(f"This is {name}.")
        page.locator("#lc-left input[webkitdirectory]").set_input_files(tmp_path / "ship")
        for name in ("mast.txt", "fore/mast.txt"):
            expect(documents.locator(f"li[data-name='{name}']")).to_have_count(1)
            page.once("dialog", lambda dialog: dialog.accept())
            page.get_by_role("button", name=f"Delete {name}", exact=True).click()
            expect(documents.locator(f"li[data-name='{name}']")).to_have_count(0)
        documents.get_by_label("Search documents").fill("AN")
        expect(documents.locator("li:visible")).to_have_count(3)
        documents.get_by_label("Search documents").fill("nothing is called that")
        expect(documents).to_contain_text("No document has that name.")
        documents.get_by_label("Search documents").fill("")
        page.once("dialog", lambda dialog: dialog.accept("crane.txt"))
        page.get_by_role("button", name="Rename capstan.txt").click()
        expect(documents).to_contain_text("crane.txt")
        documents.get_by_label("Choose anchor.txt").check()
        documents.get_by_label("Choose davit.txt").check()
        expect(documents.locator(".lc-chosen")).to_contain_text("2 chosen")
        page.screenshot(path=screens / "documents-chosen.png")
        page.once("dialog", lambda dialog: dialog.accept("cellar"))
        documents.get_by_label("Move the chosen documents to").select_option(label="a new collection …")
        expect(documents).not_to_contain_text("davit.txt")
        choose(page, "#lc-collection", "cellar")
        expect(documents.locator("li")).to_have_count(2)
        ask(page, "Where is the davit?")
        expect(page.locator("#lc-panel")).to_contain_text("davit.txt")
        # A tab from before there was this collection goes on with the chat.
        other.locator("#lc-chats").get_by_label("Search chats").fill("davit")
        other.locator("#lc-chats .lc-chat-title").click()
        expect(other.locator("#lc-collection input")).to_have_value("cellar")
        ask(other, "Where is the anchor?")
        expect(other.locator("#lc-panel")).to_contain_text("anchor.txt")
        page.once("dialog", lambda dialog: dialog.accept("attic"))
        page.get_by_role("button", name="Rename this collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("attic")
        expect(documents.locator("li")).to_have_count(2)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete this collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("default")
        expect(documents).to_contain_text("crane.txt")
        # The open chat was asked about the deleted collection: a new one begins.
        expect(page.locator("#lc-log .lc-turn")).to_have_count(0)
        ask(page, "Where is the crane?")
        expect(page.locator("#lc-panel")).to_contain_text("crane.txt")


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
        expect(again).to_contain_text("taken out by you")
        expect(panel.locator(".lc-strip", has_text="put in by you")).to_have_count(1)


def test_a_chat_is_kept_over_a_reload_renamed_found_saved_and_deleted(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        ask(page, "How are rental cars booked?")
        kept_at = page.url
        reload(page)
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        expect(page.locator("#lc-panel .lc-question")).to_have_text("How are rental cars booked?")
        turn(page, 0).locator("[data-do=open]").first.click()
        expect(page.locator("#lc-panel .lc-question")).to_have_text("Who keeps the handbook?")
        chats = page.locator("#lc-chats")
        own = chats.locator("li").first
        own.locator("summary").click()
        page.once("dialog", lambda dialog: dialog.accept("Of the keeper"))
        own.get_by_role("button", name="Rename").click()
        expect(chats).to_contain_text("Of the keeper")
        page.locator("#lc-new").click()
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        ask(page, "What does the company pay per kilometre for one's own car?")
        chats.get_by_label("Search chats").fill("KEEPER")
        expect(chats.locator("li")).to_have_count(1)
        chats.get_by_role("button", name="Of the keeper", exact=True).click()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        expect(page).to_have_url(kept_at)
        page.go_back()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(1)
        # One of them twice running, as when the file was lost.
        markdown = ("Markdown", "# Of the keeper")
        for form, beginning in (markdown, markdown, ("JSON", "{"), ("HTML", "<!")):
            own.locator("summary").click()
            if form == "Markdown":
                page.screenshot(path=screens / "chat-menu.png")
            with page.expect_download() as download:
                own.get_by_role("button", name=f"Save as {form}").click()
            assert download.value.path().read_text("utf-8").lstrip().startswith(beginning)
        own.locator("summary").click()
        page.once("dialog", lambda dialog: dialog.accept())
        own.get_by_role("button", name="Delete").click()
        expect(chats).not_to_contain_text("Of the keeper")


def test_each_click_counts_also_while_another_is_under_way(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "Who keeps the handbook?")
        ask(page, "How are rental cars booked?")
        page.locator("#lc-new").click()
        expect(page.locator("#lc-chat")).to_contain_text("Ask your documents")
        ask(page, "What does the company pay per kilometre for one's own car?")
        newer, older = (page.locator("#lc-chats .lc-chat-title").nth(at) for at in (0, 1))
        each_under_way(page, [newer.click, older.click])
        expect(page.locator("#lc-log .lc-turn")).to_have_count(2)
        panel = page.locator("#lc-panel .lc-question")
        each_under_way(page, [turn(page, at).locator("[data-do=open]").first.click for at in (1, 0)])
        expect(panel).to_have_text("Who keeps the handbook?")
        good = "[data-do=good]"
        each_under_way(page, [turn(page, at).locator(good).click for at in (0, 1)])
        expect(page.locator(f"#lc-log {good}[aria-pressed=true]")).to_have_count(2)
        expect(panel).to_have_text("How are rental cars booked?")
        # Of what is typed letter by letter, all of it is sought.
        search = page.locator("#lc-chats").get_by_label("Search chats")
        each_under_way(page, [partial(search.press_sequentially, letter) for letter in "keepers of nothing"])
        expect(page.locator("#lc-chats li")).to_have_count(0)


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


def test_an_answer_goes_on_while_the_page_is_loaded_again(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        question_box(page).fill("How are rental cars booked, and what has to be done before they are given back?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-live .lc-busy")).to_be_visible()
        reload(page)
        answered(page, 1)
        expect(turn(page).locator(".lc-text")).not_to_be_empty()


def test_keys_open_and_close_what_is_there(chromium: Browser, with_handbook: str, screens: Path) -> None:
    with opened(chromium, with_handbook) as page:
        page.locator("#lc-panel").click()
        page.keyboard.press("?")
        shortcuts = page.get_by_role("dialog", name="Shortcuts")
        expect(shortcuts).to_be_visible()
        box = shortcuts.bounding_box()
        assert box
        assert abs(2 * box["y"] + box["height"] - 860) < 4, "in the middle of the screen"
        page.screenshot(path=screens / "shortcuts.png")
        page.keyboard.press("Escape")
        for key, side in (("[", "left"), ("]", "right")):
            page.keyboard.press(key)
            expect(page.locator(f"#lc-{side}")).to_be_hidden()
            reload(page)
            expect(page.locator(f"#lc-{side}")).to_be_hidden()
            # The box for the question has the focus, where a bracket is a letter.
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press(key)
            expect(page.locator(f"#lc-{side}")).to_be_visible()
        page.keyboard.press(",")
        expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#lc-settings")).to_be_hidden()
        for name in ("light", "dark", "system"):
            page.keyboard.press("d")
            expect(page.locator(f"#lc-top [data-theme={name}]")).to_be_visible()
            expect(page.locator("body")).to_have_class(
                re.compile(r"\bdark\b") if name == "dark" else re.compile("^(?!.*dark)")
            )
        page.keyboard.press("/")
        page.keyboard.type("? and / are letters here")
        expect(question_box(page)).to_have_value("? and / are letters here")


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


def test_the_language_model_as_scorer_shows_its_reasons_and_can_be_stopped(
    chromium: Browser, tmp_path: Path, handbook: Path, screens: Path
) -> None:
    with running_app(tmp_path, LOCALCRAG_SCORER="llm", LOCALCRAG_K="3") as url, opened(chromium, url) as page:
        dropped(page, handbook)
        ask(page, "Who keeps the handbook?")
        panel = page.locator("#lc-panel")
        expect(panel).to_contain_text("graded by the language model smollm2-135m-answerer")
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


def test_a_preset_is_chosen_for_a_collection_and_for_a_chat(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    question = "How many days after a journey must a claim be handed in?"
    with opened(chromium, with_handbook) as page:
        open_settings(page, "Answers")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions")
        choose(page, "#lc-preset", "strict")
        expect(page.locator("#lc-preset")).to_contain_text("two passages must support it")
        expect(page.locator("#lc-preset-effect")).to_contain_text("A passage counts as correct from")
        reload(page)
        # Each collection has its own.
        page.once("dialog", lambda dialog: dialog.accept("another one"))
        page.get_by_role("button", name="New collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("another one")
        open_settings(page, "Answers")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions")
        close_settings(page)
        choose(page, "#lc-collection", "default")
        open_settings(page, "Answers")
        expect(page.locator("#lc-preset")).to_contain_text("two passages must support it")
        close_settings(page)
        ask(page, question)
        expect(page.locator("#lc-panel .lc-decision")).to_contain_text("2 are enough")
        expect(page.locator("#lc-panel")).to_contain_text("Preset strict · policy count")
        page.screenshot(path=screens / "preset.png")
        choose(page, "#lc-chat-preset", "balanced")
        ask(page, question)
        expect(page.locator("#lc-panel")).to_contain_text("Preset balanced · policy ratio")
        reload(page)
        expect(page.locator("#lc-chat-preset input")).to_have_value("balanced")
        page.locator("#lc-new").click()
        open_settings(page, "Answers")
        choose(page, "#lc-preset", "general")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions")
        expect(page.locator("#lc-preset-effect")).to_contain_text("would be decided differently than with “strict”")


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


def test_how_answers_are_made_is_set_on_the_page_and_kept(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    with running_app(tmp_path) as url, opened(chromium, url) as page:
        open_settings(page, "Answers")
        page.get_by_label("supported only: the others are removed").check()
        page.get_by_label("Search again in other words").uncheck()
        page.locator("#lc-how input").first.click()
        page.get_by_role("option", name="two correct passages are needed").click()
        page.screenshot(path=screens / "how.png")
        settings = tmp_path / "settings.json"
        expected = {"strictness": "strict", "retry": False, "policy": "count"}
        wait_until(lambda: settings.is_file() and json.loads(settings.read_text("utf-8")) == expected)
        page.locator("#lc-how input").first.click()
        page.get_by_role("option", name="set by the preset").click()
        wait_until(lambda: "policy" not in json.loads(settings.read_text("utf-8")))
        # Another page may have chosen since: what holds is shown on load, and when the settings are opened.
        choose(page, "#lc-conflict-rule", "the newer")
        wait_until(lambda: json.loads(settings.read_text("utf-8")).get("conflict_rule") == "newer")
        with opened(chromium, url) as other:
            open_settings(other, "Answers")
            expect(other.get_by_label("supported only: the others are removed")).to_be_checked()
            expect(other.locator("#lc-conflict-rule input")).to_have_value("the newer")
            close_settings(other)
            choose(page, "#lc-conflict-rule", "the web")
            wait_until(lambda: json.loads(settings.read_text("utf-8"))["conflict_rule"] == "web")
            open_settings(other, "Answers")
            expect(other.locator("#lc-conflict-rule input")).to_have_value("the web")


WIDTHS = [(1440, "light"), (1280, "dark"), (768, "light"), (400, "light"), (400, "dark")]


def test_the_page_is_whole_at_every_width_in_light_and_dark(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "What does the company pay per kilometre for one's own car?")
        for width, scheme in WIDTHS:
            loaded_at(page, width, scheme)
            answered(page, 1)
            whole(page, width)
            page.screenshot(path=screens / f"{scheme}-{width}.png")
            for side in ("left", "right"):
                open_side(page, side)
                whole(page, width)
                page.screenshot(path=screens / f"{scheme}-{width}-{side}.png")
                if width < 1180:
                    page.keyboard.press("Escape")
                    expect(page.locator(f"#lc-{side}")).to_be_hidden()
            open_settings(page)
            whole(page, width)
            page.screenshot(path=screens / f"{scheme}-{width}-settings.png")


def test_the_page_starts_behind_a_proxy_and_answers_only_to_its_own_name(tmp_path: Path) -> None:
    with running_app(tmp_path, HTTP_PROXY="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9") as url:
        statuses = [
            httpx.get(url, headers={"Host": host}, trust_env=False).status_code
            for host in (url.removeprefix("http://"), url.replace("http://127.0.0.1", "localhost"), "evil.example")
        ]
    assert statuses == [200, 200, 403]


def test_what_is_typed_while_an_answer_is_written_stays(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        question_box(page).fill("How are rental cars booked, and what is done before they are given back?")
        page.locator("#lc-send").click()
        expect(page.locator("#lc-stop")).to_be_visible()
        question_box(page).fill("my next question")
        answered(page, 1)
        expect(question_box(page)).to_have_value("my next question")


def test_files_dropped_while_others_are_taken_in_wait_their_turn(
    chromium: Browser, with_handbook: str, tmp_path: Path
) -> None:
    (tmp_path / "first.txt").write_text("A sentence that has to be embedded like any other one. " * 1500)
    (tmp_path / "second.txt").write_text("A short one.")
    with opened(chromium, with_handbook) as page:
        drop(page, tmp_path / "first.txt")
        expect(page.locator("#lc-uploads .lc-upload-working")).to_contain_text("embedded")
        drop(page, tmp_path / "second.txt")
        expect(page.locator("#lc-uploads .lc-upload-waiting")).to_contain_text("second.txt")
        # The chat can be used meanwhile.
        ask(page, "Who keeps the handbook?")
        expect(page.locator("#lc-documents")).to_contain_text("first.txt")
        expect(page.locator("#lc-documents")).to_contain_text("second.txt")


def test_models_are_listed_downloaded_and_used(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    for folder in REPOSITORY_MODELS.iterdir():
        if folder.is_dir():
            (models / folder.name).symlink_to(folder)
    small = b"GGUF" + bytes(3_000_000)
    manifest = (REPOSITORY_MODELS / "models.toml").read_text("utf-8")
    file = file_line("chat.gguf", small, exact=False, checksum=False)
    added = entry("tiny-chat", "llm", hub_source("someone/tiny-chat"), file)
    (models / "models.toml").write_text(manifest + added, "utf-8")
    with serve_hub() as hub:
        hub.files["someone/tiny-chat/chat.gguf"] = HubFile(small)
        environment = {"LOCALCRAG_MODELS_DIR": str(models), "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
        with running_app(tmp_path / "data", **environment) as url, opened(chromium, url) as page:
            # The smallest that is missing is one click away.
            page.get_by_role("button", name="Download and use tiny-chat (3.0 MB)").click()
            screen = page.locator("#lc-settings")
            expect(screen.get_by_role("tab", name="Models")).to_have_attribute("aria-selected", "true")
            tiny = screen.locator(".lc-models li", has_text="tiny-chat")
            expect(screen.locator(".lc-models li", has_text="smollm2-135m-answerer")).to_contain_text("in use")
            expect(screen.locator(".lc-models .lc-note").first).to_contain_text("threads on")
            page.screenshot(path=screens / "models.png")
            # It is no language model: what is wrong with it is said, and nothing is changed.
            expect(tiny.get_by_role("alert")).to_contain_text("tiny-chat")
            tiny.get_by_role("button", name="Use tiny-chat").click()
            expect(page.locator(".toast-body")).to_contain_text("tiny-chat")
            expect(tiny.get_by_role("button", name="Use tiny-chat")).to_be_enabled()
            expect(tiny).not_to_contain_text("in use")
            threads = screen.get_by_label("Threads")
            threads.fill("1")
            threads.press("Enter")
            expect(screen.locator(".lc-models .lc-note").first).to_contain_text("1 threads on")
            assert json.loads((tmp_path / "data" / "settings.json").read_text("utf-8")) == {"threads": 1}


def test_a_collection_of_another_embedder_is_embedded_anew(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    (tmp_path / "tarn.txt").write_text("The quillwort grows in the tarn above the village.")
    data = tmp_path / "data"
    with closing(Assembly(load(data_dir=started_before(data)))) as assembly:
        for _ in assembly.ingest(uploads_from([tmp_path / "tarn.txt"])):
            pass
    with sqlite3.connect(data / DATABASE_NAME) as connection:
        connection.execute("UPDATE collections SET embedder = 'another-one'")
    connection.close()
    with running_app(data) as url, opened(chromium, url) as page:
        screen = open_settings(page, "Models")
        card = screen.locator(".lc-models li", has_text="Collection “default”")
        expect(card).to_contain_text("Indexed with another embedding model")
        page.screenshot(path=screens / "embed-anew.png")
        card.get_by_role("button", name="Re-index “default”").click()
        expect(card).to_have_count(0)
        close_settings(page)
        ask(page, "Where does the quillwort grow?")
        expect(page.locator("#lc-chat")).to_contain_text("tarn")


def test_data_is_copied_restored_and_deleted_on_the_page(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    (tmp_path / "tarn.txt").write_text("The quillwort grows in the tarn above the village.")
    with running_app(tmp_path / "data") as url, opened(chromium, url) as page:
        dropped(page, tmp_path / "tarn.txt")
        screen = open_settings(page, "Data")
        # A file is in the way of the folder.
        (tmp_path / "data" / "backups").write_text("")
        screen.get_by_role("button", name="Make a backup").click()
        expect(page.locator(".toast-body")).to_be_visible()
        page.locator(".toast-close").click()
        (tmp_path / "data" / "backups").unlink()
        screen.get_by_role("button", name="Make a backup").click()
        expect(screen.locator(".lc-storage")).to_contain_text("Everything was backed up to")
        # No path of the machine that it is taken on.
        page.screenshot(path=screens / "data.png", mask=[screen.locator("code")])
        close_settings(page)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete tarn.txt").click()
        expect(page.locator("#lc-documents")).to_contain_text("No documents yet")
        open_settings(page, "Data")
        page.once("dialog", lambda dialog: dialog.accept())
        screen.get_by_role("button", name="Restore").click()
        expect(screen).to_be_hidden()
        expect(page.locator("#lc-documents")).to_contain_text("tarn.txt")
        loaded_anew(page)
        open_settings(page, "Data")
        page.once("dialog", lambda dialog: dialog.accept())
        screen.get_by_role("button", name="Delete everything").click()
        expect(screen).to_be_hidden()
        expect(page.locator("#lc-documents")).to_contain_text("No documents yet")
        loaded_anew(page)
