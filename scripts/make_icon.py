"""Render localcrag's icon from its SVG to PNG files of all sizes, with Chromium."""

from __future__ import annotations

import shutil

from playwright.sync_api import sync_playwright

from localcrag.app.desktop.entry import ICONS, SIZES, SVG
from localcrag.privacy.guard import allow_all_programs

STYLE = "<style>body {{ margin: 0 }} svg {{ display: block; width: {size}px; height: {size}px }}</style>"


def main() -> None:
    allow_all_programs("Chromium draws the icon")
    drawing = SVG.read_text("utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for size in SIZES:
            page = browser.new_page(viewport={"width": size, "height": size})
            page.set_content(STYLE.format(size=size) + drawing)
            page.screenshot(path=ICONS / f"{size}.png", omit_background=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
