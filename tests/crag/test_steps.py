"""The pure steps, by table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

import pytest

from localcrag.crag import condense, rewrite, web
from localcrag.crag.answer import generate
from localcrag.crag.context import AskedQuestion
from localcrag.crag.evaluate import apply_policy, usable, why_not_correct
from localcrag.crag.grading import best
from localcrag.crag.retrieve import document_shares, fuse
from localcrag.documents import prepare
from localcrag.documents.chunking import join_pages
from localcrag.records.documents import Chunk, Page
from localcrag.records.enums import Action, Grade, Origin, Policy
from localcrag.records.errors import GenerationError
from localcrag.records.passages import Evidence, GradedPassage, Thresholds, grade
from localcrag.records.protocols import ChunkStore
from localcrag.records.run import Message, Turn
from localcrag.text.words import content_words
from tests.support.chunks import split_into_chunks
from tests.support.fakes import FakeEmbedder

THRESHOLDS = Thresholds(upper=0.7, lower=0.3, strip=0.5)


def graded(relevance: float, text: str = "text", **fields: object) -> GradedPassage:
    values: dict[str, object] = {
        "id": f"p{relevance}", "origin": Origin.LOCAL, "document": "a.txt", "text": text, "cosine": 0.5, "logit": 0.0,
        "relevance": relevance, "grade": grade(relevance, THRESHOLDS),
    }  # fmt: skip
    return GradedPassage(**{**values, **fields})  # type: ignore[arg-type]


def evidence(*texts: str) -> list[Evidence]:
    return [Evidence(n, text, "p", "s", 1.0 - n / 100) for n, text in enumerate(texts, start=1)]


@pytest.mark.parametrize(
    ("written", "accepted"),
    [
        pytest.param("How many people may Ann bring along in 2026?", True, id="other words"),
        pytest.param("How many guests may Ann invite in 2026?", False, id="nothing new"),
        pytest.param("How many people may be brought along in 2026?", False, id="a name lost"),
        pytest.param("How many people may Ann bring along?", False, id="a number lost"),
        pytest.param("How many people may Ann bring to London in 2026?", False, id="a name brought in"),
        pytest.param("May Ann bring 12 people in 2026?", False, id="a number brought in"),
        pytest.param("Ann may bring people along in 2026.", False, id="an answer"),
        pytest.param("May Ann bring people in 2026? May Bob?", False, id="two questions"),
        pytest.param("Which weather do visitors expect?", False, id="nothing left of the question"),
        pytest.param("How many people, " * 20 + "Ann, guests, 2026?", False, id="endless"),
        pytest.param("", False, id="nothing"),
        pytest.param("“How many people may Ann bring along in 2026?”\nAnn.", True, id="quoted, more lines"),
    ],
)
def test_other_words_for_a_question_are_used_when_they_can_be_trusted(written: str, accepted: bool) -> None:
    query = rewrite.accept(written, "How many guests may Ann invite in 2026?")
    assert query == (written.splitlines()[0].strip("“”") if accepted else "many guests Ann invite 2026")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the hotel limit in London?", "hotel limit London"),
        ("Who?", "Who?"),
        ("“Why” is it so?", "“Why” is it so?"),
        ("什么是酒店限额？", "什么是酒店限额？"),
    ],
)
def test_key_words_are_the_ones_that_carry_meaning(question: str, words: str) -> None:
    assert rewrite.key_words(question) == words


def test_the_best_of_two_attempts_keep_their_order() -> None:
    passages = [graded(relevance, id=name) for name, relevance in (("a", 0.2), ("b", 0.9), ("c", 0.1), ("d", 0.5))]
    assert [passage.id for passage in best(passages, 2)] == ["b", "d"]


def test_what_retrieval_puts_in_front_is_kept_before_what_is_hardly_more_relevant() -> None:
    passages = [graded(relevance, id=str(place)) for place, relevance in enumerate([0.04, *[0.01] * 20, 0.05, 0.3])]
    assert [passage.id for passage in best(passages, 2)] == ["0", "22"], "0.04 in front is before 0.05 behind"
    passages = [graded(relevance, id=str(place)) for place, relevance in enumerate([*[0.5] * 9, 0.51])]
    assert [passage.id for passage in best(passages, 2)] == ["0", "9"], "the most relevant one decides, and stays"


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param([Page(1, "A sentence of six words here. " * 100), Page(2, "Short page.")], id="pages"),
        pytest.param([Page(None, "x" * 5000)], id="one endless word"),
        pytest.param([Page(None, "word " * 1000)], id="no sentence end"),
        pytest.param([Page(1, ""), Page(2, "\n\n"), Page(3, "Only here.")], id="empty pages"),
        pytest.param([Page(None, "第一句话在这里。" * 200)], id="no spaces between words"),
    ],
)
def test_chunks_hold_every_character_once_and_know_their_place(pages: list[Page]) -> None:
    def count(texts: object) -> list[int]:
        return [len(text) // 5 + 1 for text in texts]  # type: ignore[attr-defined]

    chunks = split_into_chunks(pages, count, target=40, limit=60)
    text = join_pages(pages)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(text.split())
    assert max(count([chunk.text for chunk in chunks]), default=0) <= 60
    numbers = {page.number: page.text for page in pages}
    assert all(chunk.text in numbers[chunk.page] for chunk in chunks), "a chunk crosses a page"


PRIVATE = "\uf76f\uf76e\uf764 " * 40


def count_public(texts: Sequence[str]) -> list[int]:
    """As embedders count: to their tokenizers characters of private use are nothing."""
    return [len(text.replace("\uf76f\uf76e\uf764", "").split()) for text in texts]


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        pytest.param([PRIVATE], [], id="nothing else"),
        pytest.param(["Before.", PRIVATE, "After."], [1, 3], id="a page of it"),
        pytest.param([f"{PRIVATE}.\n\nTo be read."], [1], id="beside words"),
        pytest.param([f"{PRIVATE}{'word ' * 300}"], [1, 1], id="in a sentence too long"),
    ],
)
def test_what_is_no_token_to_the_embedder_makes_no_chunk_of_its_own_and_stops_nothing(
    pages: list[str], found: list[int]
) -> None:
    numbered = [Page(number, text) for number, text in enumerate(pages, start=1)]
    chunks = split_into_chunks(numbered, count_public, target=180, limit=254)
    assert [chunk.page for chunk in chunks] == found
    text = join_pages(numbered)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [([3], "3"), ([3, 4], "3–4"), ([3, 7, 8, 9], "3, 7–9"), ([1, 2, 5, 7, 8], "1–2, 5, 7–8"), ([2, 4], "2, 4")],
    ids=str,
)
def test_pages_in_a_row_are_named_as_one(numbers: list[int], named: str) -> None:
    assert prepare.page_ranges(numbers) == named


def test_a_page_is_unread_when_it_shows_something_and_nothing_of_it_is_in_a_chunk() -> None:
    pages = [Page(1, "Text."), Page(2, ""), Page(3, "", unread=True), Page(4, "\uf76f"), Page(5, " \n")]
    assert prepare.waiting_and_lost_pages(pages, [Chunk(1, 0, 5, "Text.")], recognised=False) == ([], [3, 4])
    assert prepare.waiting_and_lost_pages([Page(None, "Text.")], [Chunk(None, 0, 5, "Text.")], recognised=False) == (
        [],
        [],
    )


def test_a_page_is_shared_out_evenly_instead_of_leaving_a_remainder() -> None:
    pages = [Page(1, "One two three four five. " * 50)]
    sizes = [
        len(chunk.text.split())
        for chunk in split_into_chunks(pages, FakeEmbedder().count_tokens, target=180, limit=254)
    ]
    assert sum(sizes) == 250
    assert len(sizes) == 1 or min(sizes) > 0.8 * max(sizes)


PARAGRAPHS = """Membership

