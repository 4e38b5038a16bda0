"""What the relevance model is trained on: scripts/lab/training/pairs.py, on rows of our own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.training import pairs, questions

from localcrag.text.sentences import split_sentences
from tests.support.compressed_lines import write

PASSAGE = (
    "The lighthouse of Arvik was built in 1862 by Anna Holm. It stands on the north side of the harbour. Its lamp "
    "burned whale oil until 1904, when the keepers changed to paraffin. Three keepers lived there with their families. "
    "The last keeper, Olaf Berg, left in 1978. Since then the tower is empty, and the light works by itself."
)


def row(question: str = "who was the last keeper of arvik ?", answer: str = "olaf berg", **other: Any) -> pairs.Row:
    place = pairs.locate(answer, PASSAGE)
    return pairs.Row("squadshifts_new_wiki", question, PASSAGE, (answer,), place, other.get("title"))


def embed(texts: Any) -> Any:
    return np.ones((len(texts), 2), dtype=np.float32)


def groups_of(*rows: pairs.Row, seed: int = 1) -> list[pairs.Group]:
    return pairs.make_groups(rows, embed=embed, chosen=random.Random(seed))


def test_a_group_has_its_passage_first_and_a_passage_without_the_answer_sentence() -> None:
    other = pairs.Row(
        "squadshifts_new_wiki", "what do hens eat", "Hens eat corn and worms in the yard.", ("corn",), None, None
    )
    seen_cut = False
    for seed in range(20):
        group = next(
            g
            for g in groups_of(row(), other, seed=seed)
            if "Arvik" in g.passages[0].text or "Olaf" in g.passages[0].text
        )
        first, *rest = group.passages
        assert first.relevant
        assert first.answer_at is not None
        assert first.text[slice(*first.answer_at)] == "Olaf Berg"
        assert not any(pair.relevant for pair in rest)
        for pair in rest:
            if pair.question == first.question:
                assert "Olaf Berg" not in pair.text
                seen_cut = seen_cut or "keeper" in pair.text
    assert seen_cut


def test_strips_are_the_answer_sentence_and_others_without_the_answer() -> None:
    group = groups_of(row())[0]
    first, *rest = group.strips
    assert first.text == "The last keeper, Olaf Berg, left in 1978."
    assert rest
    assert all("Olaf Berg" not in pair.text and not pair.relevant for pair in rest)


def test_a_passage_that_holds_the_answer_is_never_a_negative() -> None:
    too = pairs.Row(
        "squadshifts_new_wiki",
        "who kept goats",
        "Olaf Berg kept goats on the island for years.",
        ("goats",),
        None,
        None,
    )
    for seed in range(10):
        asked = [
            pair for group in groups_of(row(), too, seed=seed) for pair in group.passages if "keeper" in pair.question
        ]
        assert not any("goats" in pair.text for pair in asked)


def test_a_title_stands_before_the_texts_of_some_groups_and_the_answer_is_still_found() -> None:
    titled = pairs.Row(
        "squadshifts_new_wiki", "who left in 1978", PASSAGE, ("Olaf Berg",), pairs.locate("Olaf Berg", PASSAGE), "Arvik"
    )
    texts = [groups_of(titled, seed=seed)[0].passages[0] for seed in range(20)]
    with_title = [pair for pair in texts if pair.text.startswith("Arvik\n")]
    assert 0 < len(with_title) < 20
    for pair in texts:
        assert pair.answer_at is not None
        assert pair.text[slice(*pair.answer_at)] == "Olaf Berg"


def test_questions_come_in_every_dress() -> None:
    chosen = random.Random(1)
    seen = {questions.dress("Who was the last keeper of Arvik?", chosen) for _ in range(100)}
    assert seen == {
        "Who was the last keeper of Arvik?",
        "Who was the last keeper of Arvik",
        "who was the last keeper of arvik",
        "last keeper arvik",
    }


@pytest.mark.parametrize(
    ("question", "made"),
    [
        pytest.param("who was the last keeper", {"who was the first keeper"}, id="opposite"),
        pytest.param("when did olaf berg leave", {"when did Anna Holm leave", "when did Arvik leave"}, id="name"),
        pytest.param("who built it in 1862", {f"who built it in {year}" for year in ("1904", "1978")}, id="number"),
        pytest.param("who lit the lamp", set(), id="nothing to change"),
    ],
)
def test_an_unanswerable_question_changes_one_thing(question: str, made: set[str]) -> None:
    chosen = random.Random(2)
    found = {questions.unanswerable(question, PASSAGE, chosen) for _ in range(60)} - {None}
    assert made <= found if made else not found
    assert question not in found


def test_a_place_is_found_in_spite_of_tokenised_lower_case() -> None:
    at = pairs.locate("its lamp burned whale oil until 1904 , when the keepers changed", PASSAGE)
    assert at is not None
    assert PASSAGE[slice(*at)] == "Its lamp burned whale oil until 1904, when the keepers changed"
    assert pairs.locate("no such words", PASSAGE) is None
    assert pairs.locate("", PASSAGE) is None


def test_tokenised_text_is_written_as_by_hand() -> None:
    assert (
        pairs.plain("Israel 's port ( the only one ) is n't `` big '' , is it ?")
        == "Israel's port (the only one) isn't \"big\", is it?"
    )


def test_a_window_holds_the_answer_and_is_of_a_passage_length() -> None:
    sentences = split_sentences(" ".join(f"Sentence number {n} has exactly seven words." for n in range(60)))
    for seed in range(30):
        first, last = pairs.window(sentences, 41, random.Random(seed))
        assert first <= 41 <= last
        words = sum(len(span.text.split()) for span in sentences[first : last + 1])
        assert pairs.FEWEST_WORDS <= words <= pairs.MOST_WORDS + 7


def test_rows_of_held_out_questions_and_passages_are_left_out_whatever_their_dress(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl.gz", {"passage": PASSAGE.upper(), "questions": [{"question": "Who BUILT it?"}]})
    write(tmp_path / "b.jsonl.gz", {"question": "where is it?", "passage": "short"})
    held = pairs.HeldOut.of(tmp_path)
    fine = pairs.Row("boolq_dev", "is it red", "Something quite different about the colour of towers.", (), None, None)
    asked = pairs.Row("boolq_dev", "who built it", fine.passage, (), None, None)
    longer = pairs.Row("boolq_dev", "is it tall", f"An introduction. {PASSAGE}", (), None, None)
    assert pairs.without_held_out([fine, asked, longer], held) == [fine]


def test_training_is_refused_when_held_out_data_is_among_the_pairs(tmp_path: Path) -> None:
    write(tmp_path / "dev.jsonl.gz", {"passage": PASSAGE, "question": "who built it"})
    held = pairs.HeldOut.of(tmp_path)
    fine = pairs.Group("boolq_dev", (pairs.Pair("is it red", "No, it is white.", True),), ())
    pairs.refuse_held_out([fine], held)
    by_text = pairs.Group("boolq_dev", (), (pairs.Pair("is it red", f"Before. {PASSAGE[:100]}", True),))
    by_question = pairs.Group("boolq_dev", (pairs.Pair("Who built it?", "Somebody.", True),), ())
    for bad in (by_text, by_question):
        with pytest.raises(SystemExit, match=r"held-out data among the training pairs of boolq_dev"):
            pairs.refuse_held_out([fine, bad], held)


def test_without_held_out_data_nothing_is_trained(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"holds no \*\.jsonl\.gz"):
        pairs.HeldOut.of(tmp_path)


def test_rows_are_read_from_both_files(tmp_path: Path) -> None:
    write(
        tmp_path / "passages.jsonl.gz",
        {"source": "boolq_dev", "question": "is it tall", "passage": PASSAGE, "answers": ["yes"]},
        {"source": "selqa_dev", "question": "in both files", "passage": "left to sentences.jsonl.gz", "answers": []},
        {"source": "unknown", "question": "not used", "passage": "x", "answers": []},
    )
    sentences = [{"text": "It is white .", "relevant": 0}, {"text": "It is forty metres tall .", "relevant": 1}]
    write(
        tmp_path / "sentences.jsonl.gz",
        {"source": "selqa_dev", "question": "How tall ?", "sentences": sentences},
        {"source": "selqa_dev", "question": "Nothing relevant ?", "sentences": sentences[:1]},
    )
    boolq, selqa = pairs.load_rows(tmp_path)
    assert (boolq.source, selqa.question) == ("boolq_dev", "How tall?")
    assert selqa.answer_at is not None
    assert selqa.passage[slice(*selqa.answer_at)] == "It is forty metres tall."
