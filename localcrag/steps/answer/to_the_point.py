"""Relevance of an answer: whether it says what was asked, by the relevance model.

Verification compares words, so a sentence can be backed and still miss the point: "BSkyB gained 400,000 subscribers
within two months" is said by the evidence, and does not say how many there were in 1994.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localcrag.records.protocols import Scorer
from localcrag.text.words import content_words

LESS = 1.0
"""Log-odds by which an answer that misses the point lies below the best sentence. Of 36 answers of the embedded model
that were backed in full, 5 of the 8 beyond it were wrong, and 3 of the 28 within it (by hand, docs/evaluation.md)."""


def says_all(answer: str, best: Sequence[str], question: str) -> bool:
    """Whether an answer has all the facts of these sentences, but for what the question says itself."""
    facts = {word for text in best for word in content_words(text)} - content_words(question)
    return facts <= content_words(answer)


def misses_the_point(answer: str, best: str, question: str, scorer: Scorer) -> bool:
    """Whether `best`, a sentence of the evidence, helps to answer the question far more than the answer itself does.

    An answer that has all the facts of `best` never does, however short it is. Raises ModelError.
    """
    if says_all(answer, [best], question):
        return False
    logits = scorer.logits(question, [answer, best])
    same = np.zeros(2, dtype=np.float32)  # What both have in common with the question does not count.
    relevances = scorer.calibration.passages(logits, same, same).astype(np.float64)
    # A calibration's probabilities are above 0 and below 1 but for rounding.
    said, could_be = np.clip(relevances, 1e-6, 1 - 1e-6)
    return bool(np.log(could_be / (1 - could_be)) - np.log(said / (1 - said)) > LESS)
