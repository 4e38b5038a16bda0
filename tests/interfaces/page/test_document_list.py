"""The list of documents on the page: searched, chosen, renamed, moved, tagged, and asked alone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    ask,
    choose,
    drop,
    dropped,
    loaded_anew,
    opened,
    turn,
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app whose collections each test makes for itself."""
    with running_app(tmp_path_factory.mktemp("deck")) as url:
        yield url


@contextmanager
def collection_of(browser: Browser, address: str, name: str, folder: Path, **texts: str) -> Iterator[Page]:
    """Open the page at a new collection with these documents."""
    for document, text in texts.items():
        (folder / f"{document}.txt").write_text(text)
    with opened(browser, address) as page:
        page.once("dialog", lambda dialog: dialog.accept(name))
        page.get_by_role("button", name="New collection").click()
        expect(page.locator("#lc-collection input")).to_have_value(name)
        dropped(page, *(folder / f"{document}.txt" for document in texts))
        yield page


def test_files_of_a_folder_keep_their_folders_in_their_names(chromium: Browser, deck: str, tmp_path: Path) -> None:
    names = ("mast.txt", "fore/mast.txt")
    for name in names:
        (tmp_path / "ship" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "ship" / name).write_text(f"This is {name}.")
    with opened(chromium, deck) as page:
        documents = page.locator("#lc-documents")
        page.locator("#lc-left input[webkitdirectory]").set_input_files(tmp_path / "ship")
        for name in names:
            expect(documents.locator(f"li[data-name='{name}']")).to_have_count(1)
            page.once("dialog", lambda dialog: dialog.accept())
            page.get_by_role("button", name=f"Delete {name}", exact=True).click()
            expect(documents.locator(f"li[data-name='{name}']")).to_have_count(0)


def test_documents_are_found_by_a_part_of_their_name(chromium: Browser, deck: str, tmp_path: Path) -> None:
    # The list offers a search from six documents on.
    names = ("anchor", "bollard", "capstan", "davit", "fender", "gangway")
    texts = {name: f"The {name} is on deck." for name in names}
    with collection_of(chromium, deck, "searched", tmp_path, **texts) as page:
        documents = page.locator("#lc-documents")
        documents.get_by_label("Search documents").fill("AN")
        expect(documents.locator("li:visible")).to_have_count(3)
        documents.get_by_label("Search documents").fill("nothing is called that")
        expect(documents).to_contain_text("No document has that name.")


def test_a_renamed_document_is_listed_and_cited_by_its_new_name(chromium: Browser, deck: str, tmp_path: Path) -> None:
    with collection_of(chromium, deck, "renamed", tmp_path, capstan="The crane is on deck.") as page:
        page.once("dialog", lambda dialog: dialog.accept("crane.txt"))
        page.get_by_role("button", name="Rename capstan.txt").click()
        expect(page.locator("#lc-documents")).to_contain_text("crane.txt")
        ask(page, "Where is the crane?")
        expect(page.locator("#lc-panel")).to_contain_text("crane.txt")


def test_chosen_documents_are_moved_to_a_new_collection_which_other_tabs_know(
    chromium: Browser, deck: str, tmp_path: Path, screens: Path
) -> None:
    texts = {name: f"The {name} is on deck." for name in ("anchor", "davit", "fender")}
    with (
        opened(chromium, deck) as other,
        collection_of(chromium, deck, "moved", tmp_path, **texts) as page,
    ):
        documents = page.locator("#lc-documents")
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


