"""The settings of answers on the page: presets, and how answers are made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.app_process import running_app
from tests.support.page_driver import (
    ask,
    choose,
    close_settings,
    open_settings,
    opened,
    reload,
    wait_until,
)

pytestmark = pytest.mark.browser


QUESTION = "How many days after a journey must a claim be handed in?"


def test_a_preset_is_chosen_for_one_collection_alone(chromium: Browser, with_handbook: str, screens: Path) -> None:
    with opened(chromium, with_handbook) as page:
        open_settings(page, "Answers")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions")
        choose(page, "#lc-preset", "strict")
        expect(page.locator("#lc-preset")).to_contain_text("two passages must support it")
        expect(page.locator("#lc-preset-effect")).to_contain_text("A passage counts as correct at")
        reload(page)
        # Each collection has its own.
        page.once("dialog", lambda dialog: dialog.accept("another one"))
        page.get_by_role("button", name="New collection").click()
        expect(page.locator("#lc-collection input")).to_have_value("another one")
        open_settings(page, "Answers")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions")
        close_settings(page)
        choose(page, "#lc-collection", "default")
        open_settings(page, "Answers")
        expect(page.locator("#lc-preset")).to_contain_text("two passages must support it")
        close_settings(page)
        ask(page, QUESTION)
        expect(page.locator("#lc-panel .lc-decision")).to_contain_text("2 are enough")
        expect(page.locator("#lc-panel")).to_contain_text("Preset strict · policy count")
        page.screenshot(path=screens / "preset.png")
        open_settings(page, "Answers")
        choose(page, "#lc-preset", "general")
        expect(page.locator("#lc-preset")).to_contain_text("For everyday questions")
        expect(page.locator("#lc-preset-effect")).to_contain_text("would be decided differently than with “strict”")


def test_a_preset_is_chosen_for_a_chat_and_kept_with_it(chromium: Browser, with_handbook: str) -> None:
    with opened(chromium, with_handbook) as page:
        choose(page, "#lc-chat-preset", "balanced")
        ask(page, QUESTION)
        expect(page.locator("#lc-panel")).to_contain_text("Preset balanced · policy ratio")
        reload(page)
        expect(page.locator("#lc-chat-preset input")).to_have_value("balanced")


def test_how_answers_are_made_is_set_on_the_page_and_kept(chromium: Browser, tmp_path: Path, screens: Path) -> None:
    with running_app(tmp_path) as url, opened(chromium, url) as page:
        open_settings(page, "Answers")
        page.get_by_label("supported only: the others are removed").check()
        page.get_by_label("Search again in other words").uncheck()
        page.locator("#lc-how input").first.click()
        page.get_by_role("option", name="two correct passages are needed").click()
        page.screenshot(path=screens / "how.png")
        settings = tmp_path / "settings.json"
        expected = {"strictness": "strict", "retry": False, "policy": "count"}
        wait_until(lambda: settings.is_file() and json.loads(settings.read_text("utf-8")) == expected)
        page.locator("#lc-how input").first.click()
        page.get_by_role("option", name="set by the preset").click()
        wait_until(lambda: "policy" not in json.loads(settings.read_text("utf-8")))
        # Another page may have chosen since: what holds is shown on load, and when the settings are opened.
        choose(page, "#lc-conflict-rule", "the newer")
        wait_until(lambda: json.loads(settings.read_text("utf-8")).get("conflict_rule") == "newer")
        with opened(chromium, url) as other:
            open_settings(other, "Answers")
            expect(other.get_by_label("supported only: the others are removed")).to_be_checked()
            expect(other.locator("#lc-conflict-rule input")).to_have_value("the newer")
            close_settings(other)
            choose(page, "#lc-conflict-rule", "the web")
            wait_until(lambda: json.loads(settings.read_text("utf-8"))["conflict_rule"] == "web")
            open_settings(other, "Answers")
            expect(other.locator("#lc-conflict-rule input")).to_have_value("the web")
