"""The page as a whole: keys, widths, light and dark, and what it does at rest."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    PATIENCE,
    answered,
    ask,
    go,
    loaded_at,
    open_settings,
    open_side,
    opened,
    question_box,
    reload,
    whole,
)

pytestmark = pytest.mark.browser


FRAMES = """{
  const drawn = window.requestAnimationFrame.bind(window);
  window.framesAsked = 0;
  window.requestAnimationFrame = (step) => { window.framesAsked += 1; return drawn(step); };
}"""
"""Counts who asks for a frame; stands before the page's own scripts."""
AT_REST = """async () => {
  const before = window.framesAsked;
  for (let own = 0; own < 60; own += 1) await new Promise((next) => window.requestAnimationFrame(next));
  return window.framesAsked - before - 60 < 20;
}"""
"""Of the sixty frames that Gradio's loading sign would ask for, a few at most."""


def test_a_page_at_rest_draws_nothing(chromium: Browser, app: str) -> None:
    with chromium.new_context() as context:
        context.add_init_script(FRAMES)
        page = context.new_page()
        go(page, app)
        expect(question_box(page)).to_be_visible(timeout=PATIENCE)
        # What has just come is drawn first, on a busy machine for longer than a moment.
        page.wait_for_function(AT_REST, polling=100, timeout=PATIENCE)


def test_a_key_shows_the_shortcuts(chromium: Browser, app: str, screens: Path) -> None:
    with opened(chromium, app) as page:
        page.locator("#lc-panel").click()
        page.keyboard.press("?")
        shortcuts = page.get_by_role("dialog", name="Shortcuts")
        expect(shortcuts).to_be_visible()
        box = shortcuts.bounding_box()
        assert box
        assert abs(2 * box["y"] + box["height"] - 860) < 4, "in the middle of the screen"
        page.screenshot(path=screens / "shortcuts.png")
        page.keyboard.press("Escape")
        expect(shortcuts).to_be_hidden()


@pytest.mark.parametrize(("key", "side"), [("[", "left"), ("]", "right")])
def test_a_key_hides_a_side_which_stays_hidden_until_it_is_pressed_again(
    chromium: Browser, app: str, key: str, side: str
) -> None:
    with opened(chromium, app) as page:
        page.locator("#lc-panel").click()
        page.keyboard.press(key)
        expect(page.locator(f"#lc-{side}")).to_be_hidden()
        reload(page)
        expect(page.locator(f"#lc-{side}")).to_be_hidden()
        # The box for the question has the focus, where a bracket is a letter.
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
        expect(page.locator(f"#lc-{side}")).to_be_visible()


def test_a_key_opens_the_settings_and_another_closes_them(chromium: Browser, app: str) -> None:
    with opened(chromium, app) as page:
        page.locator("#lc-panel").click()
        page.keyboard.press(",")
        expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#lc-settings")).to_be_hidden()


def test_a_key_changes_between_light_dark_and_the_systems_choice(chromium: Browser, app: str) -> None:
    with opened(chromium, app) as page:
        page.locator("#lc-panel").click()
        for name in ("light", "dark", "system"):
            page.keyboard.press("d")
            expect(page.locator(f"#lc-top [data-theme={name}]")).to_be_visible()
            expect(page.locator("body")).to_have_class(
                re.compile(r"\bdark\b") if name == "dark" else re.compile("^(?!.*dark)")
            )


def test_a_key_goes_to_the_question_where_all_keys_are_letters(chromium: Browser, app: str) -> None:
    with opened(chromium, app) as page:
        page.locator("#lc-panel").click()
        page.keyboard.press("/")
        page.keyboard.type("? and / are letters here")
        expect(question_box(page)).to_have_value("? and / are letters here")


WIDTHS = [(1440, "light"), (1280, "dark"), (768, "light"), (400, "light"), (400, "dark")]


def test_the_page_is_whole_at_every_width_in_light_and_dark(
    chromium: Browser, with_handbook: str, screens: Path
) -> None:
    with opened(chromium, with_handbook) as page:
        ask(page, "What does the company pay per kilometre for one's own car?")
        for width, scheme in WIDTHS:
            loaded_at(page, width, scheme)
            answered(page, 1)
            whole(page, width)
            page.screenshot(path=screens / f"{scheme}-{width}.png")
            for side in ("left", "right"):
                open_side(page, side)
                whole(page, width)
                page.screenshot(path=screens / f"{scheme}-{width}-{side}.png")
                if width < 1180:
                    page.keyboard.press("Escape")
                    expect(page.locator(f"#lc-{side}")).to_be_hidden()
            open_settings(page)
            whole(page, width)
            page.screenshot(path=screens / f"{scheme}-{width}-settings.png")


def test_the_page_starts_behind_a_proxy_and_answers_only_to_its_own_name(tmp_path: Path) -> None:
    with running_app(tmp_path, HTTP_PROXY="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9") as url:
        statuses = [
            httpx.get(url, headers={"Host": host}, trust_env=False).status_code
            for host in (url.removeprefix("http://"), url.replace("http://127.0.0.1", "localhost"), "evil.example")
        ]
    assert statuses == [200, 200, 403]
