"""Settings for answering questions: preset, policy, strictness, refiner and conflict rule.

`LiveFields` keeps the fields of all settings up to date: it shows the active values whenever the page or the settings
screen is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from localcrag.app.collections.settings import CollectionSettings
from localcrag.app.feedback import PastQuestions
from localcrag.app.shared_state import CurrentSettings
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.chat.chat import preset_name
from localcrag.interfaces.page.handlers import LATEST, PRIVATE, QUEUED
from localcrag.records.enums import ConflictRule, Policy, Preset, RefinerKind, Strictness, StripMode
from localcrag.records.errors import LocalcragError
from localcrag.records.thresholds import PRESETS
from localcrag.settings import Settings
from localcrag.text.translation import format_decimals, gettext_noop, ngettext
from localcrag.text.translation import gettext as _


class LiveFields:
    """The fields of the settings, each with a function that returns its active value for a collection.

    The page is built only once: without this class, a reload would show the values from the server's start. Another tab
    or a command may have changed them since.
    """

    def __init__(self) -> None:
        self._fields: dict[Any, Callable[[str], Any]] = {}

    def add(self, field: Any, value: Callable[[str], Any]) -> None:
        """Register a field, with the function that returns its active value for a collection."""
        self._fields[field] = value

    def wire(self, page: gr.Blocks, top: gr.HTML, collection: gr.Dropdown) -> Any:
        """Update the fields when the page is loaded, a collection is chosen, or `top` opens the settings.

        Return the event of opening the settings. Gradio calls the handlers that follow it one after another, each with
        the values that the page shows at that moment.
        """
        fields = list(self._fields)
        # Without preprocessing, a number that is out of bounds is replaced instead of raising an error.
        event: dict[str, Any] = {"inputs": [collection, *fields], "outputs": fields, "preprocess": False} | PRIVATE
        # While the page loads, a chat may choose another collection; then only the last event counts.
        gr.on([page.load, collection.change], self.read, trigger_mode="always_last", **event)
        # This handler comes first: after another handler, it would get text that the user has begun to type, and
        # replace it.
        return top.select(self.read, **event | QUEUED)

    def read(self, collection: str, *shown: Any) -> list[Any]:
        """Return the active values; a field that already shows its value is skipped, so as not to disturb typing."""
        values = [value(collection) for value in self._fields.values()]
        return [gr.skip() if was == now else now for was, now in zip(shown, values, strict=True)]


def preset_choice(
    settings: CollectionSettings, past: PastQuestions, page: gr.Blocks, collection: gr.Dropdown
) -> tuple[Any, ...]:
    """Create the choice of the preset, which applies to the collection that is shown, from the next question on.

    Return a handler that updates it when the settings are opened, with its inputs and outputs.
    """
    presets, info = [(preset_name(preset), preset.value) for preset in Preset], _(PRESETS[settings.preset()].purpose)
    how: dict[str, Any] = {"interactive": True, "filterable": False, "elem_id": "lc-preset"}
    choice = gr.Dropdown(presets, value=settings.preset().value, label=_("Preset of this collection"), info=info, **how)
    effect = gr.HTML("", elem_id="lc-preset-effect")

    def choose_preset(name: str, selected: str) -> tuple[Any, Any]:
        before = settings.preset(selected)
        if before is Preset(name):
            # Gradio may report the same choice twice; the effect that the first one showed must stay.
            return gr.skip(), gr.skip()
        settings.set_preset(Preset(name), selected)
        text = f"{describe_limits(past, selected)} {describe_changes(past, before, Preset(name), selected)}".rstrip()
        return gr.Dropdown(info=_(PRESETS[Preset(name)].purpose)), renderers.message(text)

    def show_preset(selected: str) -> tuple[Any, Any]:
        preset, text = settings.preset(selected), renderers.message(describe_limits(past, selected))
        return gr.Dropdown(value=preset.value, info=_(PRESETS[preset].purpose)), text

    def refresh_preset(selected: str, shown: str) -> tuple[Any, Any]:
        return (gr.skip(), gr.skip()) if settings.preset(selected).value == shown else show_preset(selected)

    choice.input(choose_preset, [choice, collection], [choice, effect], **LATEST)
    # Another tab, or `localcrag presets use`, may have chosen a preset since.
    gr.on([page.load, collection.change], show_preset, [collection], [choice, effect], **LATEST)
    return refresh_preset, [collection, choice], [choice, effect]


def describe_limits(past: PastQuestions, collection: str) -> str:
    """Return a sentence on a collection's thresholds, or the reason why they cannot be read."""
    try:
        rules = past.rules(collection)
    except LocalcragError as error:
        return str(error)
    limits = {"upper": format_decimals(rules.upper), "lower": format_decimals(rules.lower)}
    return _(
        "A passage counts as correct at a relevance of %(upper)s or more, and as incorrect below %(lower)s.", **limits
    )


