"""Refinement: what becomes of each strip, what the kept ones make, and what stands for a piece of evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from localcrag.crag.refine.completeness import Wording, are_duplicates
from localcrag.crag.refine.refine import Refinement, RefineRules, apply_limits, by_relevance, mean_embedding, refine
from localcrag.records.enums import Grade, StripMode, StripReason
from localcrag.records.passages import GradedPassage, Strip, Thresholds
from localcrag.records.thresholds import REFERENCE, lowest_strip
from tests.support.fakes import FakeEmbedder, FakeScorer
from tests.support.made_records import graded

KEPT, BEST, RETENTION, BELOW = StripReason.KEPT, StripReason.BEST, StripReason.RETENTION, StripReason.BELOW
OVER_CAP, OVER_TOKENS, DUPLICATE = StripReason.OVER_CAP, StripReason.OVER_TOKENS, StripReason.DUPLICATE


def rules(**changed: object) -> RefineRules:
    values: dict[str, object] = {"threshold": 0.5, "lowest": 0.1, "most": 9, "tokens": 1000, "retention": 0.0}
    count = FakeEmbedder().count_tokens
    return RefineRules(**{**values, "count_tokens": count, **changed})  # type: ignore[arg-type]


def refined(*passages: GradedPassage, **changed: object) -> Refinement:
    return refine("Do cats purr?", passages, scorer=FakeScorer(), rules=rules(**changed))


def strips_of(*relevances: float, passage: str = "p", words: int = 1) -> list[Strip]:
    texts = [f"{passage}{place} " + "word " * (words - 1) for place in range(len(relevances))]
    return [Strip(passage, 0, 1, text, 0.0, value, kept=False) for text, value in zip(texts, relevances, strict=True)]


def fates(strips: Sequence[Strip], **changed: object) -> list[StripReason | None]:
    wanted = rules(**changed)
    done = apply_limits(strips, by_relevance(strips, wanted), wanted)
    assert [strip.kept for strip in done] == [strip.reason in (KEPT, BEST, RETENTION) for strip in done]
    return [strip.reason for strip in done]


def test_refinement_keeps_the_strips_that_matter_and_joins_neighbours() -> None:
    text = "Cats purr loudly. Cats purr when happy. The sky is blue. Cats purr at night."
    result = refined(graded(0.9, text))
    assert [strip.kept for strip in result.strips] == [True, True, False, True]
    assert [(piece.n, piece.text) for piece in result.evidence] == [
        (1, "Cats purr loudly. Cats purr when happy."),
        (2, "Cats purr at night."),
    ]


def test_refinement_scores_the_strips_of_all_passages_in_one_batch() -> None:
    scorer = FakeScorer()
    passages = [graded(0.9, "Cats purr. Yes.", id="a"), graded(0.5, "Cats eat.", id="c")]
    result = refine("Do cats purr?", passages, scorer=scorer, rules=rules())
    assert [call[1] for call in scorer.calls] == [("Cats purr.", "Yes.", "Cats eat.")]
    assert [strip.passage for strip in result.strips] == ["a", "a", "c"]


def test_a_strip_owes_its_relevance_to_its_passage_too() -> None:
    good, doubtful = refined(graded(0.9, "Cats purr.", id="good"), graded(0.4, "Cats purr.", id="doubtful")).strips
    assert good.logit == doubtful.logit
    assert good.relevance / doubtful.relevance == pytest.approx(0.9 / 0.4)
    assert good.relevance <= 0.9


def test_where_no_passage_is_correct_the_three_nearest_are_kept_whole() -> None:
    text = "Cats purr {}. The sky is blue. The moon is round."
    least = graded(0.1, text.format("never"), id="least", grade=Grade.AMBIGUOUS)
    little = graded(0.2, text.format("quietly"), id="little", grade=Grade.AMBIGUOUS)
    less = graded(0.3, text.format("rarely"), id="less", grade=Grade.AMBIGUOUS)
    doubtful = refined(least, little, less, graded(0.4, text.format("loudly"), id="most", grade=Grade.AMBIGUOUS))
    assert {piece.passage: piece.text for piece in doubtful.evidence} == {
        "least": "Cats purr never.",
        "little": little.text,
        "less": less.text,
        "most": text.format("loudly"),
    }
    sure = refined(less, graded(0.9, text.format("loudly"), id="most", grade=Grade.CORRECT))
    assert {piece.passage: piece.text for piece in sure.evidence} == {
        "less": "Cats purr rarely.",
        "most": "Cats purr loudly.",
    }


@pytest.mark.parametrize("passages", [[], [graded(0.9, "")]], ids=["no passages", "an empty passage"])
def test_nothing_makes_no_evidence(passages: list[GradedPassage]) -> None:
    result = refined(*passages)
    assert (result.strips, result.evidence, result.sources) == ((), (), ())


def test_evidence_is_in_reading_order_and_sources_are_named_once() -> None:
    result = refined(
        graded(0.8, "Cats purr late.", id="late", start=500, page=2),
        graded(0.9, "Cats purr abroad.", id="other", document="b.txt", start=0),
        graded(0.7, "Cats purr early.", id="early", start=10, page=2),
    )
    assert [piece.passage for piece in result.evidence] == ["other", "early", "late"]
    assert [(source.document, source.page) for source in result.sources] == [("b.txt", None), ("a.txt", 2)]


@pytest.mark.parametrize("mode", StripMode)
def test_evidence_is_the_passages_own_words_in_every_mode(mode: StripMode) -> None:
    text = "Cats purr loudly.\n\nCats purr when happy, and when they are not. The sky is blue."
    result = refined(graded(0.9, text), mode=mode, window_words=5)
    assert result.evidence
    assert all(piece.text in text for piece in result.evidence)


@pytest.mark.parametrize(
    ("relevances", "changed", "expected"),
    [
        pytest.param([0.9, 0.5, 0.4], {}, [KEPT, KEPT, BELOW], id="the threshold"),
        pytest.param([0.3, 0.4, 0.2], {}, [BELOW, BEST, BELOW], id="the best one stays"),
        pytest.param(
            [0.8, 0.05, 0.03], {"threshold": 0.01, "lowest": 0.005, "retention": 1.0}, [KEPT, KEPT, BELOW],
            id="beside the point of a sure one",
        ),
        pytest.param([0.3, 0.3], {}, [BEST, BELOW], id="of equals the first is the best one"),
        pytest.param([0.6, 0.9, 0.8], {"most": 2}, [OVER_CAP, KEPT, KEPT], id="the cap"),
        pytest.param([0.6, 0.9, 0.8], {"tokens": 2}, [OVER_TOKENS, KEPT, KEPT], id="the token cap"),
        pytest.param([0.6, 0.9], {"tokens": 0}, [OVER_TOKENS, BEST], id="the best one stays beyond the token cap"),
        pytest.param([0.9, 0.3, 0.2, 0.1], {"retention": 0.5}, [KEPT, RETENTION, BELOW, BELOW], id="retention"),
        pytest.param([0.9, 0.8, 0.2], {"retention": 0.3}, [KEPT, KEPT, BELOW], id="retention is met without"),
        pytest.param([0.9, 0.05, 0.2], {"retention": 1.0}, [KEPT, BELOW, RETENTION], id="never below the lowest"),
        pytest.param([0.04, 0.03], {"retention": 1.0}, [BEST, BELOW], id="nothing reaches the lowest"),
        pytest.param([0.9, 0.2], {"retention": 1.0, "lowest": 0.7}, [KEPT, BELOW], id="lowered, never raised"),
        pytest.param(
            [0.9, 0.3, 0.2], {"retention": 1.0, "most": 2}, [KEPT, RETENTION, OVER_CAP], id="retention within the cap"
        ),
        pytest.param([0.9, 0.2, 0.2], {"retention": 0.5}, [KEPT, RETENTION, RETENTION], id="equals stay alike"),
    ],
)  # fmt: skip
def test_every_strip_says_its_fate(
    relevances: list[float], changed: dict[str, object], expected: list[StripReason]
) -> None:
    found = fates(strips_of(*relevances), **{"most": 8, **changed})
    assert found == expected


@pytest.mark.parametrize("strips", [1, 3, 4, 7, 10, 20, 30])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 1.0])
def test_minimum_retention_keeps_the_share_and_no_strip_more(share: float, strips: int) -> None:
    found = fates(strips_of(*np.linspace(0.4, 0.2, strips)), retention=share, most=200)
    kept = sum(fate in (BEST, RETENTION) for fate in found)
    assert kept >= max(1, share * strips - 1e-9)
    assert kept - 1 < max(1, share * strips)


def test_the_best_strip_of_each_passage_stays_beyond_the_cap() -> None:
    strips = [*strips_of(0.9, 0.8, 0.7, passage="a"), *strips_of(0.6, 0.55, passage="b"), *strips_of(0.2, passage="c")]
    assert fates(strips, most=2) == [KEPT, KEPT, OVER_CAP, BEST, OVER_CAP, BEST]


def test_retention_is_each_passages_own() -> None:
    strips = [*strips_of(0.9, 0.8, 0.3, passage="a"), *strips_of(0.6, 0.3, 0.2, 0.2, passage="b")]
    assert fates(strips, retention=0.5) == [KEPT, KEPT, BELOW, KEPT, RETENTION, BELOW, BELOW]


def test_what_two_passages_say_is_kept_once_where_it_is_more_relevant() -> None:
    first = graded(0.8, "Cats purr when they are happy. Cats purr twice.", id="less")
    second = graded(0.9, "“Cats purr, when they are happy!”", id="more", document="b.txt")
    result = refined(first, second)
    assert [(strip.passage, strip.reason) for strip in result.strips] == [
        ("less", DUPLICATE), ("less", KEPT), ("more", KEPT),
    ]  # fmt: skip


def test_a_passage_that_only_repeats_another_adds_nothing() -> None:
    text = "Cats purr when they are happy. They sleep all day."
    result = refined(graded(0.9, text, id="a"), graded(0.8, text, id="b", document="b.txt"))
    assert {piece.passage for piece in result.evidence} == {"a"}
    assert [source.document for source in result.sources] == ["a.txt"]


def test_a_passage_may_repeat_itself() -> None:
    result = refined(graded(0.9, "Cats purr a lot. Cats purr a lot."))
    assert [strip.reason for strip in result.strips] == [KEPT, KEPT]


TOWER = "The tower in the old harbour was built by the town council in the year 1889 after a fire."


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(TOWER, TOWER.upper(), True, id="capitals"),
        pytest.param(TOWER, f"“{TOWER.replace(' ', chr(10))}”", True, id="punctuation and white space"),
        pytest.param(TOWER, TOWER.replace("after a fire", "after a great fire"), True, id="a word added"),
        pytest.param(TOWER, TOWER.replace("1889", "1899"), False, id="another number"),
        pytest.param(TOWER, TOWER.replace("was built", "was not built"), False, id="a negation"),
        pytest.param(TOWER, TOWER.replace("was built", "may be built"), False, id="another verb"),
        pytest.param(TOWER, TOWER.replace("built", "burnt"), False, id="another word"),
        pytest.param(TOWER, TOWER.replace("town council", "town council of Bergen"), False, id="a name added"),
        pytest.param(TOWER, TOWER.replace("year 1889", "year 1889 or 1890"), False, id="a number added"),
        pytest.param("Oslo beat Bergen today.", "Bergen beat Oslo today.", False, id="another order"),
        pytest.param(TOWER, TOWER + " It was painted red, then blue, then green.", False, id="more is said"),
        pytest.param("Yes, indeed.", "Yes, indeed.", False, id="says nothing by itself"),
        pytest.param("我们明天去公园。", "我们明天去公园！", True, id="chinese"),
        pytest.param("...", "...", False, id="no words"),
        pytest.param("", "", False, id="empty"),
    ],
)
def test_near_duplicates_are_the_same_words_but_for_harmless_additions(one: str, other: str, expected: bool) -> None:
    assert are_duplicates(Wording.of(one), Wording.of(other)) is expected
    assert are_duplicates(Wording.of(other), Wording.of(one)) is expected


@pytest.mark.parametrize(
    ("own", "lowest"),
    [
        pytest.param(REFERENCE, 0.1, id="CRAG's own scale"),
        pytest.param(Thresholds(0.33, 0.05, 0.06), 0.007, id="a scale as the shipped scorer's"),
        pytest.param(Thresholds(0.7, 0.3, 0.0), 0.0, id="everything passes"),
    ],
)
def test_the_lowest_threshold_follows_the_scale_of_the_scorer(own: Thresholds, lowest: float) -> None:
    assert lowest_strip(own) == pytest.approx(lowest, abs=1e-4)


@pytest.mark.parametrize(
    ("vectors", "relevances", "expected"),
    [
        pytest.param([[1, 0]], [0.3], [1, 0], id="one strip"),
        pytest.param([[1, 0], [0, 1]], [0.5, 0.5], [0.7071, 0.7071], id="equal ones"),
        pytest.param([[1, 0], [0, 1]], [0.8, 0.6], [0.8, 0.6], id="the more relevant one counts more"),
        pytest.param([[1, 0], [0, 1]], [0.0, 0.0], [1, 0], id="no relevance"),
        pytest.param([[0, 1], [0, -1]], [0.5, 0.5], [0, 1], id="opposites"),
    ],
)
def test_evidence_is_represented_by_the_weighted_mean_of_its_strips(
    vectors: list[list[float]], relevances: list[float], expected: list[float]
) -> None:
    mean = mean_embedding(np.array(vectors, dtype=np.float32), relevances)
    assert mean == pytest.approx(expected, abs=1e-4)
    assert mean.dtype == np.float32


def test_no_strips_have_no_mean() -> None:
    with pytest.raises(ValueError, match="no strips"):
        mean_embedding(np.zeros((0, 2), dtype=np.float32), [])


@pytest.mark.parametrize(
    ("section", "path"),
    [
        pytest.param("Laundry", "House rules › Laundry", id="the title stands above the section"),
        pytest.param(None, "House rules › Laundry", id="no section"),
        pytest.param("House rules › Laundry", "House rules › Laundry", id="the section has all of them"),
        pytest.param("Rules", "Rules › House rules › Laundry", id="all are below it"),
    ],
)
def test_evidence_stands_under_its_headings_in_their_order(section: str | None, path: str) -> None:
    passage = graded(0.9, "# House rules\n\n## Laundry\n\nCats purr in the drum.", section=section)
    (piece,) = refined(passage).evidence
    assert piece.section == path
