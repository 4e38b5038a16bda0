"""The step `screen`: the run says which sentences were left out as instructions to the model."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from localcrag.records.events import Event, Warned
from localcrag.records.passages import Passage
from localcrag.steps.screen import prompt_injection
from localcrag.steps.screen.prompt_injection_words import Rule


def screen(passages: Sequence[Passage], rules: tuple[Rule, ...]) -> Generator[Event, None, None]:
    """Yield a warning for each such sentence; the steps that give passages to a model have left it out."""
    for message in prompt_injection.warnings(dict.fromkeys(passages), rules):
        yield Warned(message)
