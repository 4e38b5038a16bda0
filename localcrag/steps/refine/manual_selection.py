"""Manual selection: sentences that a person put in or took out become evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from localcrag.records.enums import StripReason
from localcrag.records.passages import GradedPassage, Strip
from localcrag.steps.refine.refine import Refinement, recompose

NEVER = frozenset({StripReason.INSTRUCTION, StripReason.HIDDEN})
"""What is no sentence of the document to its readers is not put in by anybody."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person said: sentences by passage and start, and whole passages by their id; True is in, False is out.

    A sentence that is named itself goes by that, and not by its passage.
    """

    sentences: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    passages: Mapping[str, bool] = field(default_factory=dict)

    @property
    def puts_in(self) -> bool:
        """Whether anything is put in."""
        return any([*self.sentences.values(), *self.passages.values()])

    def of(self, strip: Strip) -> bool | None:
        """Return what was said of a strip; None: nothing."""
        own = self.sentences.get((strip.passage, strip.start))
        return self.passages.get(strip.passage) if own is None else own

    def and_then(self, other: Choice) -> Choice:
        """Return both; where they differ, the other."""
        # A passage said of later is meant as a whole.
        kept = {key: said for key, said in self.sentences.items() if key[0] not in other.passages}
        return Choice({**kept, **other.sentences}, {**self.passages, **other.passages})


def apply(strips: Sequence[Strip], passages: Sequence[GradedPassage], choice: Choice) -> Refinement:
    """Return the strips as the choice has them, and the evidence that they make of the passages."""
    chosen = tuple(_as_chosen(strip, choice.of(strip)) for strip in strips)
    named = {strip.passage for strip in chosen}
    return Refinement(chosen, *recompose([passage for passage in passages if passage.id in named], chosen))


def _as_chosen(strip: Strip, said: bool | None) -> Strip:
    if said is None or said == strip.kept or strip.reason in NEVER:
        return strip
    return dataclasses.replace(strip, kept=said, reason=StripReason.PUT_IN if said else StripReason.TAKEN_OUT)