Anyone who has worked here for six months may apply, and two thirds of the votes cast have to be in favour of it.

Working hours

A full week has 35 hours, from Monday to Friday. Saturday shifts rotate, and each is made up for by a free Monday.

Pay

There are three grades. Members review them every second year.

See the notice board."""


def test_a_chunk_ends_with_its_paragraph_and_takes_the_heading_of_the_next_one_along() -> None:
    chunks = split_into_chunks([Page(None, PARAGRAPHS)], FakeEmbedder().count_tokens, target=45, limit=60)
    assert [chunk.text.split("\n\n") for chunk in chunks] == [
        PARAGRAPHS.split("\n\n")[0:2], PARAGRAPHS.split("\n\n")[2:4], PARAGRAPHS.split("\n\n")[4:7],
    ]  # fmt: skip


def test_paragraphs_too_short_to_be_found_stay_with_their_neighbours() -> None:
    text = "\n\n".join(f"Item {number} costs {number} euros." for number in range(60))
    sizes = [
        len(c.text.split())
        for c in split_into_chunks([Page(None, text)], FakeEmbedder().count_tokens, target=90, limit=120)
    ]
    assert min(sizes) >= 30
    assert sum(sizes) == 300


def test_rank_fusion_prefers_what_both_rankings_know() -> None:
    fused = fuse([[1, 2, 3], [3, 4]])
    assert sorted(fused, key=lambda identifier: -fused[identifier]) == [3, 1, 2, 4]


class _Shelf:
    """Three documents, of which two have some of a question's words; chunk 10 n is of document n."""

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]:
        return {chunk: chunk // 10 for chunk in ids}

    def number_of_documents(self) -> int:
        return 3

    def documents_containing(self, word: str) -> frozenset[int] | None:
        return {"auk": frozenset({1}), "fuel": frozenset({1, 2}), "boat": None, "utilities": frozenset({3})}.get(
            word, frozenset()
        )


def test_a_document_that_has_the_rarer_words_has_the_larger_share() -> None:
    store = cast(ChunkStore, _Shelf())
    shares = document_shares("Which fuel for the boat Auk?", [10, 11, 20, 30], store)
    assert shares[10] == shares[11] == 1.0
    assert 0.1 < shares[20] < 0.5
    assert shares[30] == 0.0
    assert document_shares("Which boat?", [10, 30], store) == {10: 0.0, 30: 0.0}
    assert document_shares("What are the utilities?", [10, 30], store) == {10: 0.0, 30: 1.0}
    assert document_shares("Which fuel?", [], store) == {}


@pytest.mark.parametrize(
    ("relevances", "action", "rule"),
    [
        pytest.param([0.1, 0.83], Action.CORRECT, "best passage 0.83 ≥ 0.70", id="above upper"),
        pytest.param([0.7], Action.CORRECT, "best passage 0.70 ≥ 0.70", id="at upper"),
        pytest.param([0.698], Action.AMBIGUOUS, "best passage 0.698, between 0.30 and 0.70", id="just below upper"),
        pytest.param([0.3], Action.AMBIGUOUS, "best passage 0.30, between 0.30 and 0.70", id="at lower"),
        pytest.param([0.29, 0.1], Action.INCORRECT, "best passage 0.29 < 0.30", id="below lower"),
        pytest.param([], Action.INCORRECT, "no passage found", id="nothing found"),
    ],
)
def test_the_best_passage_decides(relevances: list[float], action: Action, rule: str) -> None:
    passages = [graded(relevance) for relevance in relevances]
    assert apply_policy(passages, policy=Policy.MAX, thresholds=THRESHOLDS, enough_relevant=0.6) == (action, rule)


@pytest.mark.parametrize(
    ("policy", "relevances", "action", "rule"),
    [
        pytest.param(
            Policy.FRACTION, [0.9, 0.8, 0.7, 0.1, 0.1], Action.CORRECT,
            "3 of 5 passages correct: 0.60 ≥ 0.60", id="fraction: enough correct",
        ),
        pytest.param(
            Policy.FRACTION, [0.9, 0.8, 0.5, 0.1], Action.AMBIGUOUS,
            "2 of 4 passages correct: 0.50, between 0.30 and 0.60", id="fraction: between",
        ),
        pytest.param(
            Policy.FRACTION, [0.9, 0.9, 0.9, *[0.1] * 7], Action.INCORRECT,
            "3 of 10 passages correct: 0.30 ≤ 0.30", id="fraction: at the lower limit",
        ),
        pytest.param(Policy.FRACTION, [], Action.INCORRECT, "no passage found", id="fraction: nothing"),
        pytest.param(
            Policy.RATIO, [0.9, 0.3, 0.4, 0.1], Action.CORRECT,
            "3 of 4 passages relevant: 0.75 ≥ 0.60", id="ratio: enough relevant",
        ),
        pytest.param(
            Policy.RATIO, [0.9, 0.1], Action.AMBIGUOUS,
            "1 of 2 passages relevant: 0.50 < 0.60", id="ratio: too few relevant",
        ),
        pytest.param(Policy.RATIO, [0.2, 0.1], Action.INCORRECT, "0 of 2 passages relevant", id="ratio: none"),
        pytest.param(Policy.RATIO, [], Action.INCORRECT, "no passage found", id="ratio: nothing"),
        pytest.param(
            Policy.COUNT, [0.9, 0.7, 0.1], Action.CORRECT,
            "2 correct and 0 ambiguous of 3 passages, 2 are enough", id="count: two correct",
        ),
        pytest.param(
            Policy.COUNT, [0.9, 0.5, 0.1], Action.AMBIGUOUS,
            "1 correct and 1 ambiguous of 3 passages, 2 are enough; ambiguous ones are used from 0.50 on",
            id="count: one of each",
        ),
        pytest.param(
            Policy.COUNT, [0.9, 0.1, 0.1], Action.INCORRECT,
            "1 correct and 0 ambiguous of 3 passages, 2 are enough", id="count: one is not enough",
        ),
    ],
)  # fmt: skip
def test_every_policy_has_its_rule(policy: Policy, relevances: list[float], action: Action, rule: str) -> None:
    passages = [graded(relevance) for relevance in relevances]
    assert apply_policy(passages, policy=policy, thresholds=THRESHOLDS, enough_relevant=0.6) == (action, rule)


@pytest.mark.parametrize(
    ("policy", "relevances", "reason"),
    [
        (Policy.MAX, [0.4, 0.698], "The best passage has a relevance of 0.698; CORRECT begins at 0.70."),
        (Policy.FRACTION, [0.9, 0.1, 0.1], "1 of 3 passages are graded correct; CORRECT needs 2."),
        (Policy.RATIO, [0.9, 0.1, 0.1], "1 of 3 passages are relevant; CORRECT needs 2."),
        (Policy.COUNT, [0.9, 0.1], "1 of 2 passages are graded correct; CORRECT needs 2."),
        (Policy.MAX, [], "No passage was found."),
    ],
)
def test_what_was_missing_for_correct_is_one_sentence(policy: Policy, relevances: list[float], reason: str) -> None:
    passages = [graded(relevance) for relevance in relevances]
    action, _ = apply_policy(passages, policy=policy, thresholds=THRESHOLDS, enough_relevant=0.6)
    assert action is not Action.CORRECT
    assert why_not_correct(passages, policy=policy, thresholds=THRESHOLDS, enough_relevant=0.6) == reason


@pytest.mark.parametrize(
    ("policy", "used"),
    [
        pytest.param(Policy.MAX, [0.9, 0.6, 0.4], id="all but the incorrect"),
        pytest.param(Policy.COUNT, [0.9, 0.6], id="ambiguous ones from the middle of the thresholds on"),
    ],
)
def test_what_is_not_worth_it_becomes_no_evidence(policy: Policy, used: list[float]) -> None:
    passages = [graded(relevance) for relevance in (0.9, 0.6, 0.4, 0.2)]
    assert [one.relevance for one in usable(passages, policy=policy, thresholds=THRESHOLDS)] == used


def test_grades_follow_the_thresholds() -> None:
    grades = [grade(relevance, THRESHOLDS) for relevance in (0.71, 0.5, 0.29)]
    assert grades == [Grade.CORRECT, Grade.AMBIGUOUS, Grade.INCORRECT]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was penicillin found by Alexander Fleming?", True),
        ("What is the capital of France?", True),
        ("When was it built?", False),
        ("What's its height?", False),
        ("And in Bergen?", False),
        ("What about dinner for guests of the company?", False),
        ("Why?", False),
        ("How much do those cost?", False),
        ("Who else signs the contract for the car?", False),
    ],
)
def test_a_question_that_stands_alone_is_recognised(question: str, expected: bool) -> None:
    assert condense.stands_alone(question) is expected


