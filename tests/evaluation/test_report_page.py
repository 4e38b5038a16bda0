"""An evaluation's report in the browser: readable in light and dark, and what it quotes is inert."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from localcrag.evaluation.report import write
from localcrag.evaluation.results import Evaluation
from tests.support.app_process import watch
from tests.support.made_evaluations import HOSTILE, varied

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def made() -> Evaluation:
    return varied()


@pytest.fixture(scope="module")
def written(made: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    return write(made, tmp_path_factory.mktemp("report") / "new" / "folder")


@pytest.mark.parametrize("screen", [(1200, "light"), (1200, "dark"), (400, "light")], ids=["wide", "dark", "narrow"])
def test_the_page_is_readable_and_what_it_quotes_is_inert(
    chromium: Browser, written: tuple[Path, Path, Path], screens: Path, screen: tuple[int, str]
) -> None:
    width, scheme = screen
    with chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    ) as context:
        page = context.new_page()
        watched = watch(page)
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        page.goto(written[0].as_uri())
        expect(page).to_have_title("Evaluation of made")
        expect(page.get_by_role("heading", name="Verdict", exact=True)).to_be_visible()
        expect(page.locator("article h3", has_text="What is <script>")).to_have_text(re.compile(re.escape(HOSTILE)))
        expect(page.get_by_role("img", name="Action accuracy and web rate against the upper threshold")).to_be_visible()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        paper, ink = page.evaluate(
            "[getComputedStyle(document.documentElement).backgroundColor,"
            " getComputedStyle(document.querySelector('figure text')).fill]"
        )
        assert (paper, ink) == (
            ("rgb(22, 24, 29)", "rgb(233, 234, 238)") if scheme == "dark" else ("rgb(255, 255, 255)", "rgb(27, 29, 34)")
        )
        page.screenshot(path=screens / f"evaluation-{scheme}-{width}.png", full_page=True)
        assert watched.problems == []
        assert [url for url in watched.foreign if url != written[0].as_uri()] == []
