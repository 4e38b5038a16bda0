"""What every LanguageModel promises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from localcrag.records.errors import GenerationError
from localcrag.records.protocols import Decoding, LanguageModel, TokenStream
from localcrag.records.run import Message
from tests.support.fakes import FakeLanguageModel
from tests.support.hostile_texts import HOSTILE
from tests.support.threads import DEADLOCK, start

pytestmark = pytest.mark.contract

MESSAGES = (
    Message("system", "You answer in whole sentences."),
    Message("user", "Tell me about cats, dogs and horses."),
)
MAX_TOKENS = 24
SCHEMA = {
    "type": "object",
    "properties": {
        "sound": {"type": "string", "pattern": "^[a-z ]{1,12}$"},
        "animal": {"enum": ["cat", "dog"]},
        "sure": {"enum": [0.0, 0.5, 1.0]},
    },
    "required": ["sound", "animal", "sure"],
}
FITS_SCHEMA = '{"sound": "bark bark", "animal": "dog", "sure": 0.5}'
ENOUGH_TOKENS = 60


@pytest.fixture(params=["fake", "real", "served"])
def llm(request: pytest.FixtureRequest) -> LanguageModel:
    if request.param == "fake":
        return FakeLanguageModel(*["Cats purr, dogs bark, and horses neigh when they are hungry in the evening."] * 4)
    real: LanguageModel = request.getfixturevalue("llama" if request.param == "real" else "served_llm")
    return real


@pytest.fixture(params=["fake", "real", "served"])
def form_filler(request: pytest.FixtureRequest) -> LanguageModel:
    if request.param == "fake":
        return FakeLanguageModel(*[FITS_SCHEMA] * 4)
    real: LanguageModel = request.getfixturevalue("llama" if request.param == "real" else "served_llm")
    return real


def filled_in(llm: LanguageModel, most: int = ENOUGH_TOKENS) -> str:
    return "".join(llm.stream(MESSAGES, Decoding(max_tokens=most, schema=SCHEMA)))


def written(llm: LanguageModel, stop: tuple[str, ...] = ()) -> str:
    return "".join(llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS, stop=stop)))


def written_of(stream: TokenStream) -> list[str]:
    return [piece for piece in stream if piece]


def next_of(pieces: Iterator[str]) -> str:
    """Return the next piece with something in it: an empty one says that the model is silent."""
    return next(piece for piece in pieces if piece)


def test_the_same_messages_get_the_same_answer(llm: LanguageModel) -> None:
    answer = written(llm)
    assert len(answer.split()) > 4
    assert written(llm) == answer


def test_the_tokens_are_counted(llm: LanguageModel) -> None:
    stream = llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS))
    pieces = written_of(stream)
    assert stream.usage.prompt_tokens == llm.count_tokens(MESSAGES) > 10
    assert len(pieces) <= stream.usage.completion_tokens <= MAX_TOKENS
    assert llm.count_tokens([*MESSAGES, Message("user", "And mice?")]) > stream.usage.prompt_tokens


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_tokens_are_written_than_were_allowed(llm: LanguageModel, most: int) -> None:
    stream = llm.stream(MESSAGES, Decoding(max_tokens=most))
    pieces = written_of(stream)
    assert stream.usage.completion_tokens == most
    assert len(pieces) <= most


def test_an_answer_ends_before_a_stop_string(llm: LanguageModel) -> None:
    answer = written(llm)
    stop = answer.split()[3]
    assert written(llm, stop=("never written", stop)) == answer.split(stop)[0]


def test_a_closed_stream_says_no_more_and_lets_the_next_one_start(llm: LanguageModel) -> None:
    answer = written(llm)
    stream = llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS))
    pieces = iter(stream)
    first = next_of(pieces)
    stream.close()
    assert list(pieces) == []
    assert answer.startswith(first)
    assert 0 < stream.usage.completion_tokens < MAX_TOKENS
    assert start(lambda: written(llm)).result(DEADLOCK) == answer
    stream.close()


def test_a_stream_closed_before_it_began_says_nothing(llm: LanguageModel) -> None:
    stream = llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS))
    stream.close()
    assert list(stream) == []
    assert stream.usage.completion_tokens == 0


def test_a_second_stream_waits_for_the_first_and_then_runs(llm: LanguageModel) -> None:
    answer = written(llm)
    stream = llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS))
    pieces = iter(stream)
    first = next_of(pieces)
    second = start(lambda: written(llm))
    for _ in range(5):
        first += next_of(pieces)
    assert answer.startswith(first)
    assert not second.done()
    stream.close()
    assert second.result(DEADLOCK) == answer


def test_a_stream_that_waits_for_its_turn_can_be_closed(llm: LanguageModel) -> None:
    first, second = (llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS)) for _ in range(2))
    next_of(iter(first))
    waiting = start(lambda: list(second))
    second.close()
    first.close()
    assert waiting.result(DEADLOCK) == []
    assert second.usage.completion_tokens == 0


def test_prompts_are_counted_while_an_answer_is_being_written(llm: LanguageModel) -> None:
    stream = llm.stream(MESSAGES, Decoding(max_tokens=MAX_TOKENS))
    next_of(iter(stream))
    assert start(lambda: llm.count_tokens(MESSAGES)).result(DEADLOCK) == stream.usage.prompt_tokens
    stream.close()


def test_a_prompt_that_does_not_fit_is_an_error_with_both_lengths(llm: LanguageModel) -> None:
    long = [Message("user", "word " * llm.context_tokens)]
    with pytest.raises(GenerationError, match=f"{llm.count_tokens(long)} tokens.*{llm.context_tokens}"):
        llm.stream(long, Decoding(max_tokens=MAX_TOKENS))


@pytest.mark.parametrize("text", HOSTILE)
def test_any_message_gets_an_answer_or_a_generation_error(llm: LanguageModel, text: str) -> None:
    messages = [Message("system", text), Message("user", text)]
    if llm.count_tokens(messages) < llm.context_tokens - 1:
        "".join(llm.stream(messages, Decoding(max_tokens=2))).encode()
    else:
        with pytest.raises(GenerationError, match="tokens"):
            llm.stream(messages, Decoding(max_tokens=2))


def test_under_a_schema_an_answer_is_json_that_fits_it_and_is_the_same_again(form_filler: LanguageModel) -> None:
    answer = filled_in(form_filler)
    fields = json.loads(answer)
    assert list(fields) == ["sound", "animal", "sure"]
    assert re.fullmatch("[a-z ]{1,12}", fields["sound"])
    assert fields["animal"] in ("cat", "dog")
    assert fields["sure"] in (0.0, 0.5, 1.0)
    assert filled_in(form_filler) == answer


def test_an_answer_under_a_schema_can_be_cut_off_like_any_other(form_filler: LanguageModel) -> None:
    answer = filled_in(form_filler)
    beginning = filled_in(form_filler, 4)
    assert answer.startswith(beginning)
    assert beginning != answer


def test_an_answer_under_a_schema_can_be_closed_and_lets_the_next_one_start(form_filler: LanguageModel) -> None:
    answer = filled_in(form_filler)
    stream = form_filler.stream(MESSAGES, Decoding(max_tokens=ENOUGH_TOKENS, schema=SCHEMA))
    pieces = iter(stream)
    first = next_of(pieces)
    stream.close()
    assert list(pieces) == []
    assert answer.startswith(first)
    assert start(lambda: filled_in(form_filler)).result(DEADLOCK) == answer


@pytest.mark.parametrize("text", [text for text in HOSTILE if "million" not in str(text.id)])
def test_any_message_gets_an_answer_that_fits_the_schema(form_filler: LanguageModel, text: str) -> None:
    messages = [Message("system", text), Message("user", text)]
    answer = "".join(form_filler.stream(messages, Decoding(max_tokens=ENOUGH_TOKENS, schema=SCHEMA)))
    assert json.loads(answer)["animal"] in ("cat", "dog")