HISTORY = [Turn("Who built the Eiffel Tower?", "It was built by Gustave Eiffel's company.")]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("When was the Eiffel Tower built?", "When was the Eiffel Tower built?", id="a good rewriting"),
        pytest.param(' "When was the Eiffel Tower built?" ', "When was the Eiffel Tower built?", id="quoted"),
        pytest.param("It was built by Gustave Eiffel's company.", None, id="the last answer again"),
        pytest.param("When was the Colosseum in Rome built?", None, id="an invented entity"),
        pytest.param("Who is it?", None, id="lost the question's words"),
        pytest.param("", None, id="nothing"),
        pytest.param("When was it built? Who built it?", None, id="two questions"),
    ],
)
def test_a_rewritten_follow_up_is_used_only_when_it_can_be_trusted(written: str, expected: str | None) -> None:
    question = "When was it built?"
    fallback = "Who built the Eiffel Tower? When was it built?"
    assert condense.accept(written, question, HISTORY) == (expected or fallback)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("eiffel tower height", "eiffel tower height", id="key words"),
        pytest.param("Eiffel Tower height\nIt is 330 m", "Eiffel Tower height", id="only the first line"),
        pytest.param("The Eiffel Tower height is 330 metres", None, id="answers instead"),
        pytest.param("tower", None, id="lost most words"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_search_query_is_used_only_when_it_adds_nothing(written: str, expected: str | None) -> None:
    question = "What is the height of the Eiffel Tower?"
    assert web.accept(written, question) == (expected or question)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (generate.NO_ANSWER_TEXT, True),
        ("The evidence does not say.", True),
        ("Not in the evidence provided, but [1] is close.", True),
        ("Not in the tower but in the hall [1].", False),
        ("The answer is: The evidence does not say.", True),
        ("The documents do not mention this.", True),
        ("  ", True),
        ("The answer is:", True),
        ("The evidence says 80 euros [1].", False),
        ("Paris does not say no to visitors.", False),
        ("The evidence does not say what it costs. [1]", True),
        ("The evidence does not say what it costs [1][2]. The documents don't mention it either.", True),
        ("The evidence does not state the price; it cannot be answered from the documents.", True),
        ("The documents do not mention a fee. No further information is available [2].", True),
        ("The evidence does not say how long to wait while the paint dries.", True),
    ],
)
def test_the_app_knows_when_the_model_found_no_answer(answer: str, expected: bool) -> None:
    assert generate.is_no_answer(answer) is expected


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The evidence does not state the warranty; a battery costs 5 euros [1].", "A battery costs 5 euros [1]."),
        ("The evidence does not state the price [1]. The hall holds 80.", "The hall holds 80."),
        ("The documents do not mention Oslo, but the limit in Bergen is high [2].", "The limit in Bergen is high [2]."),
        ("The text doesn't say who built it. However, it opened in 1889 [1].", "It opened in 1889 [1]."),
        (
            "The text does not say why. Tea is 2 euros [1]. Milk is not mentioned.",
            "Tea is 2 euros [1]. Milk is not mentioned.",
        ),
        ("It opened in 1889 [1]. The evidence does not say who built it.", None),
    ],
)
def test_what_an_answer_says_beside_that_something_is_not_said_is_kept(answer: str, said: str | None) -> None:
    assert not generate.is_no_answer(answer)
    assert generate.without_no_answer(answer) == (said or answer)


