"""`localcrag serve` as other programs use it: OpenAI's client, Hugging Face's, and requests of nobody's client.

Hugging Face's InferenceClient has its own code for requests, streams and answers (smolagents and chat apps are built
on it), and is installed with localcrag: what it reads does not hang on OpenAI's package.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.support.api_process import Api, running_api
from tests.support.command_line import as_json, localcrag
from tests.support.model_servers import ModelServer, serving
from tests.support.raw_http import Answer, ask, opened
from tests.support.threads import DEADLOCK

pytestmark = pytest.mark.process

QUESTION = "How long is the warranty on a bicycle?"
TEXT = "# Sales handbook\n\nThe warranty on a bicycle is seven years. Tyres are not part of it.\n"
OTHER = "# Ferry\n\nThe ferry to Brackwater leaves at 7:45 every morning. A ticket costs nine euros.\n"
FOREIGN = """
import json, sys
from huggingface_hub import InferenceClient
address, token, question = sys.argv[1:]
client = InferenceClient(base_url=address, api_key=token)
messages = [{"role": "user", "content": question}]
whole = client.chat_completion(messages, model="default").choices[0].message.content
pieces = client.chat_completion(messages, model="default", stream=True)
print(json.dumps([whole, "".join(one.choices[0].delta.content or "" for one in pieces if one.choices)]))
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("api")
    (folder / "handbook.md").write_text(TEXT, "utf-8")
    (folder / "ferry.md").write_text(OTHER, "utf-8")
    as_json(localcrag(folder / "data", "ingest", str(folder / "handbook.md"), "--json"))
    as_json(localcrag(folder / "data", "ingest", str(folder / "ferry.md"), "--collection", "island trips", "--json"))
    # A search server that nobody can be asked about: where a query would have to be allowed, none may leave.
    with running_api(folder / "data", LOCALCRAG_WEB="ask", LOCALCRAG_SEARXNG_URL="http://127.0.0.1:9") as made:
        yield made


@pytest.fixture(scope="module")
def client(api: Api) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{api.address}/v1", api_key=api.token, max_retries=0) as made:
        yield made


def post(api: Api, content: object, **headers: str) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers.setdefault("Authorization", f"Bearer {api.token}")
    return ask(
        api.address, "/v1/chat/completions", method="POST", body=body, Content_Type="application/json", **headers
    )


def error(answer: Answer) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(answer.body)["error"]
    assert said.keys() == {"message", "type", "param", "code"}
    return said


