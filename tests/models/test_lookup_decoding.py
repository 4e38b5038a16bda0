"""Guessing ahead from the prompt: the same text as without, in fewer steps."""

from __future__ import annotations

import itertools
from pathlib import Path

import llama_cpp
import pytest

from localcrag.models.llm import LlamaCpp, LookupLlama, guess
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message

pytestmark = pytest.mark.contract

LIST = "Kari Lund, Ola Berg, Ida Moen, Nils Vik, Siri Dahl, Per Holm, Anne Lie, Jon Bakke"
COPYING = (Message("user", f"Repeat this list of names, word for word, twice:\n{LIST}\n{LIST}\n{LIST}"),)


@pytest.mark.parametrize(
    ("read", "most", "expected"),
    [
        pytest.param([1, 2, 3, 4, 5, 6, 1, 2, 3, 4], 10, [5, 6, 1, 2, 3, 4], id="what followed before"),
        pytest.param(
            [1, 2, 3, 4, 5, 9, 1, 2, 3, 4, 6, 9, 1, 2, 3, 4],
            2,
            [6, 9],
            id="where it stood last, no more than asked for",
        ),
        pytest.param([1, 2, 3, 4, 5, 6], 10, [], id="nowhere"),
        pytest.param([9, 2, 3, 4, 5, 1, 2, 3, 4], 10, [], id="only three of the last four"),
        pytest.param([1, 2, 3, 4, 5, 1, 2, 3, 4], 0, [], id="no room"),
        pytest.param([1, 1, 1, 1, 1], 10, [1], id="overlapping itself"),
        pytest.param([1], 10, [], id="too short"),
    ],
)
def test_what_is_guessed_is_what_followed_the_last_tokens_before(
    read: list[int], most: int, expected: list[int]
) -> None:
    assert guess(read, most) == expected


def test_a_copied_text_is_that_of_plain_greedy_decoding_in_fewer_steps(llama: LlamaCpp) -> None:
    model = llama._llama
    assert isinstance(model, LookupLlama)
    tokens = llama._tokens(COPYING)
    with_guesses = list(itertools.islice(model.generate(tokens, temp=0.0), 40))
    without = list(itertools.islice(llama_cpp.Llama.generate(model, tokens, temp=0.0), 40))
    assert with_guesses == without
    steps, read = 0, [*tokens, without[0]]
    model.reset()  # type: ignore[no-untyped-call]
    model.eval(tokens)
    while len(read) < len(tokens) + 40:
        read += model._following(read)
        steps += 1
    assert read[len(tokens) :][:40] == without
    assert steps < 20


def test_nothing_is_guessed_beyond_the_end_of_a_line(llama: LlamaCpp) -> None:
    model = llama._llama
    assert isinstance(model, LookupLlama)
    tokens = model.tokenize(b"the ferry to Bergen leaves at noon.\n[2] The bus", add_bos=False)
    line = model._line(tokens)
    assert model.detokenize(line) == b"the ferry to Bergen leaves at noon."


def test_what_is_handed_over_is_counted_though_more_has_been_read(llama: LlamaCpp) -> None:
    stream = llama.stream(COPYING, Decoding(max_tokens=25))
    assert "".join(stream)
    assert stream.usage.completion_tokens == 25


def test_an_answer_may_fill_the_window(gguf_file: Path, scratch: Path) -> None:
    llm = LlamaCpp("mine", gguf_file, context_tokens=256, threads=0, cache=scratch)
    stream = llm.stream(COPYING, Decoding(max_tokens=1000))
    assert "Kari Lund" in "".join(stream)
    assert stream.usage.prompt_tokens + stream.usage.completion_tokens <= 256
    assert "".join(llm.stream(COPYING, Decoding(max_tokens=5)))