def test_a_renamed_collection_keeps_its_documents_and_a_deleted_one_ends_the_open_chat(
    chromium: Browser, deck: str, tmp_path: Path
) -> None:
    with collection_of(chromium, deck, "cabin", tmp_path, lamp="The lamp is in the cabin.") as page:
        documents = page.locator("#lc-documents")
        ask(page, "Where is the lamp?")
        page.once("dialog", lambda dialog: dialog.accept("attic"))
        page.get_by_role("button", name="Rename this collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("attic")
        expect(documents.locator("li")).to_have_count(1)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete this collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("default")
        expect(documents).not_to_contain_text("lamp.txt")
        # The open chat was asked about the deleted collection: a new one begins.
        expect(page.locator("#lc-log .lc-turn")).to_have_count(0)


RENT = "How much is the rent a month?"
QUAY_STREET, MILL_LANE = "leases.zip/Quay Street.txt", "leases.zip/Mill Lane.txt"


@contextmanager
def leases(browser: Browser, address: str, collection: str, folder: Path) -> Iterator[Page]:
    """Open the page at a new collection with two leases of an archive, which are tagged, and another document."""
    for place, rent in (("Quay Street", 940), ("Mill Lane", 720)):
        (folder / f"{place}.md").write_text(f"Lease of {place}\n\nThe rent is {rent} euros a month.\n")
    with zipfile.ZipFile(folder / "leases.zip", "w") as archive:
        for lease in folder.glob("*.md"):
            archive.write(lease, f"{lease.stem}.txt")
    storage = "The rent of the storage room is 55 euros a month."
    with collection_of(browser, address, collection, folder, Storage=storage) as page:
        drop(page, folder / "leases.zip")
        listed = page.locator("#lc-documents")
        for name in (QUAY_STREET, MILL_LANE):
            listed.get_by_label(f"Choose {name}").check()
        tag(page, "contract, flat")
        expect(listed.locator("li", has_text="contract")).to_have_count(2)
        yield page


def tag(page: Page, tags: str) -> None:
    """Give the chosen documents these tags."""
    page.once("dialog", lambda dialog: dialog.accept(tags))
    page.locator("#lc-documents").get_by_role("button", name="Tag the chosen documents").click()


def test_all_documents_are_chosen_at_once_and_chosen_ones_change_their_tags(
    chromium: Browser, deck: str, tmp_path: Path
) -> None:
    with leases(chromium, deck, "tagged", tmp_path) as page:
        listed = page.locator("#lc-documents")
        tag(page, "contract")
        expect(listed.get_by_text("flat", exact=True)).to_have_count(0)
        everything = listed.get_by_label("Select all shown")
        everything.check()
        expect(listed.get_by_label("Choose Storage.txt")).to_be_checked()
        everything.uncheck()
        expect(listed.get_by_label(f"Choose {MILL_LANE}")).not_to_be_checked()


@pytest.mark.everyday
def test_documents_of_a_tag_alone_are_asked_and_the_panel_says_which(
    chromium: Browser, deck: str, tmp_path: Path, screens: Path
) -> None:
    with leases(chromium, deck, "asked by tag", tmp_path) as page:
        line = page.locator("#lc-scope")
        line.get_by_role("button", name="All documents").click()
        expect(line.get_by_label("contract")).to_be_visible()
        page.screenshot(path=screens / "scope.png")
        page.keyboard.press("Escape")
        expect(line.locator("form")).to_be_hidden()
        line.get_by_role("button", name="All documents").click()
        line.get_by_label("contract").check()
        line.get_by_role("button", name="Ask only these").click()
        expect(line).to_contain_text("Only tag contract")
        ask(page, RENT)
        expect(page.locator(".lc-searched")).to_contain_text("searched: 2 of 3 documents (tag contract)")


def test_chosen_documents_alone_are_asked_until_all_are_asked_again(
    chromium: Browser, deck: str, tmp_path: Path
) -> None:
    with leases(chromium, deck, "asked by name", tmp_path) as page:
        listed, line, searched = (page.locator(at) for at in ("#lc-documents", "#lc-scope", ".lc-searched"))
        listed.get_by_label(f"Choose {QUAY_STREET}").uncheck()
        listed.get_by_role("button", name="Ask only these").click()
        expect(line).to_contain_text(f"Only {MILL_LANE}")
        ask(page, RENT)
        expect(turn(page).locator(".lc-text")).to_contain_text("720 euros")
        expect(searched).to_contain_text(f"({MILL_LANE})")
        loaded_anew(page)
        expect(line).to_contain_text(f"Only {MILL_LANE}")
        line.get_by_role("button", name="Ask all documents").click()
        expect(line).to_contain_text("All documents")
        ask(page, RENT)
        expect(searched).to_contain_text("searched: all")
