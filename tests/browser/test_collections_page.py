"""On the page: a collection is copied, and merged with another one."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Dialog, Page, expect

from localcrag.records.documents import Chunk
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import opened


def put(folder: Path, collection: str, **documents: str) -> None:
    """Put documents into a data folder, as if they had been added."""
    database = Database(folder / "localcrag.sqlite3")
    store = DocumentStore(database, collection, embedder="all-minilm-l6-v2", dimension=384)
    for name, text in documents.items():
        store.put(
            f"{name}.txt", sha256=sha256(text.encode()).hexdigest(), media_type="text/plain", pages=None, text=text,
            chunks=[Chunk(None, 0, len(text), text)], vectors=np.full((1, 384), 384**-0.5, dtype=np.float32),
        )  # fmt: skip
    database.close()


def listed(page: Page, *names: str) -> None:
    """Wait until these documents are listed, and no others."""
    expect(page.locator("#lc-documents li[data-name] .lc-file")).to_have_text(list(names))


def test_a_collection_is_copied_and_merged_with_another(chromium: Browser, tmp_path: Path) -> None:
    data = started_before(tmp_path / "data")
    put(data, "default", lease="The rent is 900 euros.", ferry="The ferry leaves at nine.")
    put(data, "old house", lease="The rent is 700 euros.")
    with running_app(data) as address, opened(chromium, address) as page:
        expect(page.locator("#lc-documents li[data-name]")).to_have_count(2)
        page.once("dialog", lambda dialog: dialog.accept("second"))
        page.get_by_role("button", name="Copy this collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("second")
        listed(page, "ferry.txt", "lease.txt")
        asked: list[str] = []

        def agree(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept()

        page.once("dialog", agree)
        page.get_by_label("Merge this collection into another").select_option("old house")
        expect(page.locator("#lc-collection input")).to_have_value("old house")
        assert "“second” to “old house”" in asked[0]
        listed(page, "ferry.txt", "lease (second).txt", "lease.txt")
