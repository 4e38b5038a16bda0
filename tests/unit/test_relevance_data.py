"""What is asked of a relevance model: reading labelled sets, drawing questions, and the scores as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.relevance import data
from lab.relevance import sample as sampled
from lab.relevance import scores as kept

from localcrag.records.protocols import Vectors
from tests.support.fakes import FakeEmbedder, FakeScorer
from tests.support.labelled_sets import TOWNS, write_lines, write_sets


def test_a_set_is_its_distinct_passages_and_its_questions_unanswerable_ones_apart(tmp_path: Path) -> None:
    asked = [
        {"question": "Where?", "answers": ["Arvik", ""], "answerable": True},
        {"question": "Why?", "answers": [], "answerable": False},
    ]
    rows = [{"passage": "One.", "questions": asked}, {"passage": "Two.", "question": "When?", "answers": ["1801"]}]
    write_lines(tmp_path / "tiny.jsonl.gz", [*rows, {"passage": "One.", "question": "Who?", "answers": []}])
    found = data.load_set(tmp_path, "tiny")
    assert found.passages == ("One.", "Two.")
    assert found.questions == (
        data.Question("Where?", 0, ("Arvik",)), data.Question("When?", 1, ("1801",)), data.Question("Who?", 0, ())
    )  # fmt: skip
    assert found.unanswerable == (data.Question("Why?", 0, ()),)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param(b"not gzip", "cannot be read", id="not compressed"),
        pytest.param([{"question": "Where?"}], "no labelled question", id="no passage"),
        pytest.param([{"passage": "One."}], "no labelled question", id="no question"),
        pytest.param([["a list"]], "no labelled question", id="no object"),
    ],
)
def test_what_is_no_labelled_set_is_an_error_with_its_path(tmp_path: Path, content: Any, reason: str) -> None:
    path = tmp_path / "bad.jsonl.gz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        write_lines(path, content)
    with pytest.raises(data.DataError, match=reason) as raised:
        data.load_set(tmp_path, "bad")
    assert str(path) in str(raised.value)


def test_a_cut_off_file_is_an_error(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "bad.jsonl.gz", [{"passage": str(n), "question": "?", "answers": []} for n in range(99)]
    )
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(data.DataError, match="cannot be read"):
        data.load_set(tmp_path, "bad")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(["red LIGHT"], True, id="capitals do not matter"),
        pytest.param(["blue", "light"], True, id="one of several"),
        pytest.param(["it"], False, id="two characters stand in any text"),
        pytest.param([], False, id="no answer"),
    ],
)
def test_a_text_holds_an_accepted_answer_or_not(answers: list[str], expected: bool) -> None:
    assert data.holds("It shows a red light.", answers) is expected


def test_questions_come_with_their_nearest_passages_best_first() -> None:
    passages = np.eye(20, dtype=np.float32)
    vector = np.linspace(0, 1, 20, dtype=np.float32)
    (asked,) = data.retrieve([data.Question("?", 18, ())], vector[None], passages)
    assert asked.nearest == tuple(range(19, 3, -1))
    assert len(asked.nearest) == data.RANKED + 1
    assert asked.cosines[0] == pytest.approx(1.0)


def test_pairs_on_the_same_passage_are_of_one_answerable_and_one_unanswerable_question(tmp_path: Path) -> None:
    labelled = data.load_set(write_sets(tmp_path), "squad2")
    pairs = data.pairs_on_same_passage(labelled, 5, seed=1)
    assert len(pairs) == 5
    assert all(yes.own == no.own and yes.text.startswith("When") and no.text.startswith("Who") for yes, no in pairs)
    assert data.pairs_on_same_passage(labelled, 9, seed=1)[:5] == pairs
    assert data.pairs_on_same_passage(data.load_set(tmp_path, "pubmedqa"), 5, seed=1) == []


RANKING = sampled.Ranking(
    logits=np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]]),
    cosines=np.array([[0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6]]),
    overlaps=np.array([[1.0, 0.5, 0.4, 0.3], [1.0, 0.5, 0.4, 0.3]]),
    own=np.array([[True, False, False, False], [False, False, False, True]]),
    unclear=np.array([[False, True, False, False], [False, False, False, False]]),
)


def test_the_best_score_is_among_the_nearest_passages_with_the_own_one_or_without() -> None:
    assert list(RANKING.best(RANKING.logits, there=True, most=3)) == [3.0, 2.0]
    assert list(RANKING.best(RANKING.logits, there=False, most=3)) == [2.0, 2.0], "the next one takes its place"
    assert list(RANKING.best(RANKING.logits, there=False, most=2)) == [2.0, 1.0]
    assert list(RANKING.clear(2)) == [False, True]


def test_a_calibration_sees_every_second_question_without_its_own_passage_and_no_unclear_ones() -> None:
    rows = sampled.passage_rows([RANKING, RANKING])
    assert list(rows.questions) == [0, 0, 1, 1, 1, 1] * 2
    assert list(rows.marks) == [False, False, False, False, False, True] * 2
    assert list(rows.sets) == [0] * 6 + [1] * 6
    assert rows.features[0] == pytest.approx([2.0, 0.7, 0.4])


def test_the_best_passages_are_marked_by_what_they_are_or_by_what_is_among_them() -> None:
    clear = sampled.Ranking(RANKING.logits, RANKING.cosines, RANKING.overlaps, RANKING.own, np.zeros_like(RANKING.own))
    scores = np.array([[1.0, 3.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    rows = sampled.best_rows([clear], [scores], any_own=False)
    assert list(rows.features[:, 0]) == [3.0, 3.0, 3.0, 2.0]
    assert list(rows.marks) == [False, True, False, False]
    assert list(sampled.best_rows([clear], [scores], any_own=True).marks) == [True, True, False, False]
    assert list(sampled.best_rows([RANKING], [scores], any_own=True).questions) == [1, 1], "the other is unclear"


def test_a_sample_has_other_questions_at_the_other_end_and_the_same_ones_again(tmp_path: Path) -> None:
    def take(**options: Any) -> list[sampled.Sample]:
        return sampled.take(tmp_path, FakeEmbedder(), tmp_path / "work", questions=4, seed=1, **options)

    write_sets(tmp_path)
    first, last = take(), take(last=True)
    assert take() == first
    for one, other in zip(first, last, strict=True):
        assert not {asked.question for asked in one.asked} & {asked.question for asked in other.asked}
    own = [[one for one in sample.strips if one.own] for sample in first]
    assert [len(strips) for strips in own] == [6, 6, 6, 0], "yes and no stand in no sentence"
    others = [one for one in first[0].strips if not one.own]
    assert len(others) == sampled.OTHERS * 4, "of the questions whose passages are ranked"
    assert not any(mark for one in others for mark in one.marks)
    strips = first[0].strips[0]
    assert (len(strips.spans), strips.marks) == (3, (True, False, False))
    assert all(len(asked.nearest) == len(TOWNS) for asked in first[0].asked)


class Breaking(FakeScorer):
    """Fails at the given call."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        if len(self.calls) == self._at:
            raise KeyboardInterrupt
        return super().logits(question, texts)


