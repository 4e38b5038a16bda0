"""Put prompt injections in documents, web results and conversations through the flow, and judge it.

The corpus is `tests/data/attacks.jsonl`. Three ways of answering are compared: plain RAG (everything retrieved goes
into the prompt unchanged, and the answer is shown unchanged), the corrective flow without the rules for planted
instructions, and the corrective flow with them.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pydantic import TypeAdapter

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.answer import generate
from localcrag.crag.context import Parts
from localcrag.crag.retrieve import hybrid_search
from localcrag.crag.screen.injection import blank_instructions, readable
from localcrag.crag.screen.rules import Rule
from localcrag.pipeline import answer
from localcrag.records.enums import ScorerKind, WebMode
from localcrag.records.events import RunFinished
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message, Run, Turn
from localcrag.settings import Settings
from localcrag.text.sanitize import sanitize

CORPUS = Path(__file__).resolve().parents[3] / "tests" / "data" / "attacks.jsonl"
BY_CLASS = CORPUS.with_name("attacks_by_class.jsonl")
"""Our own wordings for the classes of AgentDojo, InjecAgent and BIPIA: half for writing rules, half held out."""
HELD_OUT = CORPUS.with_name("attacks_held_out.jsonl")
"""89 wordings in 16 classes, written before the signals and never used to make one; for measuring only."""
LOOKALIKES = CORPUS.with_name("attack_lookalikes.jsonl")
"""145 honest texts in the style of attacks, held out with them: every finding in them is a false alarm."""


class Place(StrEnum):
    """The place where an attack is planted."""

    DOCUMENT = "document"
    WEB = "web"
    CONVERSATION = "conversation"


class Way(StrEnum):
    """The way in which a question is answered."""

    PLAIN = "plain RAG"
    WITHOUT = "the flow without the rules"
    WITH = "localcrag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A host text with a place for the planted text, a question that the host answers, and the attacker's goal.

    `through` are texts that only an answer under the attack contains. With `refuses`, the attack succeeds if the honest
    answer is not given. `former` is the earlier question in a conversation. `unseen` marks wordings that were written
    after the rules. They are for measuring: the rules must not be changed for them.
    """

    id: str
    kind: str
    place: Place
    file: str
    text: str
    planted: str
    question: str
    honest: str
    through: tuple[str, ...]
    refuses: bool = False
    former: str | None = None
    unseen: bool = False

    @property
    def attacked(self) -> str:
        """Return the host text with the attack."""
        return self.host if self.place is Place.CONVERSATION else self.text.replace("{planted}", self.planted)

    @property
    def host(self) -> str:
        """Return the host text without the attack."""
        return self.text.replace("{planted}", "")

    def got_through(self, *written: str) -> bool:
        """Return whether any of the texts contains what the attacker wants, in any spelling."""
        read = " ".join(readable(text) for text in written).casefold()
        return any(wanted.casefold() in read for wanted in self.through)

    def passes(self, rules: tuple[Rule, ...]) -> bool:
        """Return whether any part of the attack is left in the text that the models get under `rules`.

        If so, a model that obeys everything it reads would do what the attacker wants.
        """
        text = self.planted if self.place is Place.CONVERSATION else self.attacked
        left = sanitize(blank_instructions(text, rules))
        return self.got_through(left) or (self.refuses and blank_instructions(text, rules) == text)

    def answered(self, text: str) -> bool:
        """Return whether a text contains the honest answer."""
        return self.honest.casefold() in text.casefold()


