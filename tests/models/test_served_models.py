"""Models behind servers: what goes over the wire, what goes wrong there, and what is said of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from localcrag.models.llm import LlamaCpp
from localcrag.models.served_models import TEXTS, Scale, ServerLanguageModel, ServerScorer, estimate
from localcrag.models.server_address import parse_server
from localcrag.models.server_exchange import Exchange
from localcrag.privacy.egress_log import Purpose
from localcrag.records.errors import GenerationError, ServerError, ServerNotRunning
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from localcrag.text.sentences import Span
from tests.support.model_servers import MODEL, ModelServer, overlap, serving
from tests.support.threads import DEADLOCK

pytestmark = pytest.mark.contract

MESSAGES = (Message("system", "You answer in whole sentences."), Message("user", "Tell me about cats and dogs."))


def served(url: str, key: str | None = None) -> ServerLanguageModel:
    return ServerLanguageModel(Exchange(parse_server(url), Purpose.LANGUAGE_MODEL, key), 512)


@pytest.fixture
def server(llama: LlamaCpp) -> Iterator[ModelServer]:
    running = ModelServer(llama)
    with serving(running):
        yield running


def asked(server: ModelServer) -> list[dict[str, Any]]:
    return [body for path, body in server.asked if path == "/v1/chat/completions"]


def test_an_address_without_a_model_stands_for_the_only_one(server: ModelServer) -> None:
    assert served(server.url).name == f"{server.url}/v1#{MODEL}"
    server.models = ("one", "two")
    with pytest.raises(ServerError, match=r"no model\. It has: one, two"):
        served(server.url)
    with pytest.raises(ServerError, match="no model “three”"):
        served(f"{server.url}#three")
    assert served(f"{server.url}#two").name.endswith("#two")


def test_closing_a_stream_stops_the_model_of_the_server(server: ModelServer) -> None:
    stream = served(server.url).stream(MESSAGES, Decoding(900))
    next(piece for piece in stream if piece)
    stream.close()
    assert server.stopped.wait(DEADLOCK)


def test_a_server_that_dies_in_mid_answer_is_an_error_that_says_so(server: ModelServer) -> None:
    server.breaks_off_after = 3
    pieces = iter(served(server.url).stream(MESSAGES, Decoding(60)))
    assert next(piece for piece in pieces if piece)
    with pytest.raises(GenerationError, match="broke off in the midst of its answer"):
        list(pieces)


@pytest.mark.parametrize(
    ("status", "said", "message"),
    [
        (400, {"error": {"message": "maximum context length is 512 tokens"}}, "too long for the window.*Start the"),
        (404, {"error": {"message": "model 'tiny' not found"}}, "no model “tiny”"),
        (404, {"detail": "Not Found"}, "no such service"),
        (500, {"error": {"message": "CUDA out of memory"}}, "failed.*CUDA out of memory.*Look into"),
        (503, {"error": {"message": "Loading model"}}, "still loading.*Wait"),
        (307, "", "sends on to another address"),
    ],
    ids=str,
)
def test_what_a_server_refuses_is_told_with_what_to_do(
    server: ModelServer, status: int, said: object, message: str
) -> None:
    llm = served(f"{server.url}#tiny")
    llm.counts = False
    server.refuses = (status, json.dumps(said))
    with pytest.raises(GenerationError, match=message):
        list(llm.stream(MESSAGES, Decoding(5)))


def test_a_key_is_sent_and_a_wrong_one_told_without_showing_it(server: ModelServer) -> None:
    server.key = "sesame-opens"
    assert served(server.url, "sesame-opens").name
    with pytest.raises(ServerError, match=r"wants a key.*localcrag models key") as told:
        served(server.url, "sesame-closed")
    assert "sesame" not in str(told.value)


def test_nothing_at_the_address_is_an_error_that_says_so(server: ModelServer) -> None:
    with serving(ModelServer()) as gone:
        pass
    with pytest.raises(ServerNotRunning, match="nothing accepts connections there"):
        served(gone)


def test_tokens_are_estimated_where_nobody_counts_them(server: ModelServer) -> None:
    server.owned_by, server.usage = "someone", False
    llm = served(server.url)
    stream = llm.stream(MESSAGES, Decoding(6))
    pieces = [piece for piece in stream if piece]
    assert stream.usage.estimated
    assert stream.usage.prompt_tokens == estimate(MESSAGES) == llm.count_tokens(MESSAGES)
    assert stream.usage.completion_tokens == len(pieces)
    assert (llm.context_tokens, llm.says_window) == (512, False)


def test_a_server_that_counts_nothing_but_says_its_usage_is_believed(server: ModelServer, llama: LlamaCpp) -> None:
    server.owned_by = "someone"
    stream = served(server.url).stream(MESSAGES, Decoding(6))
    list(stream)
    assert (stream.usage.prompt_tokens, stream.usage.completion_tokens) == (llama.count_tokens(MESSAGES), 6)
    assert not stream.usage.estimated


@pytest.mark.parametrize(
    ("owned_by", "form"),
    [("llamacpp", "json_schema"), ("library", "json_schema"), ("me", "json_object")],
)
def test_each_program_is_asked_for_json_in_its_own_way(server: ModelServer, owned_by: str, form: str) -> None:
    server.owned_by = owned_by
    schema = {"type": "object", "properties": {"animal": {"enum": ["cat", "dog"]}}, "required": ["animal"]}
    list(served(server.url).stream(MESSAGES, Decoding(2, schema=schema)))
    assert asked(server)[0]["response_format"]["type"] == form
    assert "json_schema" in asked(server)[0]["response_format"] or form == "json_object"


def reranker(url: str, path: str = "/rerank", model: str = "") -> ServerScorer:
    return ServerScorer(Exchange(parse_server(f"{url}{path}{model}"), Purpose.RELEVANCE_MODEL))


QUESTION = "How high is the deposit?"
RANKED = ("Boats are blue.", "The deposit is high.", "How high the deposit is: fifty euros.", "Nothing.")


def squashed(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-(score - 3.0)))


@pytest.mark.parametrize(
    ("server", "scale"),
    [
        (ModelServer(rerank="documents", score=lambda q, t: overlap(q, t) - 3.0), Scale.RAW),
        (ModelServer(rerank="documents", finished=squashed), Scale.PROBABILITIES),
        (ModelServer(rerank="texts", finished=squashed, knows_raw=True), Scale.REQUESTED_RAW),
        (ModelServer(rerank="documents", finished=squashed, knows_raw=True), Scale.REQUESTED_RAW),
    ],
    ids=["llama-server", "Cohere's form, finished", "TEI", "Infinity"],
)
def test_scores_are_put_back_by_index_and_become_logits(server: ModelServer, scale: Scale) -> None:
    with serving(server) as url:
        scorer = reranker(url)
        logits = scorer.logits(QUESTION, RANKED * 10)
    assert scorer.scale is scale
    expected = [overlap(QUESTION, text) for text in RANKED] * 10
    # Raw, or a probability's logit: up to a constant, what the server's model said.
    assert np.allclose(logits - logits[0], np.array(expected) - expected[0], atol=1e-3)
    assert not scorer.calibration.fitted
    assert max(len(body[server.rerank]) for _, body in server.asked if server.rerank in body) <= 32


def test_a_finished_probability_of_one_is_clipped() -> None:
    with serving(ModelServer(rerank="documents", finished=lambda score: float(score > 2))) as url:
        logits = reranker(url).logits(QUESTION, RANKED)
    assert np.isfinite(logits).all()


def test_strips_are_scored_by_themselves() -> None:
    text = "Boats are blue. The deposit is high."
    strips = [Span(0, 15, text[:15]), Span(16, len(text), text[16:])]
    with serving(ModelServer(rerank="documents", score=lambda q, t: overlap(q, t) - 3.0)) as url:
        scorer = reranker(url)
        found = scorer.strip_logits(QUESTION, [text, "Nothing.", text], [strips, [], strips])
    assert [len(logits) for logits in found] == [2, 0, 2]
    assert found[0][1] > found[0][0]
    assert scorer.strip_logits(QUESTION, [], []) == []


def test_a_server_that_cannot_tell_an_answer_from_others_is_refused() -> None:
    with (
        serving(ModelServer(rerank="documents", score=lambda _q, text: -float(len(text)))) as url,
        pytest.raises(ServerError, match="ranked an unrelated text above"),
    ):
        reranker(url)
    assert len(TEXTS[-1]) > len(TEXTS[0])


def test_an_answer_without_a_score_for_each_text_is_refused() -> None:
    said = json.dumps({"results": [{"index": 0, "relevance_score": 1.0}]})
    with (
        serving(ModelServer(refuses=(200, said))) as url,
        pytest.raises(ServerError, match="not as a server of models does"),
    ):
        reranker(url)
