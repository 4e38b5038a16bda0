"""On the page: tags of a folder are seen, given and taken away, and what comes to lie in it later has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from localcrag.records.documents import Chunk
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.page_driver import opened, reload

pytestmark = pytest.mark.browser

EMBEDDER, DIMENSION = "all-minilm-l6-v2", 384


def put(folder: Path, *names: str) -> None:
    """Put documents into a data folder, as if they had been added."""
    database = Database(folder / "localcrag.sqlite3")
    store = DocumentStore(database, "default", embedder=EMBEDDER, dimension=DIMENSION)
    for name in names:
        text = f"What {name} says."
        store.put(
            name, sha256=name, media_type="application/pdf", pages=1, text=text, chunks=[Chunk(1, 0, len(text), text)],
            vectors=np.ones((1, DIMENSION), dtype=np.float32),
        )  # fmt: skip
    database.close()


def tags(page: Page, row: str) -> list[str]:
    return page.locator(f"#lc-documents li[{row}] .lc-tag").all_inner_texts()


def edit(page: Page, row: str, button: str, before: str, now: str) -> None:
    """Change tags in the field that a button of a row opens, in which those of `before` stand."""

    def answer(dialog: Dialog) -> None:
        stood.append(dialog.default_value)
        dialog.accept(now)

    stood: list[str] = []
    page.once("dialog", answer)
    line = page.locator(f"#lc-documents li[{row}]")
    line.hover()
    line.get_by_role("button", name=button).click()
    expect(page.locator(f"#lc-documents li[{row}]")).to_have_attribute("data-tags", now)
    assert stood == [before]


def test_tags_of_a_folder_are_given_seen_and_taken_away(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    data = started_before(tmp_path / "data")
    put(data, "contracts/flat/lease.pdf", "contracts/phone.pdf", "notes.pdf")
    folder, lease, later = (f'data-{kind}="contracts/{name}"' for kind, name in (
        ("folder", ""), ("name", "flat/lease.pdf"), ("name", "gas.pdf")))  # fmt: skip
    with running_app(data) as address, opened(chromium, address) as page:
        page.get_by_text("2 folders", exact=True).click()
        edit(page, folder, "Tag the folder contracts", "", "binding, home")
        assert tags(page, folder) == ["binding", "home"]
        assert tags(page, lease) == ["binding", "home"]
        expect(page.locator(f"li[{lease}] .lc-tag").first).to_have_attribute("title", "from the folder contracts")
        assert tags(page, 'data-name="notes.pdf"') == []
        page.screenshot(path=screens / "folder-tags.png")
        # Its own tags are a document's only to change: those of the folder are the folder's.
        page.locator(f"li[{lease}] input").check()
        stood: list[str] = []

        def answer(dialog: Dialog) -> None:
            stood.append(dialog.default_value)
            dialog.accept("flat")

        page.once("dialog", answer)
        page.locator(".lc-chosen [data-do=tag]").click()
        expect(page.locator(f"li[{lease}]")).to_have_attribute("data-own", "flat")
        assert stood == [""]
        put(data, "contracts/gas.pdf")
        reload(page)
        assert tags(page, later) == ["binding", "home"]
        page.get_by_text("2 folders", exact=True).click()
        edit(page, folder, "Tag the folder contracts", "binding, home", "home")
        assert [tags(page, one) for one in (lease, later)] == [["flat", "home"], ["home"]]
        # The list of folders stays open.
        expect(page.locator(f"li[{folder}]")).to_be_visible()
