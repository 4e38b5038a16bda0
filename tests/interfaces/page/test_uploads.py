"""Files dropped on the page: their progress, what fails and why, archives, scans and passwords."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.documents import make_pages_pdf, make_pdf
from tests.support.page_driver import (
    ask,
    drop,
    opened,
    reload,
)

pytestmark = pytest.mark.browser


@pytest.mark.everyday
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
        read = done.filter(has_text="text in scans and pictures was recognised")
        expect(read).to_contain_text("No text that can be recognised was found on: page 2, 4–5.")
        page.screenshot(path=screens / "scanned-pages.png")
        page.get_by_role("button", name="Remove minutes.pdf from this list").click()
        expect(minutes).to_have_count(0)
        page.get_by_role("button", name="Clear the list").click()
        expect(read).to_have_count(0)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete minutes.pdf").click()
        expect(page.locator("#lc-documents")).not_to_contain_text("minutes.pdf")


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
