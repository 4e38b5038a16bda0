"""The choice of a collection’s preset: whom it is for, and what it would have changed."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.app.collection_settings import CollectionSettings
from localcrag.app.past_questions import PastQuestions
from localcrag.records.enums import Preset
from localcrag.records.errors import LocalcragError
from localcrag.records.presets import PRESETS
from localcrag.text.decimals import decimals
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.ui import html
from localcrag.ui.chat.chat import preset_name
from localcrag.ui.handlers import LATEST, PRIVATE, telling
from localcrag.ui.settings.in_force import InForce


def preset_choice(
    settings: CollectionSettings, past: PastQuestions, page: gr.Blocks, in_force: InForce, collection: gr.Dropdown
) -> None:
    """Make the list of presets; the choice holds for the collection that is shown, from the next question on."""
    choice = gr.Dropdown(
        [(preset_name(preset), preset.value) for preset in Preset],
        value=settings.preset().value,
        label=_("Preset of this collection"),
        info=_(PRESETS[settings.preset()].purpose),
        interactive=True,
        filterable=False,
        elem_id="lc-preset",
    )
    effect = gr.HTML("", elem_id="lc-preset-effect")

    def use(name: str, of: str) -> tuple[Any, Any]:
        with telling():
            before = settings.preset(of)
            if before is Preset(name):
                # Said twice, as Gradio may: what the first one showed stays.
                return gr.skip(), gr.skip()
            settings.set_preset(Preset(name), of)
        said = " ".join(part for part in (limits(past, of), changed(past, before, Preset(name), of)) if part)
        return gr.Dropdown(info=_(PRESETS[Preset(name)].purpose)), html.message(said)

    def chosen(of: str) -> tuple[Any, Any]:
        preset = settings.preset(of)
        return gr.Dropdown(value=preset.value, info=_(PRESETS[preset].purpose)), html.message(limits(past, of))

    def chosen_since(of: str, shown: str) -> tuple[Any, Any]:
        return (gr.skip(), gr.skip()) if settings.preset(of).value == shown else chosen(of)

    choice.input(use, [choice, collection], [choice, effect], **PRIVATE)
    # Another page, or `localcrag presets use`, may have chosen meanwhile.
    at = [page.load, collection.change]
    gr.on(at, chosen, [collection], [choice, effect], **LATEST)
    in_force.then(chosen_since, [collection, choice], [choice, effect])


def limits(past: PastQuestions, collection: str) -> str:
    """Return what a collection's thresholds come to, in words, or what is wrong with them."""
    try:
        rules = past.rules(collection)
    except LocalcragError as error:
        return str(error)
    return _(
        "A passage counts as correct from a relevance of %(upper)s on, and as incorrect below %(lower)s.",
        upper=decimals(rules.upper),
        lower=decimals(rules.lower),
    )


def changed(past: PastQuestions, before: Preset, after: Preset, collection: str) -> str:
    """Return what another preset makes of the questions so far; nothing where there are none to tell by."""
    try:
        found = past.explore_preset(before, after, collection)
    except LocalcragError as error:
        return str(error)
    if found.web_rate_now is None or found.web_rate_then is None:
        return ""
    return ngettext(
        "Of %(num)s question so far %(changed)s would get another action than under “%(before)s”; "
        "the documents would not be enough for %(then)s instead of %(now)s.",
        "Of %(num)s questions so far %(changed)s would get another action than under “%(before)s”; "
        "the documents would not be enough for %(then)s instead of %(now)s.",
        found.questions,
        changed=len(found.changes),
        before=preset_name(before),
        then=f"{found.web_rate_then:.0%}",
        now=f"{found.web_rate_now:.0%}",
    )
