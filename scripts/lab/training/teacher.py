"""Use an earlier reranker's scores as targets, so that the new model does not forget what it knew.

Training on a new kind of documents displaces what a model had learned: relevance-v2 learned everyday documents for an
hour, and lost 0.10 of AUC on an encyclopaedia. Labels hardly restore it, since few of the negatives that they give are
as hard as what a search finds. The earlier model can judge whatever the bi-encoder finds for a question, without a
label (learning without forgetting, Li and Hoiem, arXiv 1606.09282).

The new model is read with its own calibration. So the target is the logit that gives, with that calibration, the
teacher's probability. It takes into account the cosine and the overlap of words that the teacher's calibration uses,
and makes the teacher's `upper` the pupil's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lab.training.pairs import SOURCES, Group, Pair, Row
from lab.training.questions import dress
from localcrag.records.thresholds import FittedCalibration
from localcrag.text.titles import with_context
from localcrag.text.words import overlap

TAUGHT = "what the earlier model says"
"""Name of the source of these groups."""
LICENCE = "CC BY-SA 4.0"
"""Licence of these groups, the strictest of the general sources."""
POOL = 6_000
"""Number of passages to search in."""
FOUND, EACH = 14, 5
"""Passages found for a question, and the number of them that are judged in addition to its own, mostly the first."""
TITLED = 0.5
"""Share of the questions whose passages begin with their title."""
SURE = 6.0
"""Largest absolute logit to learn; logits beyond it mean the same."""

Logits = Callable[[Sequence[Pair]], NDArray[np.float32]]


def taught_groups(
    rows: Sequence[Row],
    number: int,
    *,
    logits: Logits,
    calibrations: tuple[FittedCalibration, FittedCalibration],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    chosen: random.Random,
) -> list[Group]:
    """Return a group for each of `number` questions of the general sources; every pair has the logit to learn.

    `logits` are the teacher's; `calibrations` are its own and the pupil's; `embed` returns unit vectors.
    """
    general = [row for row in rows if SOURCES[row.source].general]
    asked = chosen.sample(general, min(number, len(general)))
    own = dict.fromkeys((row.title, row.passage) for row in asked)
    others = [one for one in dict.fromkeys((row.title, row.passage) for row in general) if one not in own]
    pool = [*own, *chosen.sample(others, max(0, min(POOL - len(own), len(others))))]
    vectors = embed([text for _, text in pool])
    questions = [dress(row.question, chosen) for row in asked]
    places = {one: place for place, one in enumerate(pool)}
    groups, cosines, overlaps = [], [], []
    for row, question, vector in zip(asked, questions, embed(questions), strict=True):
        near = vectors @ vector
        order = np.argsort(-near)[:FOUND].tolist()
        beside = sorted(order, key=lambda place: order.index(place) + chosen.random() * EACH)
        first = places[row.title, row.passage]
        titled = chosen.random() < TITLED
        judged = [first, *(place for place in beside if place != first)][: 1 + EACH]
        texts = [with_context(pool[place][0] if titled else None, pool[place][1]) for place in judged]
        groups.append([Pair(question, text, place == first) for place, text in zip(judged, texts, strict=True)])
        cosines += [float(near[place]) for place in judged]
        overlaps += [overlap(question, text) for text in texts]
    wanted = lessons(logits([pair for group in groups for pair in group]), cosines, overlaps, *calibrations).tolist()
    return [Group(TAUGHT, tuple(replace(pair, wanted=wanted.pop(0)) for pair in group), ()) for group in groups]


def lessons(
    logits: Any,
    cosines: ArrayLike,
    overlaps: ArrayLike,
    teacher: FittedCalibration,
    pupil: FittedCalibration,
) -> NDArray[np.float32]:
    """Return the logits to learn, shape (pairs,), from the teacher's logits with their cosines and overlaps."""
    said = _log_odds(teacher.passages(logits, np.array(cosines), np.array(overlaps)))
    moved = said - _log_odds(teacher.thresholds.upper) + _log_odds(pupil.thresholds.upper)
    line = pupil.passage
    own = line.bias + line.cosine * np.array(cosines) + line.overlap * np.array(overlaps)
    wanted: NDArray[np.float32] = np.clip((moved - own) / line.logit, -SURE, SURE).astype(np.float32)
    return wanted


def _log_odds(probability: Any) -> Any:
    safe = np.clip(probability, 1e-6, 1 - 1e-6)
    return np.log(safe / (1 - safe))
