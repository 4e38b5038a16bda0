"""The list of documents on the page: searched, chosen, renamed, moved, tagged, and asked alone."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

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
        expect(documents).to_contain_text("No document is called that.")
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

        everything = listed.get_by_label("Choose all that are shown")
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