def test_scores_are_kept_so_that_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    pairs = [(f"lighthouse {number}", text) for number in range(4) for text in ("a lighthouse", "a hen", "a hen")]
    interrupted = kept.KeptScores(tmp_path / "scores.sqlite3", lambda: Breaking(at=2))
    with pytest.raises(KeyboardInterrupt):
        interrupted.compute(pairs)
    scorer = FakeScorer()
    scores = kept.KeptScores(tmp_path / "scores.sqlite3", lambda: scorer)
    scores.compute(pairs)
    assert [question for question, _ in scorer.calls] == ["lighthouse 2", "lighthouse 3"]
    assert scorer.calls[0][1] == ("a lighthouse", "a hen"), "the same pair is scored once"
    again = kept.KeptScores(tmp_path / "scores.sqlite3", lambda: pytest.fail("nothing is missing"))
    found = again.of("lighthouse 1", ["a hen", "a lighthouse"])
    assert found == pytest.approx(FakeScorer().logits("lighthouse 1", ["a hen", "a lighthouse"]))
    for one in (interrupted, scores, again):
        one.close()


def test_vectors_are_kept_by_embedder_and_texts(tmp_path: Path) -> None:
    texts = ["a lighthouse", "a hen"]
    first = kept.kept_vectors(tmp_path, FakeEmbedder(), texts)
    assert (kept.kept_vectors(tmp_path, FakeEmbedder(), texts) == first).all()
    assert len(list(tmp_path.iterdir())) == 1
    kept.kept_vectors(tmp_path, FakeEmbedder(), texts[::-1])
    assert len(list(tmp_path.iterdir())) == 2


def test_a_model_is_another_when_its_weights_change_and_the_same_with_another_calibration(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    before = kept.fingerprint(tmp_path)
    (tmp_path / "calibration.json").write_text("{}")
    (tmp_path / "CARD.md").write_text("# A card")
    assert kept.fingerprint(tmp_path) == before
    (tmp_path / "model.safetensors").write_bytes(b"others")
    assert kept.fingerprint(tmp_path) != before
