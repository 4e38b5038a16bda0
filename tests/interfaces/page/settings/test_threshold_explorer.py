"""The threshold explorer on the real page: sliders are moved, and what they show is saved. No model is asked."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from localcrag.app.assembly import Assembly
from localcrag.models.encoders import read_calibration
from localcrag.settings import REPOSITORY_MODELS, load
from localcrag.text.translation import format_decimals
from tests.support.app_process import running_app, watch
from tests.support.page_driver import PATIENCE, clean, open_settings, wait_until
from tests.support.scored_runs import scored_run

pytestmark = pytest.mark.browser

OWN = read_calibration(REPOSITORY_MODELS / "relevance-v3").thresholds
LONG = "Which of the two harbours on the northern coast was enlarged for the timber trade before the railway came?"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a hundred questions asked, a few of which cannot be compared."""
    data = tmp_path_factory.mktemp("asked")
    assembly = Assembly(load(data_dir=data))
    own = assembly.calibrations.default.passage
    chance = random.Random(2)
    for number in range(96):
        best = chance.betavariate(2, 4) if number % 3 else chance.betavariate(5, 2)
        question = LONG if number == 95 else None
        assembly.runs.save(scored_run(number, [best, best / 2, 0.01], own, question=question))
    assembly.runs.save(scored_run(96, [0.4], own, question="Is <b>this</b> text?"))
    assembly.runs.save(scored_run(97, [0.5], own, model="another"))
    assembly.runs.save(scored_run(98, [], own, action=None))
    assembly.close()
    return data


@pytest.fixture(scope="module")
def address(asked: Path) -> Iterator[str]:
    with running_app(asked) as url:
        yield url


def unfold(page: Page, address: str) -> None:
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    open_settings(page, "Answers")
    page.get_by_role("button", name="Effect of other thresholds").click()
    expect(page.locator(".lc-explored")).to_contain_text("97 questions", timeout=PATIENCE)
    # As in page_driver.settled: Gradio sets the values of what an accordion holds after it has made it.
    expect(number(page, "upper")).to_have_value(f"{OWN.upper:g}", timeout=PATIENCE)
    expect(number(page, "lower")).to_have_value(f"{OWN.lower:g}", timeout=PATIENCE)


def number(page: Page, name: str):  # type: ignore[no-untyped-def]
    return page.locator(f"#lc-explore-{name} input[type=number]")


def put(page: Page, name: str, value: str) -> None:
    number(page, name).fill(value)
    number(page, name).press("Enter")


@contextmanager
def unfolded(browser: Browser, address: str) -> Iterator[Page]:
    """Open the explorer; in the end the page complained about nothing and asked nobody else."""
    with browser.new_context(viewport={"width": 1280, "height": 1000}) as context:
        page = context.new_page()
        watched = watch(page)
        unfold(page, address)
        yield page
        clean(watched)


def test_the_explorer_begins_with_the_thresholds_in_force_and_says_what_is_not_compared(
    chromium: Browser, address: str
) -> None:
    with unfolded(chromium, address) as page:
        changes = page.locator(".lc-explored-changes")
        expect(changes).to_contain_text("No question would change.")
        expect(changes).to_contain_text("Not compared: 1 scored by another model, 1 stopped before they were decided.")
        expect(changes).to_contain_text("Calibrated thresholds are active")


def test_another_threshold_shows_at_once_what_would_change(
    chromium: Browser, address: str, asked: Path, screens: Path
) -> None:
    expected = Assembly(load(data_dir=asked)).past_questions.explore(upper=0.5)
    with unfolded(chromium, address) as page:
        shown, changes = page.locator(".lc-explored"), page.locator(".lc-explored-changes")
        put(page, "upper", "0.5")
        expect(changes).to_contain_text(f"{len(expected.changes)} would change")
        expect(changes).to_contain_text("Is <b>this</b> text?")
        assert expected.web_rate_then
        assert expected.web_rate_now
        expect(shown).to_contain_text(f"{100 * expected.web_rate_now:.0f} % → {100 * expected.web_rate_then:.0f} %")
        expect(shown.locator("svg line.lc-limit-now")).to_have_count(1)
        page.locator("#lc-explore-buttons").scroll_into_view_if_needed()
        page.screenshot(path=screens / "thresholds.png")


