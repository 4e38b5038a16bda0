"""The app without an interface: one object that asks, searches, adds documents and owns the parts.

`Assembly` connects the database, the models and the collections. `search` and `read_passage` return passages without an
answer, and store nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict

from localcrag import settings as settings_module
from localcrag.app.collections.aliases import document_aliases
from localcrag.app.collections.collections import Collections
from localcrag.app.collections.copies import CollectionCopies
from localcrag.app.collections.deletion import DocumentDeletion
from localcrag.app.collections.folders import Folders
from localcrag.app.collections.settings import Calibrations, CollectionSettings
from localcrag.app.feedback import Gaps, Learning, PastQuestions
from localcrag.app.models.library import ModelLibrary
from localcrag.app.models.lifecycle import LoadedModels, MissingLanguageModel, MissingScorer, freeze_objects, trim_heap
from localcrag.app.shared_state import CurrentSettings, LazyCache
from localcrag.app.storage import Storage
from localcrag.app.web_search import Web
from localcrag.crag.answer.generate import prompt
from localcrag.crag.context import Budget, Context, Parts, choose_documents, new_judgement_cache
from localcrag.crag.evaluate import evaluate
from localcrag.crag.grading import CalibratedScorer, ScoreCache
from localcrag.crag.retrieve import search_passages
from localcrag.crag.screen.injection import screen
from localcrag.pipeline import answer, answer_selection
from localcrag.privacy.guard import guard
from localcrag.records.documents import Chunk
from localcrag.records.enums import Preset, Skill, WebMode
from localcrag.records.errors import LocalcragError, ModelError, UnknownDocument
from localcrag.records.events import Event, Warned
from localcrag.records.ingest import GrowingUploads, IngestEvent, Upload
from localcrag.records.models import is_served
from localcrag.records.passages import Choice, GradedPassage
from localcrag.records.protocols import ChunkStore, Consent, Decoding, LanguageModel, RunLog, Scorer
from localcrag.records.restriction import EVERYWHERE, Restriction, SearchScope
from localcrag.records.run import Chat, Run, Turn
from localcrag.runs import replay
from localcrag.runs.recording import Recording, validated_question
from localcrag.settings import Settings
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.database import Database
from localcrag.storage.egress import ConnectionLog
from localcrag.storage.run_store import RunStore
from localcrag.storage.schema import DATABASE_NAME
from localcrag.text.lexicon import run_in_language
from localcrag.text.translation import whole_number
from localcrag.text.words import question_language

# TypedDict is imported from typing_extensions: pydantic, which derives MCP schemas, rejects typing's before Python
# 3.12.


PREFIX = "chunk-"
"""Prefix of the chunk number in the id of a document's passage."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages, most relevant first, and the warnings of the steps that found them."""

    passages: tuple[GradedPassage, ...]
    warnings: tuple[str, ...]


class ReadPassage(TypedDict):
    """A passage with its neighbours; `first` and `last` are the ids of the chunks at its ends."""

    document: str
    title: str
    page: int | None
    section: str | None
    text: str
    first: str
    last: str


def read_passage(passage: str, store: ChunkStore, *, before: int = 0, after: int = 0) -> ReadPassage:
    """Return a passage with some chunks before and after it. Raises UnknownDocument if it does not exist."""
    number = whole_number(passage.removeprefix(PREFIX))
    found = {} if number is None else store.chunks([number])
    # The id is unique in the whole database, so the chunk may belong to another collection.
    its_document = set(store.documents_of(list(found)).values())
    if not its_document or not its_document <= {document.id for document in store.documents()}:
        raise UnknownDocument(
            f"There is no passage “{passage}” here: its document was changed or deleted, or it is from the web or from "
            "another collection. Search again for what there is."
        )
    ((own, (document, chunk)),) = found.items()
    first = _outermost_chunk(store, own, chunk, before, behind=False)
    last = _outermost_chunk(store, own, chunk, after, behind=True)
    return ReadPassage(
        document=document,
        title=store.titles([own]).get(own, ""),
        page=first[1].page,
        section=chunk.section,
        # Form feeds separate pages.
        text=store.excerpt(own, first[1].start, last[1].end).replace("\f", "\n\n"),
        first=f"{PREFIX}{first[0]}",
        last=f"{PREFIX}{last[0]}",
    )


def _outermost_chunk(store: ChunkStore, number: int, chunk: Chunk, steps: int, *, behind: bool) -> tuple[int, Chunk]:
    at = number, chunk
    for _ in range(steps):
        further = store.neighbour(at[0], behind=behind)
        if further is None:
            break
        at = further
    return at


_DEPENDENT_OBJECTS = {
    "relevance": {"scorer"},
    "relevance_format": {"scorer"},
    # The scorer is included because its calibration depends on the embedding model.
    "embedder": {"embedder", "store", "index", "scorer"},
    "index_engine": {"index"},
    "threads": {"scorer", "llm"},
    "context_tokens": {"llm", "served"},
}
"""The cached objects to drop when a setting changes; the search client is dropped on every change."""


