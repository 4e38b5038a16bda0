"""The settings of models on the page: downloaded, used, and another embedder for a collection."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.settings import REPOSITORY_MODELS, load
from localcrag.storage.schema import DATABASE_NAME
from tests.support.app_process import running_app
from tests.support.first_start import started_before
from tests.support.hub_server import HubFile, serve_hub
from tests.support.model_folders import entry, file_line, hub_source
from tests.support.page_driver import (
    ask,
    close_settings,
    open_settings,
    opened,
)

pytestmark = pytest.mark.browser


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
