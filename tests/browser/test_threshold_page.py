"""The threshold explorer on the real page: sliders are moved, and what they show is saved. No model is asked."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from localcrag.app.assembly import Assembly
from localcrag.models.encoders import read_calibration
from localcrag.settings import REPOSITORY_MODELS, load
from localcrag.text.translation import format_decimals
from tests.support.app_process import running_app, watch
from tests.support.page_driver import PATIENCE, open_settings, wait_until
from tests.support.scored_runs import scored_run

OWN = read_calibration(REPOSITORY_MODELS / "relevance-v3").thresholds
LONG = "Which of the two harbours on the northern coast was enlarged for the timber trade before the railway came?"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a hundred questions asked, a few of which cannot be compared."""
    data = tmp_path_factory.mktemp("asked")
    assembly = Assembly(load(data_dir=data))
    own = assembly.calibrations.own.passage
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


def test_sliders_show_at_once_what_would_change_and_it_is_saved_and_taken_back(
    chromium: Browser, address: str, asked: Path, screens: Path
) -> None:
    settings = asked / "settings.json"
    with chromium.new_context(viewport={"width": 1280, "height": 1000}) as context:
        page = context.new_page()
        watched = watch(page)
        unfold(page, address)
        shown, changes = page.locator(".lc-explored"), page.locator(".lc-explored-changes")
        expect(changes).to_contain_text("No question would change.")
        expect(changes).to_contain_text("Not compared: 1 scored by another model, 1 stopped before they were decided.")
        expect(changes).to_contain_text("In force are the calibrated thresholds")
        expected = Assembly(load(data_dir=asked)).past_questions.explore(upper=0.5)

        put(page, "upper", "0.5")
        expect(changes).to_contain_text(f"{len(expected.changes)} would change")
        expect(changes).to_contain_text("Is <b>this</b> text?")
        assert expected.web_rate_then
        assert expected.web_rate_now
        expect(shown).to_contain_text(f"{100 * expected.web_rate_now:.0f} % → {100 * expected.web_rate_then:.0f} %")
        expect(shown.locator("svg line.lc-limit-now")).to_have_count(1)
        page.locator("#lc-explore-buttons").scroll_into_view_if_needed()
        page.screenshot(path=screens / "thresholds.png")

        # An emptied field is no number, and changes nothing.
        number(page, "upper").fill("")
        number(page, "upper").fill("0.4")
        expect(shown.locator("svg")).to_have_attribute(
            "aria-label", f"Best relevances of 97 questions, upper 0.40, lower {format_decimals(OWN.lower)}"
        )
        expect(number(page, "lower")).to_have_value(f"{OWN.lower:g}")

        # By hand, as a slider is moved; past the other one it takes it along.
        slider = page.locator("#lc-explore-lower input[type=range]")
        slider.focus()
        slider.press("End")
        expect(number(page, "upper")).to_have_value("1")
        expect(shown).to_contain_text("→ 100 %")
        slider.press("Home")
        put(page, "upper", "0.6")
        put(page, "lower", "0.1")
        expect(shown.locator("svg")).to_have_attribute(
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
        expect(changes).to_contain_text("In force are the calibrated thresholds")
        wait_until(lambda: json.loads(settings.read_text("utf-8")) == {"policy": "count"})
        expect(page.locator("#lc-how input").first).to_have_value("two correct passages are needed")
        assert watched.problems == []
        assert watched.foreign == []


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
