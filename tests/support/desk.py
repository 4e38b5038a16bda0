"""The flow's parts with stand-ins over a real store, and the documents and questions that tests ask with them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from localcrag.crag.context import Parts
from localcrag.pipeline import answer
from localcrag.records.documents import Chunk
from localcrag.records.enums import Skill
from localcrag.records.events import Event, RunFinished
from localcrag.records.protocols import VectorIndex
from localcrag.records.run import Run, Turn, WebAnswer, WebResult
from localcrag.settings import Settings, load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from tests.support.fakes import FakeEmbedder, FakeLanguageModel, FakeRunLog, FakeScorer, FakeWeb

DOCUMENT = (
    "The hotel limit in London is 195 euros. Breakfast is included.",
    "The hotel limit in Bergen is 165 euros.",
    "Bicycles are lent out at the reception.",
)
WEB = WebAnswer((WebResult("Moon", "http://example.org/moon", "The moon orbits the earth in 27 days."),))
ANSWERABLE, HALF, UNANSWERABLE = (
    "What is the hotel limit in London?",
    "Which hotel limit suits Paris?",
    "Who orbits the moon?",
)


class Desk:
    """The flow's parts, most of them fake, over a real store."""

    def __init__(self, folder: Path, *texts: str, **settings: object) -> None:
        embedder = FakeEmbedder()
        self.store = DocumentStore(
            Database(folder / "db.sqlite3"), "default", embedder=embedder.name, dimension=embedder.dimension
        )
        if texts:
            self.store.put(
                "rules.txt", sha256="x", media_type="text/plain", pages=None, text=" ".join(texts),
                chunks=[Chunk(None, 0, len(text), text) for text in texts], vectors=embedder.embed(texts),
            )  # fmt: skip
        self.llm = FakeLanguageModel("The limit is 195 euros [1].")
        self.scorer = FakeScorer()
        self.web: FakeWeb | None = None
        self.index: VectorIndex = ChunkIndex(self.store, folder)
        self.runs = FakeRunLog()
        self.skills = frozenset(Skill)
        self.today = date(2026, 5, 4)
        self.settings: Settings = load(data_dir=folder, **settings)

    def ask(self, question: str, *history: Turn) -> tuple[list[Event], Run]:
        events = list(answer(question, parts=self.parts(), settings=self.settings, history=history))
        assert isinstance(events[-1], RunFinished)
        return events, events[-1].run

    def parts(self) -> Parts:
        return Parts(
            embedder=FakeEmbedder(), scorer=self.scorer, llm=self.llm, web=self.web, runs=self.runs, store=self.store,
            index=self.index, skills=self.skills, today=lambda: self.today,
        )  # fmt: skip


def with_web(desk: Desk, web: FakeWeb) -> Desk:
    desk.web = web
    desk.settings = load(data_dir=desk.settings.data_dir, searxng_url="http://127.0.0.1:1", web="always")
    return desk