def test_an_emptied_field_is_no_number_and_changes_nothing(chromium: Browser, address: str) -> None:
    with unfolded(chromium, address) as page:
        number(page, "upper").fill("")
        number(page, "upper").fill("0.4")
        expect(page.locator(".lc-explored svg")).to_have_attribute(
            "aria-label", f"Best relevances of 97 questions, upper 0.40, lower {format_decimals(OWN.lower)}"
        )
        expect(number(page, "lower")).to_have_value(f"{OWN.lower:g}")


def test_a_slider_that_is_moved_past_the_other_one_takes_it_along(chromium: Browser, address: str) -> None:
    with unfolded(chromium, address) as page:
        slider = page.locator("#lc-explore-lower input[type=range]")
        slider.focus()
        slider.press("End")
        expect(number(page, "upper")).to_have_value("1")
        expect(page.locator(".lc-explored")).to_contain_text("→ 100 %")


def test_thresholds_that_were_explored_are_saved_and_taken_back(chromium: Browser, address: str, asked: Path) -> None:
    settings = asked / "settings.json"
    with unfolded(chromium, address) as page:
        changes = page.locator(".lc-explored-changes")
        put(page, "upper", "0.6")
        put(page, "lower", "0.1")
        expect(page.locator(".lc-explored svg")).to_have_attribute(
            "aria-label", "Best relevances of 97 questions, upper 0.60, lower 0.10"
        )
        page.locator("#lc-explore-policy input").click()
        page.get_by_role("option", name="two correct passages are needed").click()
        expect(changes).to_contain_text("INCORRECT")

        page.get_by_role("button", name="Use these thresholds").click()
        # The settings are written once the models are loaded, which goes on meanwhile.
        expect(changes).to_contain_text("Manual thresholds are active", timeout=PATIENCE)
        assert json.loads(settings.read_text("utf-8")) == {"upper": 0.6, "lower": 0.1, "policy": "count"}
        expect(changes).to_contain_text("No question would change.")
        page.get_by_role("button", name="Use calibrated thresholds").click()
        expect(number(page, "upper")).to_have_value(f"{OWN.upper:g}", timeout=PATIENCE)
        expect(page.locator(".toast-body")).to_have_count(0)
        expect(changes).to_contain_text("Calibrated thresholds are active")
        wait_until(lambda: json.loads(settings.read_text("utf-8")) == {"policy": "count"})
        expect(page.locator("#lc-how input").first).to_have_value("two correct passages are needed")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "dark"), (400, "light"), (400, "dark")], ids=["wide dark", "narrow", "narrow dark"]
)
def test_the_explorer_is_whole_in_the_dark_and_on_a_narrow_screen(
    chromium: Browser, address: str, screens: Path, width: int, scheme: str
) -> None:
    with chromium.new_context(
        viewport={"width": width, "height": 1000}, color_scheme="dark" if scheme == "dark" else "light"
    ) as context:
        page = context.new_page()
        unfold(page, address)
        put(page, "upper", "0.55")
        put(page, "lower", "0.15")
        expect(page.locator(".lc-explored svg")).to_have_attribute(
            "aria-label", "Best relevances of 97 questions, upper 0.55, lower 0.15"
        )
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        page.locator("#lc-explore-buttons").scroll_into_view_if_needed()
        page.screenshot(path=screens / f"thresholds-{scheme}-{width}.png")


def test_an_empty_collection_says_that_there_is_nothing_to_compare(chromium: Browser, app: str) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(app)
        open_settings(page, "Answers")
        page.get_by_role("button", name="Effect of other thresholds").click()
        expect(page.locator(".lc-explored")).to_contain_text("No past questions to compare yet.", timeout=PATIENCE)
