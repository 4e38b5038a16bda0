"""A whole session without a network: documents and a scan, questions, a web search, exports; prints what left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import expect, sync_playwright

from tests.support import ROOT, scans
from tests.support.app_process import running_app, start_chromium, watch
from tests.support.cut_off import NAMES, SEARCH, SEARCH_NAME, Cable
from tests.support.documents import handbook_pdf
from tests.support.page_driver import PATIENCE, ask, dropped, go
from tests.support.search_servers import real_searx
from tests.support.web_pages import PAGES

OUTSIDE = "198.51.100.7"
# Not ours, and so not guarded: what it does has to be counted, or the counter counts nothing.
UNGUARDED = f"""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("{OUTSIDE}", 9))
try:
    socket.getaddrinfo("nobody.example", 80)
except OSError:
    pass
"""


def main(cable: Cable, folder: str) -> None:
    """Do it all, with files in `folder`."""
    place = Path(folder)
    handbook, data = place / "handbook.pdf", place / "data"
    handbook_pdf(handbook)
    photo = place / "photo.png"
    scans.picture(["The keys hang behind the door."], size=(900, 300)).save(photo)
    before = cable.packets()
    (place / "searx").mkdir()
    with real_searx(place / "searx", PAGES, host=SEARCH) as searx:
        named = searx.replace(SEARCH, SEARCH_NAME)
        chosen = {"LOCALCRAG_SEARXNG_URL": named, "LOCALCRAG_WEB": "always"}
        with running_app(data, **chosen) as address, sync_playwright() as chrome:
            # The browser's own chatter (updates, autofill) is not the page's: it gets no names resolved.
            browser = start_chromium(chrome, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
            page = browser.new_page()
            watched = watch(page)
            go(page, address)
            expect(page.locator("#lc-gone")).to_have_text("0 connections to other machines")
            dropped(page, handbook, photo)
            listed = page.locator("#lc-documents li", has_text="photo.png")
            expect(listed).to_contain_text("read by OCR", timeout=PATIENCE)
            ask(page, "Who keeps the handbook?")
            ask(page, "How high is Mount Everest above the sea?")
            expect(page.locator("#lc-panel")).to_contain_text("sent to your SearXNG")
            expect(page.locator("#lc-gone")).to_contain_text(f"1 search through {SEARCH_NAME}:")
            page.locator("#lc-chats .lc-more summary").first.click()
            with page.expect_download() as download:
                page.get_by_role("button", name="Save as Markdown").click()
            chat = download.value.path().read_text("utf-8")
            browser.close()
        exported = _localcrag(data, "runs", "export")
    session = cable.packets()
    subprocess.run([sys.executable, "-c", UNGUARDED], check=True)
    print(
        json.dumps(
            {
                "before": before,
                "session": session,
                "control": cable.packets(),
                "control_expected": [f"IPv4 to {OUTSIDE}", f"IPv4 to {NAMES}"],
                "problems": [*watched.problems, *watched.foreign],
                "chat": chat,
                "exported": len(exported.splitlines()),
                "privacy": json.loads(_localcrag(data, "privacy", "--json")),
            }
        )
    )


def _localcrag(data: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "localcrag", *arguments, "--data-dir", str(data)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