def describe_changes(past: PastQuestions, before: Preset, after: Preset, collection: str) -> str:
    """Return a sentence on what another preset would change for past questions; "" if there are none."""
    try:
        found = past.explore_preset(before, after, collection)
    except LocalcragError as error:
        return str(error)
    if found.web_rate_now is None or found.web_rate_then is None:
        return ""
    return ngettext(
        "With this preset, %(changed)s of your %(num)s past question would be decided differently than with "
        "“%(before)s”; the documents would fall short for %(then)s (now: %(now)s).",
        "With this preset, %(changed)s of your %(num)s past questions would be decided differently than with "
        "“%(before)s”; the documents would fall short for %(then)s (now: %(now)s).",
        found.questions,
        changed=len(found.changes),
        before=preset_name(before),
        then=f"{found.web_rate_then:.0%}",
        now=f"{found.web_rate_now:.0%}",
    )


STRICTNESS = {
    Strictness.STRICT: gettext_noop("supported only: the others are removed"),
    Strictness.BALANCED: gettext_noop("mark partial: partly supported ones stay, marked"),
    Strictness.LENIENT: gettext_noop("show all: unsupported ones stay, too, marked"),
}
POLICIES = {
    Policy.MAX: gettext_noop("the best passage decides"),
    Policy.FRACTION: gettext_noop("the share of correct passages decides"),
    Policy.RATIO: gettext_noop("the share of relevant passages decides"),
    Policy.COUNT: gettext_noop("two correct passages are needed"),
}
REFINERS = {RefinerKind.STRIPS: gettext_noop("the reranker")}
REFINERS[RefinerKind.LLM] = gettext_noop("the language model (needs a capable one)")
CONFLICT_RULES = {
    ConflictRule.SHOW_BOTH: gettext_noop("both"),
    ConflictRule.DOCUMENTS: gettext_noop("the documents"),
    ConflictRule.WEB: gettext_noop("the web"),
    ConflictRule.NEWER: gettext_noop("the newer"),
    ConflictRule.MORE_RELEVANT: gettext_noop("more relevant"),
}


def choices(labels: Mapping[Any, str]) -> list[tuple[str, str]]:
    """Return the members of an enumeration to choose from, as label and value, given their labels in English."""
    return [(_(label), member.value) for member, label in labels.items()]


def answer_settings(current: CurrentSettings, fields: LiveFields) -> gr.Dropdown:
    """Create the fields for the steps of answering; return the policy field."""
    settings = current.now
    controls: dict[str, Any] = {}
    with gr.Column(elem_id="lc-how"):
        policies, label = [(_("set by the preset"), ""), *choices(POLICIES)], _("When the documents are enough")
        policy = gr.Dropdown(policies, value=_field_value(settings, "policy"), label=label, filterable=False)
        controls["policy"] = policy
        label = _("Sentences of the answer that the sources do not fully support")
        controls["strictness"] = gr.Radio(choices(STRICTNESS), value=settings.strictness.value, label=label)
        label = _("Search again in other words if the first passages are not enough")
        controls["retry"] = gr.Checkbox(settings.retry, label=label)
        label = _("Sentences are picked by")
        controls["refiner"] = gr.Radio(choices(REFINERS), value=settings.refiner.value, label=label)
        modes, label = [(_(mode.value), mode.value) for mode in StripMode], _("How passages are split")
        controls["strip_mode"] = gr.Dropdown(modes, value=settings.strip_mode.value, label=label, filterable=False)
        label = _("Time limit per question in seconds (0: none)")
        info = _("For slow machines: steps that do not fit are skipped, and the answer says which.")
        controls["time_budget"] = gr.Number(settings.time_budget, minimum=0, label=label, info=info)
    rule, label = settings.conflict_rule.value, _("Where documents and web disagree, use")
    how: dict[str, Any] = {"interactive": True, "filterable": False, "elem_id": "lc-conflict-rule"}
    controls["conflict_rule"] = gr.Dropdown(choices(CONFLICT_RULES), value=rule, label=label, **how)
    for name, control in controls.items():
        fields.add(control, _reader(current, name))
        # Only the last value counts, even if an earlier digit of a number is still being saved.
        control.input(_saver(current, name), [control], None, **LATEST)
    return policy


def _reader(current: CurrentSettings, name: str) -> Callable[[str], Any]:
    return lambda _: _field_value(current.now, name)


def _field_value(settings: Settings, name: str) -> Any:
    """Return the value for a settings field; "" for the policy if the preset decides it."""
    if name == "policy" and name not in settings.model_fields_set:
        return ""
    return settings.model_dump(mode="json", include={name})[name]


def _saver(current: CurrentSettings, name: str) -> Any:
    def save(value: Any) -> None:
        # Gradio also reports a dropdown's value when it loses the focus.
        if value == _field_value(current.now, name):
            return
        current.change(**{name: None if value == "" else value})

    return save
