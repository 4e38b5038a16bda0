"""The task of answering: what is asked, what there is to answer it from, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from localcrag.records.enums import Grade
from localcrag.records.passages import Evidence, GradedPassage
from localcrag.records.run import Conflict
from localcrag.records.web import WebUse
from localcrag.steps.asked import Asked
from localcrag.steps.evaluate.evaluate import is_scored
from localcrag.steps.refine.refine import QUOTED_SHARE, Refinement, best_strips


class Certainty(Enum):
    """Whether the evidence answers the question, as far as the grades of its passages tell."""

    SURE = "a passage is correct"
    DOUBTFUL = "none is"
    UNKNOWN = "nothing could grade them"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be answered, and from what.

    `used` are the passages that the evidence is of, `found` all that the documents gave. `believed`: a person says that
    the evidence answers the question.
    """

    asked: Asked
    refinement: Refinement
    conflicts: tuple[Conflict, ...]
    used: tuple[GradedPassage, ...]
    found: tuple[GradedPassage, ...]
    web: WebUse
    believed: bool = False

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All evidence, numbered as it is cited."""
        return self.refinement.evidence

    @property
    def certainty(self) -> Certainty:
        """Of questions that are AMBIGUOUS most have no answer in the documents (docs/evaluation.md)."""
        if not is_scored(self.used):
            return Certainty.UNKNOWN
        correct = any(passage.grade is Grade.CORRECT for passage in self.used)
        return Certainty.SURE if correct or self.believed else Certainty.DOUBTFUL

    @property
    def to_quote(self) -> tuple[Evidence, ...]:
        """The best strips, each by itself, for where the evidence is not sure to answer."""
        return best_strips(self.refinement.strips, self.evidence, share=QUOTED_SHARE)
