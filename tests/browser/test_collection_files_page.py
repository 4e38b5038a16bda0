"""On the page: a collection is exported, imported and given an embedder; a copy is taken in, and names are said."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from localcrag.records.ingest import GoneFilePolicy, KnownFile, Stamp, WatchedFolder
from localcrag.storage.collections import chunks, queries
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database
from tests.browser.test_collections_page import listed, put
from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import close_settings, loaded_anew, open_settings, opened, wait_until

EMBEDDER = "all-minilm-l6-v2"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two collections: one with a document of two files, one whose embedding a kill stopped."""
    data = started_before(tmp_path / "data")
    put(data, "default", lease="The rent is 900 euros.", ferry="The ferry leaves at nine.")
    put(data, "old house", lease="The rent is 700 euros.")
    database = Database(data / "localcrag.sqlite3")
    store = FolderStore(database)
    papers = tmp_path / "papers"
    papers.mkdir()
    folder = WatchedFolder(
        id=0, collection="default", path=papers, prefix="", include=(), exclude=(), gone=GoneFilePolicy.KEEP
    )
    number = store.bind(folder).id
    store.pause(number, paused=True)
    text = sha256(b"The rent is 900 euros.").hexdigest()
    files = [
        KnownFile(name, Stamp(1, 1, 1, 1), 1, text, "lease.txt", text, None, None)
        for name in ("lease.txt", "attic/copy.txt")
    ]
    store.put(number, files)
    with database.transaction() as connection:
        connection.execute("UPDATE collections SET embedder = 'gone-embedder' WHERE name = 'old house'")
    queries.set_embedder(database, "old house", EMBEDDER)
    (chunk, _), *_ = chunks.missing_vectors(database, "old house")[0]
    chunks.add_new_vectors(database, EMBEDDER, {chunk: np.full(384, 384**-0.5, dtype=np.float32)})
    database.close()
    return data


def embedder_of(data: Path, collection: str) -> str:
    with sqlite3.connect(data / "localcrag.sqlite3") as connection:
        (found,) = connection.execute("SELECT embedder FROM collections WHERE name = ?", (collection,)).fetchone()
    return str(found)


def give(page: Page, button: Locator, file: Path) -> None:
    with page.expect_file_chooser() as chosen:
        button.click()
    chosen.value.set_files(file)


def test_a_collection_goes_into_a_file_and_comes_back_and_what_was_stopped_goes_on(
    chromium: Browser, data: Path, tmp_path: Path
) -> None:
    with running_app(data, LOCALCRAG_IDLE_MINUTES="0.02") as address, opened(chromium, address) as page:
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(2)
        wait_until(lambda: embedder_of(data, "old house") == EMBEDDER)
        # The confirmation names what goes.
        asked: list[str] = []

        def refuse(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.dismiss()

        page.once("dialog", refuse)
        page.locator('li[data-name="lease.txt"]').hover()
        page.get_by_role("button", name="Delete lease.txt").click()
        assert "attic/copy.txt" in asked[0]
        exported = tmp_path / "house.localcrag"
        with page.expect_download() as fetched:
            page.get_by_role("button", name="Export this collection to a file").click()
        assert fetched.value.suggested_filename == "default.localcrag"
        fetched.value.save_as(exported)
        assert page.request.get(fetched.value.url).status == 404
        carried = page.locator("#lc-carried")
        expect(carried).to_contain_text("2 documents")
        give(page, page.get_by_role("button", name="Import a collection from a file"), exported)
        expect(page.locator("#lc-collection input")).to_have_value("default (2)")
        listed(page, "ferry.txt", "lease.txt")
        expect(carried).to_contain_text("Imported house.localcrag as the collection “default (2)”")
        torn = tmp_path / "torn.localcrag"
        torn.write_bytes(exported.read_bytes()[:5000])
        give(page, page.get_by_role("button", name="Import a collection from a file"), torn)
        expect(carried.get_by_role("alert")).to_contain_text("torn.localcrag")
        assert str(data) not in carried.inner_text()
        carried.get_by_role("button", name="Dismiss").click()
        expect(carried.get_by_role("alert")).to_have_count(0)
        assert not [path for path in (data / "uploads").rglob("*") if path.is_file()]

        screen = open_settings(page, "Models")
        screen.get_by_text("Embedding model for a single collection").click()
        own = screen.get_by_label("old house")
        expect(own).to_have_value(EMBEDDER)
        own.select_option("")
        expect(screen.get_by_text("Indexed with another embedding model")).to_have_count(0)
        close_settings(page)
        wait_until(lambda: says_that_models_are_away(page))
        take_in_a_copy(page, tmp_path)


def says_that_models_are_away(page: Page) -> bool:
    """Whether a page that somebody comes back to says so."""
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    return "unloaded" in page.locator("#lc-gone").inner_text()


def take_in_a_copy(page: Page, tmp_path: Path) -> None:
    """Take in what is no copy, then one, and go back to it."""
    screen = open_settings(page, "Data")
    screen.get_by_role("button", name="Make a backup").click()
    expect(screen.locator(".lc-copies li")).to_have_count(1)
    strange = tmp_path / "strange.sqlite3"
    strange.write_bytes(b"no copy")
    button = screen.get_by_role("button", name="Import a backup file")
    give(page, button, strange)
    expect(screen.get_by_role("alert")).to_contain_text("strange.sqlite3 is damaged, or no backup of localcrag")
    (made,) = (tmp_path / "data/backups").glob("*.sqlite3")
    carried = tmp_path / "from my other machine.sqlite3"
    carried.write_bytes(made.read_bytes())
    give(page, button, carried)
    expect(screen.locator("#lc-storage .lc-result")).to_contain_text("from my other machine")
    expect(screen.locator("#lc-storage .lc-result")).to_contain_text("5 documents")
    expect(screen.locator(".lc-copies li")).to_have_count(2)
    expect(screen.locator(".lc-command code")).to_contain_text(f"localcrag restore FILE --data-dir {tmp_path}/data")
    page.once("dialog", lambda dialog: dialog.accept())
    with page.expect_navigation():
        screen.locator(".lc-copies li", has_text="from my other machine").get_by_role("button", name="Restore").click()
    loaded_anew(page)
    listed(page, "ferry.txt", "lease.txt")