class Assembly:
    """The app without an interface: one database, one set of models, any number of collections.

    The methods here answer questions. Everything else is done by the objects in its attributes.
    """

    def __init__(self, settings: Settings) -> None:
        """Open the database, read the list of models and guard the process. Raises StoreError and ModelError."""
        guard()
        made, chosen = LazyCache(), CurrentSettings(settings, self._drop)
        self._made = made
        self._judgements = new_judgement_cache()
        self.current_settings = chosen
        self.database = database = Database(settings.data_dir / DATABASE_NAME)
        self.library = ModelLibrary(chosen)
        self.models = LoadedModels(chosen, self.library, made)
        self.runs, self.chats = RunStore(database), ChatStore(database)
        self.egress = ConnectionLog(database, settings.data_dir)
        self.web = Web(chosen, database, made)
        self.collections = Collections(chosen, database, self.models, made)
        self.folders = Folders(chosen, database, self.collections)
        models_dir = self.library.models_dir
        self.document_deletion = DocumentDeletion(chosen, database, self.collections, models_dir, self._forget)
        self.collection_copies = CollectionCopies(self.collections, database, made)
        self.collection_settings = CollectionSettings(chosen, database, self.library)
        self.calibrations = Calibrations(
            chosen, database, self.library, self.models, made, embedder_of=self.collections.embedders.name_of
        )
        self.past_questions = PastQuestions(chosen, self.runs, self.calibrations, self.collection_settings)
        self.learning = Learning(chosen, database, self.runs, self.collections)
        self.gaps = Gaps(self.runs, self.collections, self.models, settings.data_dir)
        self.storage = Storage(settings.data_dir, models_dir, database, self._forget)

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self.current_settings.now

    def change(self, **changes: Any) -> Settings:
        """Save changed settings and use them from now on. Raises SettingsError."""
        return self.current_settings.change(**changes)

    def parts(self, settings: Settings, *, runs: RunLog | None = None) -> Parts:
        """Return everything that the pipeline needs for the collection in `settings`.

        If `runs` is given, finished runs are stored there instead of with the user's questions, and no cached scores
        are used. Raises StoreError, also if the collection is on another computer and these settings allow no
        connection to it.
        """
        self.collections.homes.check_allowed(settings.collection, settings)
        opened = self.collections.opened.get(settings.collection)
        return Parts(
            embedder=self.models.reloaded(opened.embedder),
            scorer=self._scorer_or_missing(settings, remembers=runs is None),
            llm=self._llm_or_missing(settings),
            index=opened.index,
            store=opened.store,
            web=self.web.search(settings),
            runs=runs or self.runs,
            skills=self.library.skills(settings.llm),
            judgements=self._judgements,
            web_cache=self.web.cache(settings),
            rate_limit=self.web.rate_limit,
            document_aliases=lambda names: document_aliases(self.database, settings.collection, names),
        )

    def ask(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        settings: Settings | None = None,
        preset: Preset | None = None,
        consent: Consent | None = None,
        replays: str | None = None,
        restriction: Restriction = EVERYWHERE,
        read_all: bool = False,
    ) -> Recording:
        """Answer a question, under `preset` or else the preset of the collection; see localcrag.pipeline.answer.

        If the reranker or the language model cannot be loaded, the run continues without it and reports that. Raises
        UnknownCollection, ModelError if there is no embedding model, and StoreError.
        """
        settings = self.collection_settings.applied_to(settings or self.settings, preset)
        parts = self.parts(settings)
        return answer(
            question, parts=parts, settings=settings, history=history, consent=consent, replays=replays,
            restriction=restriction, read_all=read_all,
        )  # fmt: skip

    def ask_in_chat(
        self, chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording:
        """Answer a question of a chat with the chat's collection, preset and language model; see `ask`."""
        own: dict[str, Any] = {"collection": chat.collection} | ({"llm": chat.llm} if chat.llm else {})
        settings = settings_module.with_changes(self.settings, **own)
        return self.ask(
            question, history=history, settings=settings, preset=chat.preset, consent=consent,
            restriction=chat.restriction, read_all=read_all,
        )  # fmt: skip

    def search(
        self,
        question: str,
        *,
        most: int | None = None,
        collection: str | None = None,
        preset: Preset | None = None,
        restriction: Restriction = EVERYWHERE,
    ) -> SearchResult:
        """Return the best passages for a question, at most `most`, graded as for an answer. Nothing is stored.

        Raises QuestionError, also if the restriction matches no document, UnknownCollection, SettingsError, ModelError
        if there is no embedding model, and StoreError.
        """
        own: dict[str, Any] = {"k": most} if most else {}
        own |= {"collection": collection} if collection else {}
        settings = self.collection_settings.applied_to(settings_module.with_changes(self.settings, **own), preset)
        parts = self.parts(settings)
        question = validated_question(question)
        choice = choose_documents(restriction, parts.store, parts.document_aliases)
        context = Context(parts, settings, Budget(settings.time_budget), choice=choice)
        found: list[GradedPassage] = []

        def flow() -> Generator[Event, None, None]:
            retrieved = yield from search_passages(question, question, context)
            graded = yield from evaluate(question, retrieved, context)
            yield from screen(graded, context.parts.rules)
            found.extend(graded)

        events = run_in_language(question_language(question, parts.store.languages()), flow())
        warnings = tuple(event.message for event in events if isinstance(event, Warned))
        return SearchResult(tuple(sorted(found, key=lambda one: -one.relevance)), warnings)

    def replay(self, run: Run, *, web: WebMode = WebMode.NEVER) -> Recording:
        """Ask the question of a stored run again, with its settings and today's models and documents; see `ask`.

        Also raises SettingsError, if the settings of the run are no longer valid.
        """
        settings = self._replay_settings(run, web)
        scope = run.scope or SearchScope(0, 0)
        return self.ask(
            run.question, history=run.history, settings=settings, preset=run.preset, replays=run.run_id,
            restriction=scope.restriction, read_all=scope.whole,
        )  # fmt: skip

    def answer_selection(self, run_id: str, choice: Choice) -> Recording:
        """Answer the question of a stored run from sentences that the user chose; see pipeline.answer_selection.

        Raises UnknownRun, ModelError if there is no embedding model, and StoreError.
        """
        run = self.runs.get(run_id)
        settings = self._replay_settings(run, WebMode.NEVER).under(run.preset)
        return answer_selection(run, choice, parts=self.parts(settings), settings=settings)

    def ingest(
        self, uploads: Sequence[Upload] | GrowingUploads, collection: str | None = None
    ) -> Generator[IngestEvent, None, None]:
        """Add files to a collection; see `Collections.add`."""
        return self.collections.add(uploads, collection)

    def warm_up(self) -> None:
        """Load all models and run each once, so that the first question does not have to wait.

        Raises ModelError and GenerationError.
        """
        parts = self.parts(self.settings)
        parts.index.nearest(parts.embedder.embed(["warm"])[0], 1)
        # Models on a server are not asked before there is a question, so that nothing is sent without need.
        if not is_served(self.settings.relevance):
            self.models.scorer.logits("warm", ["up"])
        if not is_served(self.settings.llm):
            # This reads the part that all prompts begin with into the prefix cache.
            beginning = prompt("", "", (), whole=Skill.ALONE in parts.skills)
            for _ in self.models.llm.stream(beginning, Decoding(max_tokens=1)):
                pass

    def close(self, *, overwrites: bool = True) -> None:
        """Close the database and the search client, end the reader processes, and unload the models.

        Without `overwrites`, the words of deleted documents are left for a later process to overwrite. Afterwards even
        a forgotten reference to this object keeps little memory in use; a thread that is using a model finishes its
        call.
        """
        self.collections.close()
        if self.models.unload():
            trim_heap()
        self.web.close()
        self.storage.close(overwrites=overwrites)

    def _replay_settings(self, run: Run, web: WebMode) -> Settings:
        return settings_module.with_changes(self.settings, **replay.replay_settings(run, web=web))

    def _drop(self, changes: Iterable[str]) -> None:
        """Drop the cached objects that depend on these settings."""
        # Dropped objects are not closed, because a question may still use them; they are freed after it.
        self._made.drop("web", *set().union(*(_DEPENDENT_OBJECTS.get(name, set()) for name in changes)))

    def _forget(self) -> None:
        """Discard all caches about documents and questions that no longer exist."""
        self._made.drop("store", "index")
        self._judgements.clear()
        self.gaps.forget()
        self.chats.clear_unsaved()
        self.models.clear_scores()

    def _scorer_or_missing(self, settings: Settings, *, remembers: bool) -> Scorer:
        """Return the scorer with the calibration of a collection, or a stand-in if it cannot be loaded.

        Unless `remembers` is set, the scorer gets an empty cache of scores.
        """
        try:
            # Use the current reranker, whatever `settings` name: calibrations and cached scores belong to it.
            self.library.check_allowed(self.settings.relevance, settings)
            scorer, own = self.models.reloaded(self.models.scorer), self.calibrations.special(settings.collection)
        except ModelError as error:
            return MissingScorer(self.settings.relevance, error)
        if not remembers and isinstance(scorer, ScoreCache):
            scorer = scorer.emptied()
        return CalibratedScorer(scorer, own) if own else scorer

    def _llm_or_missing(self, settings: Settings) -> LanguageModel:
        try:
            self.library.check_allowed(settings.llm, settings)
            return self.models.reloaded(self.models.language_model(settings.llm))
        except ModelError as error:
            return MissingLanguageModel(settings.llm, error)


def warm_up_in_background(assembly: Assembly, *, closing: Callable[[], bool] = lambda: False) -> threading.Thread:
    """Load the models in a thread, which is returned; errors are printed unless the app is `closing`."""

    def warm_up() -> None:
        try:
            assembly.warm_up()
            freeze_objects()
        except LocalcragError as error:
            # Each question reports the error again, so printing it is enough here.
            if not closing():
                print(f"localcrag: {error}", file=sys.stderr, flush=True)  # noqa: T201

    thread = threading.Thread(target=warm_up, daemon=True)
    thread.start()
    return thread
