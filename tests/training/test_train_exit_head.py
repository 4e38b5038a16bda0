"""Training the exit head: what states tell of a logit is found, and what exits change is counted."""

from __future__ import annotations

import numpy as np
import pytest
from lab.training.train_exit_head import Judged, Read, fit

from localcrag.backends.models.cross_encoder import CrossEncoder
from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.settings import REPOSITORY_MODELS


def read(question: str, name: str, *, logit: float, states: object = 0.0, held: int = 0) -> Read:
    passage = Passage(id=name, origin=Origin.LOCAL, text=name, document="a.md", page=None, cosine=0.5, overlap=0.5)
    return Read(question, passage, held, np.asarray(states, np.float32), logit)


def test_a_logit_that_is_linear_in_the_states_is_found() -> None:
    chance = np.random.default_rng(1)
    states = chance.normal(3.0, 2.0, (40_000, 4))
    pairs = [read("?", "a", logit=float(row @ [1, -2, 0, 0.5] - 4), states=row) for row in states]
    weights, bias = fit(pairs)
    assert states @ weights + bias == pytest.approx([pair.logit for pair in pairs], abs=1.5)
    assert weights == pytest.approx([1, -2, 0, 0.5], abs=0.3)


def test_what_exits_change_is_counted() -> None:
    pairs = [
        read("one", "helps", logit=6.0, held=1),
        read("one", "does not", logit=-9.0),
        read("two", "helps, and exits", logit=5.0, held=2),
        read("two", "does not", logit=-9.0),
    ]
    judged = Judged(pairs, CrossEncoder("mine", REPOSITORY_MODELS / "relevance-v3"))
    figures = judged.figures(np.array([2.0, -8.0, -8.0, -7.0]), -6.0)
    assert figures["exit"] == 0.75
    assert (figures["not incorrect"], figures["of these exit"], figures["another action"]) == (2, 1, 1)
    assert figures["lines among 6"] == 0
    assert judged.figures(np.array([2.0, -8.0, 4.0, -7.0]), -6.0)["another action"] == 0