def count_words(messages: list[Message]) -> int:
    return sum(len(message.content.split()) for message in messages)


def test_a_prompt_that_is_too_long_loses_history_first_then_the_least_relevant_evidence() -> None:
    pieces = evidence("best " * 50, "middle " * 50, "worst " * 50)
    asked = AskedQuestion("q?", "q?", (Turn("old " * 30, "answer " * 30),))
    room = count_words(generate.prompt("q?", "q?", pieces[:2]))
    messages, left_out = generate.fitting_prompt(asked, pieces, room=room, count_tokens=count_words)  # type: ignore[arg-type]
    assert left_out == 1
    text = messages[-1].content
    assert "best" in text
    assert "middle" in text
    assert "worst" not in text
    assert not any("old" in message.content for message in messages)


def test_a_prompt_without_room_for_one_piece_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(GenerationError, match="context_tokens"):
        generate.fitting_prompt(AskedQuestion("q?", "q?"), evidence("x " * 500), room=100, count_tokens=count_words)  # type: ignore[arg-type]


def test_the_model_reads_the_most_relevant_evidence_first_under_its_own_number() -> None:
    first, second = evidence("It opened in May.", "It closed in June.")
    pieces = [dataclasses.replace(first, relevance=0.3), dataclasses.replace(second, relevance=0.8)]
    text = generate.prompt("q?", "q?", pieces)[-1].content
    assert "[2] It closed in June.\n[1] It opened in May." in text


def test_the_question_that_is_answered_is_the_users_own() -> None:
    messages = generate.prompt("When was it built?", "When was the tower built?", evidence("Built in 1889."))
    assert "Question: When was it built? (meant is: When was the tower built?)" in messages[-1].content


def test_content_words_leave_out_what_carries_no_meaning() -> None:
    assert content_words("What is the height of Smith's towers in 3.5 km?") == {"height", "smith", "tower", "3.5", "km"}
