"""What the real language model keeps of its prompts: counted in tokens, and without a say in the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.models.answer_stream import AnswerStream
from localcrag.models.llm import BATCH_TOKENS, MAX_SAVED_TOKENS, SAVED_PROMPTS, LlamaCpp, batch_ends
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message

pytestmark = [pytest.mark.contract, pytest.mark.slow]

ANSWERER, REWRITER = Message("system", "You answer from evidence."), Message("system", "You rewrite questions.")
EVIDENCE = "Evidence:\n" + "\n".join(
    f"[{number}] Room {number} of the hotel in Bergen costs {100 + number} euros a night, breakfast is {number} euros."
    for number in range(1, 25)
)


@pytest.fixture
def llm(gguf_file: Path, scratch: Path) -> LlamaCpp:
    return LlamaCpp("mine", gguf_file, context_tokens=2048, threads=0, cache=scratch)


def ask(llm: LlamaCpp, question: str, system: Message = ANSWERER, evidence: str = EVIDENCE) -> tuple[str, AnswerStream]:
    stream = llm.stream([system, Message("user", f"{evidence}\n\nQuestion: {question}")], Decoding(max_tokens=12))
    return "".join(stream), stream


@pytest.mark.parametrize(
    ("prefix_length", "length", "ends"),
    [
        pytest.param(70, 60 + BATCH_TOKENS, (70,), id="the system message alone"),
        pytest.param(70, 71 + BATCH_TOKENS, (70, 70 + BATCH_TOKENS), id="the last token is read in any case"),
        pytest.param(70, 70 + BATCH_TOKENS, (70,), id="so that no portion ends a prompt"),
        pytest.param(0, 2 * BATCH_TOKENS + 5, (BATCH_TOKENS, 2 * BATCH_TOKENS), id="no system message"),
        pytest.param(0, 5, (), id="nothing whole"),
    ],
)
def test_portions_follow_from_the_prompt_alone(prefix_length: int, length: int, ends: tuple[int, ...]) -> None:
    assert batch_ends(prefix_length, length) == ends


def test_a_second_question_on_the_same_evidence_reads_little_but_itself(llm: LlamaCpp) -> None:
    _, first = ask(llm, "What does room 3 cost?")
    assert first.usage.cached_tokens == 0
    _, second = ask(llm, "Is breakfast included in room 20?")
    assert second.usage.prompt_tokens - second.usage.cached_tokens <= BATCH_TOKENS + 40
    assert second.usage.cached_tokens > second.usage.prompt_tokens / 2


def test_other_evidence_leaves_the_system_message_known(llm: LlamaCpp) -> None:
    ask(llm, "What does room 3 cost?")
    _, stream = ask(llm, "What does room 3 cost?", evidence="Evidence:\n[1] Room 3 costs 103 euros.")
    assert 0 < stream.usage.cached_tokens < BATCH_TOKENS


def test_what_was_read_is_still_known_after_a_prompt_of_another_kind(llm: LlamaCpp) -> None:
    ask(llm, "What does room 3 cost?")
    _, other = ask(llm, "And room 4?", REWRITER, "")
    _, again = ask(llm, "And what does room 4 cost?")
    assert other.usage.cached_tokens == 0
    assert again.usage.cached_tokens > again.usage.prompt_tokens / 2
    _, other = ask(llm, "And room 5?", REWRITER, "")
    assert other.usage.cached_tokens > 0


def test_what_is_known_has_no_say_in_an_answer(llm: LlamaCpp) -> None:
    question = "What does room 7 cost a night, and what does breakfast cost there?"
    alone, stream = ask(llm, question)
    assert stream.usage.cached_tokens == 0
    assert ask(llm, question)[0] == alone
    for other in ("Why?", "Is there a room for 112 euros?"):
        ask(llm, other)
        assert ask(llm, question)[0] == alone
        ask(llm, other, REWRITER, "")
        text, stream = ask(llm, question)
        assert text == alone
        assert stream.usage.cached_tokens > 0


def test_few_prompts_of_other_kinds_are_kept_and_none_of_them_whole(llm: LlamaCpp) -> None:
    longer = EVIDENCE + EVIDENCE[: len(EVIDENCE) * 2 // 3]
    for number in range(SAVED_PROMPTS + 2):
        _, stream = ask(llm, "What?", Message("system", f"You are number {number}."), longer)
        assert stream.usage.prompt_tokens > MAX_SAVED_TOKENS
    aside = llm._memory._aside
    assert len(aside) == SAVED_PROMPTS
    assert all(len(kept.tokens) <= MAX_SAVED_TOKENS for kept in aside.values())


def test_after_an_error_everything_is_read_anew(llm: LlamaCpp) -> None:
    ask(llm, "What does room 3 cost?")
    ask(llm, "And room 4?", REWRITER, "")
    llm._memory.forget()
    _, stream = ask(llm, "What does room 3 cost?")
    assert stream.usage.cached_tokens == 0
