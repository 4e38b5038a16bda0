"""What the settings screen shows when it is opened: with the real app behind, and no browser before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.assemble import Assembly
from localcrag.settings import load
from localcrag.ui.page import App, build
from tests.support.first_start import started_before
from tests.support.scored_runs import scored_run


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    made = Assembly(load(data_dir=started_before(tmp_path)))
    yield made
    made.close()


@pytest.fixture
def app(assembly: Assembly) -> Iterator[App]:
    async def made() -> App:
        return build(assembly)

    # Within a loop of events: Gradio would make one, and leave it open.
    app = asyncio.run(made())
    yield app
    app.close()


def handler(app: App, name: str) -> Callable[..., Any]:
    """Return the handler of that name, as the page calls it."""
    return next(event.fn for event in app.page.fns.values() if event.fn and event.fn.__qualname__.endswith(name))


def test_every_list_is_filled_when_the_settings_are_opened(app: App, assembly: Assembly) -> None:
    assembly.runs.save(scored_run(1, [0.9], assembly.calibrations.own.passage))
    figures, gaps, said, storage = handler(app, "wire.<locals>.read")()
    assert "CORRECT" in figures
    assert "lc-" in gaps
    assert "lc-" in said
    assert "database: documents, chats, questions, labels" in storage


def test_the_thresholds_in_force_are_shown_when_the_fold_is_opened(app: App, assembly: Assembly) -> None:
    assembly.runs.save(scored_run(1, [0.9], assembly.calibrations.own.passage))
    rules = assembly.past_questions.rules()
    upper, lower, policy, picture, changes = handler(app, "_Events.in_force")("default")
    assert (upper, lower, policy) == (rules.upper, rules.lower, rules.policy.value)
    assert "<svg" in picture
    assert "calibrated" in changes


def test_the_models_are_listed_with_what_they_are_for(app: App) -> None:
    (listed,) = handler(app, "ModelSettings.follow")()
    assert "Language model: writes the answers" in listed
    assert "relevance-v2" in listed