def question(text: str, model: str = "default", **more: object) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def test_each_collection_is_a_model(client: openai.OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["default", "island trips"]
    assert client.models.retrieve("island trips").owned_by == "localcrag"
    with pytest.raises(openai.NotFoundError, match="There is no collection “gpt-4o”"):
        client.models.retrieve("gpt-4o")


def test_openais_client_gets_the_answer_its_citations_and_how_it_came_about(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="default", messages=[{"role": "user", "content": QUESTION}])
    assert answer.choices[0].finish_reason == "stop"
    assert "seven years [1]" in str(answer.choices[0].message.content)
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0
    told = answer.model_extra or {}
    (cited,) = told["citations"]
    assert (cited["n"], cited["document"], cited["place"]) == (1, "handbook.md", "handbook.md")
    assert "seven years" in cited["text"]
    details = told["localcrag"]
    assert (details["action"], details["abstained"], details["ignored"]) == ("CORRECT", False, [])
    assert details["passages"][0]["relevance"] > details["thresholds"]["upper"]
    assert details["passages"][0]["id"] == cited["passage"]
    assert answer.id == f"chatcmpl-{details['run_id']}"


def test_a_stream_shows_the_steps_and_then_the_answer_that_was_verified(client: openai.OpenAI) -> None:
    pieces = list(
        client.chat.completions.create(
            model="default", messages=[{"role": "user", "content": QUESTION}], stream=True,
            stream_options={"include_usage": True},
        )
    )  # fmt: skip
    *steps, content, last, counted = pieces
    told = [(one.model_extra or {}).get("localcrag", {}) for one in steps]
    assert [one["step"] for one in told if "step" in one][:2] == ["retrieve", "evaluate"]
    assert any("draft" in one for one in told)
    assert not any(one.choices[0].delta.content for one in steps)
    assert "seven years [1]" in str(content.choices[0].delta.content)
    assert last.choices[0].finish_reason == "stop"
    assert (last.model_extra or {})["citations"][0]["document"] == "handbook.md"
    assert counted.usage is not None
    assert counted.choices == []


def test_hugging_faces_client_is_answered_as_well(api: Api) -> None:
    # In a process of its own: localcrag tells that library, where it is imported, to stay offline.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN, f"{api.address}/v1", api.token, QUESTION],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    whole, streamed = json.loads(done.stdout)
    assert "seven years [1]" in whole
    assert streamed == whole


def test_a_follow_up_is_read_with_what_was_said_before(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="island trips",
        messages=[
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": "When does the ferry to Brackwater leave?"},
            {"role": "assistant", "content": "It leaves at 7:45 every morning [1]."},
            {"role": "user", "content": [{"type": "text", "text": "And how much is a ticket for it?"}]},
        ],
        temperature=0.7,
    )
    details = (answer.model_extra or {})["localcrag"]
    assert details["question"] == "And how much is a ticket for it?"
    assert "ferry" in details["standalone_question"]
    assert "nine euros" in str(answer.choices[0].message.content)
    assert details["ignored"] == ["temperature", "messages of the system"]


def test_wishes_are_those_of_the_command_line(client: openai.OpenAI) -> None:
    wishes = {"preset": "strict", "k": 1, "documents": ["hand*"], "web": "never"}
    answer = client.chat.completions.create(
        model="default", messages=[{"role": "user", "content": QUESTION}], extra_body={"localcrag": wishes}
    )
    details = (answer.model_extra or {})["localcrag"]
    assert (details["preset"], len(details["passages"])) == ("strict", 1)
    with pytest.raises(openai.UnprocessableEntityError, match="No document fits"):
        client.chat.completions.create(
            model="default", messages=[{"role": "user", "content": "x"}], extra_body={"localcrag": {"tags": ["none"]}}
        )


def test_nothing_is_asked_of_the_web_without_a_person(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="default", messages=[{"role": "user", "content": "Who painted the Mona Lisa?"}]
    )
    web = (answer.model_extra or {})["localcrag"]["web"]
    assert web["used"] is False
    assert web["not_asked"] == "it needs your consent, and there was nobody to ask"
    assert "it needs your consent" in str(answer.choices[0].message.content)


def test_a_closed_connection_stops_the_answer(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text(TEXT, "utf-8")
    as_json(localcrag(tmp_path / "data", "ingest", str(tmp_path / "handbook.md"), "--json"))
    # The model would write for ever: only the closed connection can end its answer.
    model = ModelServer(endless=True, owned_by="library")
    with ExitStack() as running:
        url = running.enter_context(serving(model))
        api = running.enter_context(running_api(tmp_path / "data", LOCALCRAG_LLM=f"{url}/v1#{model.models[0]}"))
        client = running.enter_context(openai.OpenAI(base_url=f"{api.address}/v1", api_key=api.token, max_retries=0))
        with client.chat.completions.create(
            model="default", messages=[{"role": "user", "content": QUESTION}], stream=True
        ) as stream:
            written = next(one for one in stream if "draft" in (one.model_extra or {}).get("localcrag", {}))
        assert model.stopped.wait(DEADLOCK), "the model writes on"
    # Stopping the server waits for the run to be stored.
    run = as_json(localcrag(tmp_path / "data", "runs", "show", written.id.removeprefix("chatcmpl-"), "--json"))
    assert run["stopped"] is True


def test_a_closed_connection_stops_a_whole_answer_as_well(api: Api, client: openai.OpenAI) -> None:
    body = json.dumps(question("How long is the warranty on a bicycle, and on its tyres?")).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {api.address.removeprefix('http://')}\r\n"
        f"Authorization: Bearer {api.token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with opened(api.address) as connection:
        connection.sendall(head.encode() + body)
        ask(api.address, "/v1/models", Authorization=f"Bearer {api.token}")  # By then the first has come in.
    client.chat.completions.create(model="default", messages=[{"role": "user", "content": QUESTION}])
    listed = as_json(localcrag(api.data, "runs", "list", "--json"))
    runs = [as_json(localcrag(api.data, "runs", "show", one["run_id"], "--json")) for one in listed]
    assert all(run["stopped"] for run in runs if "tyres" in run["question"])


@pytest.mark.parametrize(
    ("content", "status", "code", "said"),
    [
        (question("x", "gpt-4o"), 404, "model_not_found", "Available collections: “default”, “island trips”"),
        ({"model": "default", "messages": []}, 422, "invalid_request", "messages: List should have at least 1 item"),
        ({"model": "default", "messages": [{"role": "system", "content": "x"}]}, 422, "invalid_request", "no user"),
        (question(" "), 422, "invalid_request", "The question is empty"),
        (question(" ", stream=True), 422, "invalid_request", "The question is empty"),
        (question("x", n=2), 422, "invalid_request", "n: Input should be 1"),
        (question("x", localcrag={"colour": "blue"}), 422, "invalid_request", "localcrag.colour: Extra inputs"),
        (question("x", localcrag={"web": "always"}), 422, "invalid_request", "localcrag.web: Input should be 'never'"),
        (question("x", localcrag={"k": 99}), 422, "invalid_request", "k"),
        (b"{no json", 422, "invalid_request", "JSON"),
        (
            {"model": "default", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            422, "invalid_request", "localcrag reads only text",
        ),
    ],
)  # fmt: skip
def test_what_is_no_question_is_said_in_openais_form(
    api: Api, content: object, status: int, code: str, said: str
) -> None:
    answer = post(api, content)
    assert answer.status == status
    told = error(answer)
    assert (told["type"], told["code"]) == ("invalid_request_error", code)
    assert said in told["message"]


@pytest.mark.parametrize("token", ["", "Bearer ", "Bearer wrong", "Basic {token}", "Bearer {token}x", "{token}"])
def test_without_the_token_nobody_gets_in(api: Api, token: str) -> None:
    for answer in (
        post(api, question("x"), Authorization=token.format(token=api.token)),
        ask(api.address, "/v1/models", Authorization=token.format(token=api.token)),
    ):
        assert answer.status == 401
        assert error(answer)["code"] == "invalid_api_key"
        assert "serve --show-token" in error(answer)["message"]


def test_other_hosts_and_other_sites_stay_outside(api: Api) -> None:
    assert post(api, question("x"), Host="evil.example").status == 403
    assert post(api, question("x"), Origin="http://evil.example").status == 403
    assert post(api, question("x"), Sec_Fetch_Site="cross-site").status == 403
    refused = ask(api.address, "/v1/chat/completions", method="OPTIONS", Origin="http://evil.example")
    assert error(refused)["code"] == "forbidden"
    assert not [name for name in refused.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("target", ["/", "/docs", "/redoc", "/v1/embeddings", "/v1/models/", "/v1/../openapi.json"])
def test_what_there_is_not_is_not_found(api: Api, target: str) -> None:
    answer = ask(api.address, target, Authorization=f"Bearer {api.token}")
    assert answer.status == 404
    assert error(answer)["code"] == "not_found"


def test_what_is_too_much_is_refused(api: Api) -> None:
    answer = post(api, question("x" * 4_100_000))
    assert answer.status == 413
    assert "more than localcrag takes" in error(answer)["message"]


def test_the_document_describes_the_api(api: Api) -> None:
    told = json.loads(ask(api.address, "/openapi.json").body)
    assert list(told["paths"]) == ["/v1/models", "/v1/models/{name}", "/v1/chat/completions"]
    assert {"ChatRequest", "Completion", "Piece", "Citation", "Failure"} <= told["components"]["schemas"].keys()
    assert told["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


def test_the_token_is_this_users_alone(api: Api) -> None:
    token = api.data / "api-token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert localcrag(api.data, "serve", "--show-token").stdout.strip() == api.token
    assert api.token not in api.log.read_text("utf-8")


def test_another_token_can_be_made(tmp_path: Path) -> None:
    first = as_json(localcrag(tmp_path, "serve", "--show-token", "--json"))["token"]
    assert as_json(localcrag(tmp_path, "serve", "--show-token", "--json"))["token"] == first
    second = as_json(localcrag(tmp_path, "serve", "--new-token", "--json"))["token"]
    assert second != first
    assert as_json(localcrag(tmp_path, "serve", "--show-token", "--json"))["token"] == second
