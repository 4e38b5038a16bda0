"""On the page: a collection is exported, imported and given an embedder; a copy is taken in, and names are said."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Download, Locator, Page, expect

from localcrag.records.ingest import GoneFilePolicy, KnownFile, Stamp, WatchedFolder
from localcrag.storage.collections import chunks, queries
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.database import Database
from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import listed, loaded_anew, open_settings, opened, wait_until
from tests.support.stored_documents import put

pytestmark = pytest.mark.browser

EMBEDDER = "all-minilm-l6-v2"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections: one with a document of two files, one whose embedding a kill stopped."""
    folder = tmp_path_factory.mktemp("collections")
    data = started_before(folder / "data")
    put(data, "default", lease="The rent is 900 euros.", ferry="The ferry leaves at nine.")
    put(data, "old house", lease="The rent is 700 euros.")
    database = Database(data / "localcrag.sqlite3")
    store = FolderStore(database)
    papers = folder / "papers"
    papers.mkdir()
    bound = WatchedFolder(
        id=0, collection="default", path=papers, prefix="", include=(), exclude=(), gone=GoneFilePolicy.KEEP
    )
    number = store.bind(bound).id
    store.pause(number, paused=True)
    text = sha256(b"The rent is 900 euros.").hexdigest()
    files = [
        KnownFile(name, Stamp(1, 1, 1, 1), 1, text, "lease.txt", text, None, None)
        for name in ("lease.txt", "attic/copy.txt")
    ]
    store.put(number, files)
    with database.transaction() as connection:
        connection.execute("UPDATE collections SET embedder = 'gone-embedder' WHERE name = 'old house'")
    queries.choose(database, "old house", embedder=EMBEDDER)
    (chunk, _), *_ = SqliteCollection(database, "old house", Path()).chunk_texts()
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


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    """The address of an app that unloads its models after a second."""
    with running_app(data, LOCALCRAG_IDLE_MINUTES="0.02") as url:
        yield url


def export(page: Page, file: Path) -> Download:
    """Export the collection that is shown into a file."""
    with page.expect_download() as fetched:
        page.get_by_role("button", name="Export this collection to a file").click()
    fetched.value.save_as(file)
    return fetched.value


def test_an_embedding_that_was_stopped_goes_on_and_models_that_nobody_uses_are_put_away(
    chromium: Browser, address: str, data: Path
) -> None:
    with opened(chromium, address) as page:
        wait_until(lambda: embedder_of(data, "old house") == EMBEDDER)
        wait_until(lambda: says_that_models_are_away(page))


def test_the_confirmation_of_a_deletion_names_the_other_files_of_the_document(chromium: Browser, address: str) -> None:
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    with opened(chromium, address) as page:
        page.once("dialog", refuse)
        page.locator('li[data-name="lease.txt"]').hover()
        page.get_by_role("button", name="Delete lease.txt").click()
        assert "attic/copy.txt" in asked[0]


def test_a_collection_is_exported_into_a_file_which_is_served_once(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    with opened(chromium, address) as page:
        fetched = export(page, tmp_path / "house.localcrag")
        assert fetched.suggested_filename == "default.localcrag"
        assert page.request.get(fetched.url).status == 404
        expect(page.locator("#lc-carried")).to_contain_text("2 documents")


def test_an_imported_collection_gets_a_name_of_its_own_and_a_torn_file_is_refused(
    chromium: Browser, address: str, data: Path, tmp_path: Path
) -> None:
    exported = tmp_path / "house.localcrag"
    with opened(chromium, address) as page:
        export(page, exported)
        carried = page.locator("#lc-carried")
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


def test_a_collection_can_go_back_to_the_embedder_of_all(chromium: Browser, address: str, data: Path) -> None:
    wait_until(lambda: embedder_of(data, "old house") == EMBEDDER)
    with opened(chromium, address) as page:
        screen = open_settings(page, "Models")
        screen.get_by_text("Embedding model for a single collection").click()
        own = screen.get_by_label("old house")
        expect(own).to_have_value(EMBEDDER)
        own.select_option("")
        expect(screen.get_by_text("Indexed with another embedding model")).to_have_count(0)


def test_what_is_no_copy_is_refused_and_a_copy_from_elsewhere_can_be_restored(
    chromium: Browser, address: str, data: Path, tmp_path: Path
) -> None:
    strange = tmp_path / "strange.sqlite3"
    strange.write_bytes(b"no copy")
    with opened(chromium, address) as page:
        screen = open_settings(page, "Data")
        screen.get_by_role("button", name="Make a backup").click()
        expect(screen.locator(".lc-copies li")).to_have_count(1)
        button = screen.get_by_role("button", name="Import a backup file")
        give(page, button, strange)
        expect(screen.get_by_role("alert")).to_contain_text("strange.sqlite3 is damaged, or is not a localcrag backup")
        (made,) = (data / "backups").glob("*.sqlite3")
        carried = tmp_path / "from my other machine.sqlite3"
        carried.write_bytes(made.read_bytes())
        give(page, button, carried)
        expect(screen.locator("#lc-storage .lc-result")).to_contain_text("from my other machine")
        expect(screen.locator("#lc-storage .lc-result")).to_contain_text(re.compile(r"\d documents"))
        expect(screen.locator(".lc-copies li")).to_have_count(2)
        expect(screen.locator(".lc-command code")).to_contain_text(f"localcrag restore FILE --data-dir {data}")
        restored = screen.locator(".lc-copies li", has_text="from my other machine")
        page.once("dialog", lambda dialog: dialog.accept())
        with page.expect_navigation():
            restored.get_by_role("button", name="Restore").click()
        loaded_anew(page)
        listed(page, "ferry.txt", "lease.txt")


def says_that_models_are_away(page: Page) -> bool:
    """Whether a page that somebody comes back to says so."""
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    return "unloaded" in page.locator("#lc-gone").inner_text()