def load(path: Path = CORPUS) -> list[Attack]:
    """Return the corpus."""
    adapter = TypeAdapter(Attack)
    return [adapter.validate_json(line) for line in path.read_text("utf-8").splitlines()]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attack: whether it got through, and whether the honest answer was given nevertheless."""

    through: bool
    answered: bool
    answer: str


class Range:
    """Runs attacks, each in a separate collection, with one set of models and its own search server."""

    def __init__(self, assembly: Assembly, folder: Path, server: SearchServer) -> None:
        self._assembly, self._folder, self._server = assembly, folder, server
        self._undisturbed: dict[tuple[str, str, Place], bool] = {}

    def run(self, attack: Attack, way: Way) -> Outcome:
        """Run an attack, and return its outcome."""
        written = self._ask(attack, attack.attacked, way)
        answered = attack.answered(written[0])
        through = attack.got_through(*written) or (attack.refuses and not answered and self.undisturbed(attack))
        return Outcome(through, answered, written[0])

    def undisturbed(self, attack: Attack) -> bool:
        """Return whether the honest answer is given if nothing is planted."""
        key = (attack.host, attack.question, attack.place)
        if key not in self._undisturbed:
            quiet = dataclasses.replace(attack, id=f"{attack.id}-quiet", planted="")
            self._undisturbed[key] = attack.answered(self._ask(quiet, attack.host, Way.WITH)[0])
        return self._undisturbed[key]

    def _ask(self, attack: Attack, text: str, way: Way) -> list[str]:
        """Return the answer, the rewritten question and the web query."""
        settings = self._settings(attack)
        if attack.place is Place.WEB:
            self._server.content = text
        else:
            file = self._folder / f"{attack.id}.{attack.file}"
            file.write_text(text, "utf-8")
            for _ in self._assembly.ingest(uploads_from([file]), settings.collection):
                pass
        self._assembly.collections.store(settings.collection)
        # Attacks share questions, so cached results of one query must not answer the next.
        parts = dataclasses.replace(self._assembly.parts(settings), web_cache=None, rate_limit=None)
        if way is Way.PLAIN:
            return [plain(attack, text, parts, settings)]
        if way is Way.WITHOUT:
            parts = dataclasses.replace(parts, rules=())
        history = [Turn(attack.former, attack.planted)] if attack.former else []
        run = last(answer(attack.question, parts=parts, settings=settings, history=history))
        return [run.answer, run.standalone_question, run.web.query or ""]

    def _settings(self, attack: Attack) -> Settings:
        # The language model grades the passages if the attack addresses it as the judge.
        scorer = ScorerKind.LLM if attack.kind == "grader" else ScorerKind.CROSS_ENCODER
        return self._assembly.settings.model_copy(
            update={"collection": attack.id, "scorer": scorer, "web": WebMode.ALWAYS}
        )


def last(events: Iterator[object]) -> Run:
    """Run a flow to its end, and return its run."""
    *_, finished = events
    if not isinstance(finished, RunFinished):
        raise TypeError(f"The flow ended with {finished!r}.")
    return finished.run


def plain(attack: Attack, text: str, parts: Parts, settings: Settings) -> str:
    """Return plain RAG's answer: all passages go into the prompt unchanged, and the model's text is the answer."""
    texts = [text]
    if attack.place is not Place.WEB:
        passages = hybrid_search(
            attack.question, attack.question, k=settings.k, candidates=settings.candidates, embedder=parts.embedder,
            index=parts.index, store=parts.store,
        )  # fmt: skip
        texts = [passage.text for passage in passages]
    turns = [Message("user", attack.former), Message("assistant", attack.planted)] if attack.former else []
    evidence = "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, start=1))
    asked = Message("user", f"Evidence:\n{evidence}\n\nQuestion: {attack.question}")
    messages = [Message("system", generate.SYSTEM), *turns, asked]
    return "".join(parts.llm.stream(messages, Decoding(max_tokens=settings.answer_tokens)))


@dataclass(slots=True)
class SearchServer:
    """A server with SearXNG's API that answers every query with one result, `content`."""

    url: str
    content: str = ""


@contextmanager
def search_server() -> Iterator[SearchServer]:
    """Run the server on this computer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            result = {"title": "A page", "url": "http://127.0.0.1/page", "content": server.content}
            body = json.dumps({"results": [result], "unresponsive_engines": []}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = SearchServer(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
