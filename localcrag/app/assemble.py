"""Settings -> parts: the only place that knows which backend stands behind which protocol.

Models are loaded when they are first needed, each once, whichever thread comes first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localcrag import settings as settings_module
from localcrag.app.lazy_cache import LazyCache
from localcrag.app.missing_models import MissingLanguageModel, MissingScorer
from localcrag.backends.downloads.model_checksums import weights_digest
from localcrag.backends.downloads.model_files import Library
from localcrag.backends.readers.reader_process import ReaderProcesses
from localcrag.backends.searxng.rate_limit import SlidingMinute
from localcrag.backends.store.calibration_file import read_calibration
from localcrag.backends.store.calibration_store import CalibrationStore
from localcrag.backends.store.chat_store import ChatStore
from localcrag.backends.store.collection_settings import preset_of, set_preset, set_web_mode, web_mode_of
from localcrag.backends.store.database import Database
from localcrag.backends.store.document_store import (
    DocumentStore,
    chunk_texts,
    collection_names,
    documents_of,
    of_other_embedders,
    original_of,
    replace_vectors,
    require_collection,
    text_of,
    texts_of,
)
from localcrag.backends.store.egress_ledger import EgressLedger
from localcrag.backends.store.kept_scores import KEPT_FIELDS, KeptScores
from localcrag.backends.store.label_store import LabelStore, PinStore
from localcrag.backends.store.run_store import RunStore
from localcrag.backends.store.shelving import (
    checked,
    delete_collection,
    move_documents,
    rename_collection,
    rename_document,
)
from localcrag.backends.store.web_cache import StoredAnswers
from localcrag.backends.store.web_document_file import as_file
from localcrag.pipeline import answer, answer_selection
from localcrag.privacy import egress_log
from localcrag.records.documents import Document, PagePicture
from localcrag.records.enums import Policy, Preset, ScorerKind, TimeRange, WebMode
from localcrag.records.errors import (
    GapError,
    LabelError,
    ModelError,
    NameRefused,
    SearchError,
    SettingsError,
    UnreadableDocument,
)
from localcrag.records.models import ModelRole
from localcrag.records.presets import of_uncalibrated_grades
from localcrag.records.protocols import Consent, Embedder, LanguageModel, RunLog, Scorer, Vectors, WebCache, WebSearch
from localcrag.records.run import Run, Turn
from localcrag.records.web import WebAnswer
from localcrag.runs import knowledge_gaps, labelled_question, labels_export, replay
from localcrag.runs import labels as labels_module
from localcrag.runs.aggregates import Aggregates, aggregate
from localcrag.runs.evaluation_set import Question, documents_key
from localcrag.runs.knowledge_gaps import KnowledgeGap
from localcrag.runs.labelled_question import Pin
from localcrag.runs.labels import Label, LabelKind
from localcrag.runs.recording import Recording
from localcrag.runs.threshold_explorer import Exploration, Explorer, Rules, past_questions
from localcrag.settings import DEFAULT_COLLECTION, Settings
from localcrag.steps.context import Parts, no_judgements
from localcrag.steps.evaluate.applied_calibration import HowFitted, ScorerIdentity, StoredCalibration
from localcrag.steps.evaluate.calibrated_scorer import CalibratedScorer
from localcrag.steps.evaluate.calibration import FittedCalibration
from localcrag.steps.evaluate.score_cache import ScoreCache
from localcrag.steps.ingest import web_document
from localcrag.steps.ingest.ingest import AT_ONCE, IngestEvent, Upload, ingest
from localcrag.steps.ingest.web_document import WebDocument
from localcrag.steps.refine.manual_selection import Choice
from localcrag.text.translation import gettext as _

if TYPE_CHECKING:
    from localcrag.backends.searxng.client import SearchHealth, SearXNG
    from localcrag.backends.store.hnsw import HnswIndex

DATABASE_NAME = "localcrag.sqlite3"
MADE_OF_DOCUMENTS = ("index", "evaluations", "cache/calibrate", "backups")
"""Folders of the data folder that hold documents, or what was made of them."""
_MADE_BY = {
    "relevance": {"scorer"},
    "relevance_format": {"scorer"},
    "embedder": {"embedder", "store", "index"},
    "threads": {"scorer", "llm"},
    "context_tokens": {"llm"},
}
"""What a setting is a part of, and is made anew when it changes; the search client always is."""


class Assembly:
    """The app without a face: one database, one set of models, any number of collections."""

    def __init__(self, settings: Settings) -> None:
        """Open the database and read the model manifest. Raises StoreError and ModelError."""
        self.settings = settings
        self.database = Database(settings.data_dir / DATABASE_NAME)
        self.library = Library(settings.models_dir)
        self.runs = RunStore(self.database)
        self.chats = ChatStore(self.database)
        self.calibrations = CalibrationStore(self.database)
        self.labels = LabelStore(self.database)
        self.pins = PinStore(self.database)
        self.egress = EgressLedger(self.database, settings.data_dir)
        self._lock = threading.RLock()
        self._made = LazyCache()
        self._readers = ReaderProcesses()
        self._judgements = no_judgements()
        self._question_vectors: dict[str, Vectors] = {}
        self._grouping = threading.Lock()
        self._rate_limit = SlidingMinute()
        # Not the lock that is held while models are loaded: they are not needed here.
        self._exploring = threading.Lock()
        self._explored: tuple[object, Explorer] | None = None

    @property
    def embedder(self) -> Embedder:
        """The bi-encoder, loaded on first use. Raises ModelError."""
        return self._made.get("embedder", self._load_embedder)

    @property
    def scorer(self) -> Scorer:
        """The cross-encoder, loaded on first use. Raises ModelError."""
        return self._made.get("scorer", self._load_scorer)

    @property
    def llm(self) -> LanguageModel:
        """The language model, loaded on first use. Raises ModelError."""
        return self.language_model(self.settings.llm)

    def language_model(self, name: str) -> LanguageModel:
        """Return a language model, in the place of another one: there is seldom room for two. Raises ModelError."""
        return self._made.get(f"llm {name}", lambda: self._load_llm(name), alone=True)

    @property
    def web(self) -> WebSearch | None:
        """The search client, None when no endpoint is set. Raises EndpointRefused."""
        return self._made.get("web", self._make_web) if self.settings.searxng_url else None

    def store(self, collection: str | None = None) -> DocumentStore:
        """Return a collection's documents, made when there is none of that name. Raises EmbedderMismatch."""
        name = collection or self.settings.collection
        embedder = self.embedder
        return self._made.get(
            f"store {name}",
            lambda: DocumentStore(self.database, name, embedder=embedder.name, dimension=embedder.dimension),
        )

    def index(self, collection: str | None = None) -> HnswIndex:
        """Return a collection's vector index."""
        from localcrag.backends.store.hnsw import HnswIndex  # noqa: PLC0415

        store = self.store(collection)
        return self._made.get(f"index {store.name}", lambda: HnswIndex(store, self.settings.data_dir / "index"))

    def parts(self, settings: Settings, *, runs: RunLog | None = None) -> Parts:
        """Return what the flow works with, for the collection that `settings` names.

        With `runs`, finished runs go there and not among the questions asked, and no score is remembered from before.
        """
        return Parts(
            embedder=self.embedder,
            scorer=self._scorer_or_stand_in(settings.collection, remembers=runs is None),
            llm=self._llm_or_stand_in(settings.llm),
            index=self.index(settings.collection),
            store=self.store(settings.collection),
            web=self._web_or_refusal(settings) if settings.web_allowed else None,
            runs=runs or self.runs,
            skills=self.library.skills(settings.llm),
            judgements=self._judgements,
            web_cache=self._web_cache(settings) if settings.web_allowed else None,
            rate_limit=self._rate_limit,
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
    ) -> Recording:
        """Answer a question, under `preset` or else the collection's own; see localcrag.pipeline.answer.

        A relevance or language model that cannot be loaded is said in the run, which does without. Raises
        UnknownCollection, ModelError when there is no embedder, and StoreError.
        """
        settings = settings or self.settings
        if settings.collection != DEFAULT_COLLECTION:
            require_collection(self.database, settings.collection)
        settings = settings.of_collection(web_mode_of(self.database, settings.collection))
        settings = settings.under(preset or self.preset(settings.collection))
        parts = self.parts(settings)
        return answer(question, parts=parts, settings=settings, history=history, consent=consent, replays=replays)

    def replay(self, run: Run, *, web: WebMode = WebMode.NEVER) -> Recording:
        """Ask a stored run's question again, under its settings, with today's models and documents; see `ask`.

        Raises SettingsError as well, when its settings are no longer valid.
        """
        chosen = replay.settings_of(run, relevance=self.settings.relevance, web=web)
        settings = settings_module.changed(self.settings, **chosen)
        question, history = replay.question_of(run)
        return self.ask(question, history=history, settings=settings, preset=run.preset, replays=run.run_id)

    def answer_forced(self, run_id: str, choice: Choice) -> Recording:
        """Answer a stored run's question from the sentences that a person chose; see pipeline.answer_selection.

        Raises UnknownRun, ModelError when there is no embedder, and StoreError.
        """
        run = self.runs.get(run_id)
        chosen = replay.settings_of(run, relevance=self.settings.relevance, web=WebMode.NEVER)
        settings = settings_module.changed(self.settings, **chosen).under(run.preset)
        return answer_selection(run, choice, parts=self.parts(settings), settings=settings)

    def aggregates(self, collection: str | None = None) -> Aggregates:
        """Return how the questions went so far, of one collection or of all. Loads no model."""
        return aggregate(self.runs.lines(collection))

    def calibrated_scorer(self, collection: str | None = None) -> Scorer:
        """Return the scorer with the calibration of a collection. Raises ModelError and StoreError."""
        applied = self.applied_calibration(collection)
        return CalibratedScorer(self.scorer, applied.calibration) if applied else self.scorer

    def calibration(self, collection: str | None = None) -> FittedCalibration:
        """Return the calibration in force for a collection. Loads no model. Raises ModelError and StoreError."""
        applied = self.applied_calibration(collection)
        return applied.calibration if applied else self.own_calibration

    @property
    def own_calibration(self) -> FittedCalibration:
        """The calibration that lies beside the relevance model. Raises ModelError."""
        return read_calibration(self.library.path(self.settings.relevance, ModelRole.RELEVANCE))

    def applied_calibration(self, collection: str | None = None) -> StoredCalibration | None:
        """Return what was fitted for a collection and the scorer in use, None where the scorer's own calibration holds.

        Raises ModelError and StoreError.
        """
        name = collection or self.settings.collection
        # The weights are read only where it matters.
        if not self.calibrations.any_for(self.settings.relevance, name):
            return None
        return self.calibrations.in_force(self.scorer_identity, name)

    @property
    def scorer_identity(self) -> ScorerIdentity:
        """What a calibration belongs to that is fitted now. Raises ModelError."""
        name, embedder = self.settings.relevance, self.settings.embedder
        folder = self.library.path(name, ModelRole.RELEVANCE)
        return ScorerIdentity(name, self._made.get(f"weights {folder}", lambda: weights_digest(folder)), embedder)

    def apply_calibration(
        self, calibration: FittedCalibration, how: HowFitted, collection: str | None = None
    ) -> StoredCalibration:
        """Put a calibration in force for a collection. Raises UnknownCollection, ModelError and StoreError."""
        self.require_collection(collection)
        return self.calibrations.apply(self.scorer_identity, collection or self.settings.collection, calibration, how)

    def undo_calibration(self, collection: str | None = None) -> StoredCalibration | None:
        """Return to the calibration before the one in force, which is returned; None where there is none to undo."""
        return self.calibrations.undo(self.scorer_identity, collection or self.settings.collection)

    def require_collection(self, collection: str | None = None) -> None:
        """Raise UnknownCollection unless there is such a collection; the default one always is."""
        name = collection or self.settings.collection
        if name != DEFAULT_COLLECTION:
            require_collection(self.database, name)

    @contextmanager
    def for_set(self, digest: str) -> Iterator[Assembly]:
        """Give an assembly with the same models over a data folder for one evaluation set's documents.

        The folder is in the data folder's cache, and is found again by the set's digest and by what documents are cut
        and embedded with; it may be deleted at any time. Raises SettingsError, ModelError and StoreError.
        """
        chosen = self.settings
        name = documents_key(digest, embedder=chosen.embedder, chunk_tokens=chosen.chunk_tokens)
        data_dir = self.settings.data_dir / "cache" / "calibrate" / name
        other = Assembly(settings_module.changed(self.settings, data_dir=data_dir, collection=DEFAULT_COLLECTION))
        other._made.put("embedder", self.embedder)
        other._made.put("scorer", self.scorer)
        try:
            yield other
        finally:
            other.close()

    def explore(
        self,
        collection: str | None = None,
        *,
        upper: float | None = None,
        lower: float | None = None,
        policy: Policy | None = None,
    ) -> Exploration:
        """Return what other thresholds or another policy would make of a collection's questions so far.

        What is None stays as it is in force. Loads no model. Raises SettingsError when lower would be above upper,
        ModelError and StoreError.
        """
        name = collection or self.settings.collection
        now = self.rules(name)
        then = Rules(
            policy=policy or now.policy,
            upper=now.upper if upper is None else upper,
            lower=now.lower if lower is None else lower,
            enough_relevant=now.enough_relevant,
        )
        if not 0 <= then.lower <= then.upper <= 1:
            raise SettingsError(
                f"The thresholds lower ({then.lower:g}) and upper ({then.upper:g}) must be within 0..1, and lower not "
                "above upper."
            )
        return self._explorer(name).explore(now, then)

    def rules(self, collection: str | None = None, preset: Preset | None = None) -> Rules:
        """Return what decides about a collection's questions, under its own preset or another one.

        Raises SettingsError, ModelError and StoreError.
        """
        settings = self.settings.under(preset or self.preset(collection))
        own = self.calibration(collection).thresholds
        limits = settings.thresholds(of_uncalibrated_grades(own) if settings.scorer is ScorerKind.LLM else own)
        return Rules(settings.policy, limits.upper, limits.lower, settings.relevance_threshold)

    def explore_preset(self, before: Preset, after: Preset, collection: str | None = None) -> Exploration:
        """Return what preset `after` makes of a collection's questions so far, next to `before`; see `explore`."""
        name = collection or self.settings.collection
        return self._explorer(name).explore(self.rules(name, before), self.rules(name, after))

    def _explorer(self, collection: str) -> Explorer:
        """Return what is known of a collection's questions; read anew only when something has changed."""
        kind, calibration = self.settings.scorer, self.calibration(collection)
        model = self.settings.llm if kind is ScorerKind.LLM else self.settings.relevance
        key = (self.runs.stamp(), collection, kind, model, calibration)
        with self._exploring:
            if self._explored is None or self._explored[0] != key:
                runs = self.runs.scored(collection)
                found = past_questions(runs, scorer=kind, model=model, calibration=calibration)
                self._explored = (key, Explorer(*found))
            return self._explored[1]

    def label(self, run_id: str, kind: LabelKind, target: str = "", *, good: bool | None) -> Label | None:
        """Label a run's answer, a passage (by its id) or a sentence (by its number); None takes the label back.

        Raises UnknownRun, LabelError when the run has no such thing, and StoreError.
        """
        if good is None:
            self.labels.take_back(run_id, kind, target)
            return None
        return self.label_all(run_id, [(kind, target, good)])[0]

    def label_all(self, run_id: str, said: Sequence[tuple[LabelKind, str, bool]]) -> list[Label]:
        """Label several things of a run, all or none: kind, target, and whether it is good; raises as `label` does."""
        run = self.runs.get(run_id)
        made = [labels_module.make(run, kind, target, good) for kind, target, good in said]
        return [self.labels.put(label) for label in made]

    def labels_as_set(self, collection: str | None = None) -> labels_export.ExportedSet:
        """Return the evaluation set that a collection's labels make. Raises LabelError when they make none."""
        name = collection or self.settings.collection
        pinned = {pin.run_id: pin.question for pin in self.pins.find(collection=name)}
        return labels_export.as_set(self.labels.find(collection=name), texts_of(self.database, name), pinned)

    def pin(self, run_id: str, answers: Sequence[str]) -> Pin:
        """Keep a run's question with its accepted answers, to be asked again; none: it has to be left unanswered.

        Raises UnknownRun, LabelError when it was stopped before its end, and StoreError.
        """
        run = self.runs.get(run_id)
        if run.action is None:
            raise LabelError(f"The run {run_id} was stopped before it was decided. Ask the question again.")
        return self.pins.put(run.collection, labelled_question.with_answers(labelled_question.proposed(run), answers))

    def pinned_questions(self, collection: str | None = None) -> tuple[Question, ...]:
        """Return a collection's pinned questions, oldest first; their ids are those of their runs."""
        return tuple(pin.question for pin in self.pins.find(collection=collection or self.settings.collection))

    def knowledge_gaps(self, collection: str | None = None) -> tuple[KnowledgeGap, ...]:
        """Return what the documents lack, newest first, of one collection or of all.

        Loads the embedder when there is more than one question to group; without one they are grouped by their words.
        """
        questions = knowledge_gaps.open_questions(self.runs.lines(collection))
        if len(questions) < 2:
            return knowledge_gaps.grouped(questions)
        texts = [question.last.question for question in questions]
        with self._grouping:
            try:
                if new := list(dict.fromkeys(text for text in texts if text not in self._question_vectors)):
                    self._question_vectors |= dict(zip(new, self.embedder.embed(new), strict=True))
            except ModelError:
                return knowledge_gaps.grouped(questions)
            return knowledge_gaps.grouped(questions, np.stack([self._question_vectors[text] for text in texts]))

    def web_text(self, run_id: str, number: int | None = None) -> WebDocument:
        """Return the document that a web result of a run would make; None: of the one that answered it.

        Raises UnknownRun, GapError and StoreError.
        """
        return web_document.make(web_document.choose(self.runs.get(run_id), number))

    def add_web_text(self, run_id: str, number: int | None = None) -> Generator[IngestEvent, None, None]:
        """Take that document into the run's collection, where it is one like any other; see `ingest`.

        Raises GapError when the collection has the same text already, UnknownRun and StoreError.
        """
        document, collection = self.web_text(run_id, number), self.runs.get(run_id).collection
        there = self.documents(collection)
        if twin := next((one.name for one in there if one.sha256 == document.sha256), None):
            raise GapError(f"The collection “{collection}” has this web text already, as “{twin}”.")
        name = web_document.free_name(document, {one.name for one in there})
        with as_file(document, self.settings.data_dir) as path:
            yield from self.ingest([Upload(path, name)], collection)

    def kept_scores(self, settings: Settings) -> KeptScores:
        """Return the scores kept beside this data folder's documents, of the scorer in use under `settings`.

        Raises ModelError.
        """
        names = ("k", "candidates", "strip_mode", "window_words", "relevance_format")
        shaped_by = [str(self.scorer_identity), *(f"{name}={getattr(settings, name)}" for name in names), KEPT_FIELDS]
        digest = hashlib.sha256("\n".join(shaped_by).encode()).hexdigest()[:16]
        return KeptScores(self.settings.data_dir / f"scores-{digest}.jsonl")

    def ingest(self, uploads: Sequence[Upload], collection: str | None = None) -> Generator[IngestEvent, None, None]:
        """Take files in; see localcrag.steps.ingest.ingest."""
        return ingest(
            uploads,
            open_file=self._readers.open_document,
            embedder=self.embedder,
            shelf=self.store(collection),
            index=self.index(collection),
            chunk_tokens=self.settings.chunk_tokens,
        )

    def preset(self, collection: str | None = None) -> Preset:
        """Return the preset that a collection's questions are answered under."""
        return preset_of(self.database, collection or self.settings.collection) or self.settings.preset

    def set_preset(self, preset: Preset | None, collection: str | None = None) -> None:
        """Give a collection a preset of its own; None takes it away. Raises UnknownCollection and StoreError."""
        name = collection or self.settings.collection
        if name != DEFAULT_COLLECTION:
            require_collection(self.database, name)
        set_preset(self.database, name, preset)

    def web_mode(self, collection: str | None = None) -> WebMode:
        """Return the web mode of a collection's questions: its own, unless one holds for all collections."""
        return self.settings.of_collection(web_mode_of(self.database, collection or self.settings.collection)).web

    def set_web_mode(self, mode: WebMode | None, collection: str | None = None) -> None:
        """Give a collection a web mode of its own; None takes it away. Raises UnknownCollection and StoreError."""
        name = collection or self.settings.collection
        if name != DEFAULT_COLLECTION:
            require_collection(self.database, name)
        set_web_mode(self.database, name, mode)

    def delete(self, document: str, collection: str | None = None) -> None:
        """Remove a document and what was made from it. Raises UnknownDocument and StoreError."""
        self.store(collection).delete(document)
        self._follow(collection)

    def rename_document(self, old: str, new: str, collection: str | None = None) -> None:
        """Give a document another name. Raises NameRefused, UnknownDocument and StoreError."""
        rename_document(self.database, collection or self.settings.collection, old, new)

    def move_documents(self, names: Sequence[str], origin: str, target: str) -> None:
        """Put documents into another collection, which is made if need be. Raises as shelving.move_documents does."""
        self.store(target)
        move_documents(self.database, names, origin, target)
        self._follow(origin)
        self._follow(target)

    def new_collection(self, name: str) -> str:
        """Make an empty collection and return its name. Raises NameRefused, also when there is one of that name."""
        name = checked(name, "collection")
        if name in {DEFAULT_COLLECTION, *self.collections()}:
            raise NameRefused(f"There is a collection “{name}” already. Choose another name.")
        self.store(name)
        return name

    def rename_collection(self, old: str, new: str) -> None:
        """Give a collection another name; the default one keeps its. Raises NameRefused and UnknownCollection."""
        if old == DEFAULT_COLLECTION:
            raise NameRefused(f"The collection “{old}” is the one that is always there, and keeps its name.")
        rename_collection(self.database, old, new)
        self._forget(old)

    def delete_collection(self, name: str) -> None:
        """Remove a collection with its documents. Raises UnknownCollection."""
        index = self.index(name)
        delete_collection(self.database, name)
        self._forget(name)
        index.remove_file()

    def _forget(self, collection: str) -> None:
        self._made.drop(f"store {collection}", f"index {collection}")

    def documents(self, collection: str | None = None) -> list[Document]:
        """Return a collection's documents, by name. Loads no model."""
        return documents_of(self.database, collection or self.settings.collection)

    def texts(self, collection: str) -> dict[str, str]:
        """Return the text of a collection's documents, by name. Loads no model."""
        return texts_of(self.database, collection)

    def text(self, document: str, collection: str | None = None) -> str:
        """Return a document's text. Loads no model. Raises UnknownDocument."""
        return text_of(self.database, collection or self.settings.collection, document)

    def page_picture(
        self, document: str, page: int, texts: Sequence[str] = (), *, dpi: int = 110, collection: str | None = None
    ) -> PagePicture | None:
        """Return a document's page as it looks, with the place of each text on it; None where there are no pages.

        Raises UnreadableDocument for a page that there is not, and StoreError.
        """
        data = original_of(self.database, collection or self.settings.collection, document)
        return None if data is None else self._readers.picture(data, document, page, texts, dpi=dpi)

    def collections(self) -> list[str]:
        """Return the names of all collections."""
        return collection_names(self.database)

    def collections_to_embed(self) -> list[str]:
        """Return the names of the collections that cannot be asked until they are embedded anew."""
        return of_other_embedders(self.database, self.settings.embedder)

    def re_embed(self, collection: str | None = None) -> Iterator[tuple[int, int]]:
        """Embed a collection's chunks with the embedder in use; yields (done, total). Raises UnknownCollection."""
        name = collection or self.settings.collection
        require_collection(self.database, name)
        chunks = chunk_texts(self.database, name)
        vectors = {}
        for at in range(0, len(chunks), AT_ONCE):
            yield at, len(chunks)
            some = chunks[at : at + AT_ONCE]
            embedded = self.embedder.embed([text for _, text in some])
            vectors.update({chunk_id: vector for (chunk_id, _), vector in zip(some, embedded, strict=True)})
        replace_vectors(
            self.database, name, embedder=self.embedder.name, dimension=self.embedder.dimension, vectors=vectors
        )
        self._forget(name)
        self._follow(name)
        yield len(chunks), len(chunks)

    def change(self, **changes: Any) -> Settings:
        """Save changed settings and go on with them. Raises SettingsError."""
        with self._lock:
            # Within the lock: of two changes at once, the later one must know the earlier one.
            self.settings = settings_module.save(self.settings, **changes)
            # Not closed: a question may be using it right now. It goes when that one is done.
            self._made.drop(*_made_by(changes))
        return self.settings

    def back_up(self) -> Path:
        """Write a copy of all documents, chats, runs and labels into the data folder. Raises StoreError."""
        path = self.backups / f"localcrag-{datetime.now(UTC):%Y%m%d-%H%M%S}.sqlite3"
        self.database.copy_to(path)
        return path

    @property
    def backups(self) -> Path:
        """The folder of the copies."""
        return self.settings.data_dir / "backups"

    def restore(self, path: Path) -> None:
        """Put a copy in the place of what there is. Raises StoreError, and has then changed nothing."""
        with self._lock:
            # What left this computer has left it, whatever the copy knows of.
            left = self.egress.newest()
            self.database.replace_by(path)
            self.egress.put(left)
            self._forget_all()

    def erase(self) -> None:
        """Remove documents, chats, runs, labels and all that was made of them; settings and models stay.

        Raises StoreError.
        """
        with self._lock:
            self.database.erase()
            self._forget_all()
            folder = self.settings.data_dir
            egress_log.forget(folder)
            for path in (*(folder / name for name in MADE_OF_DOCUMENTS), *folder.glob("scores-*.jsonl")):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def _forget_all(self) -> None:
        self._made.drop("store", "index")
        self._judgements.clear()
        self._question_vectors.clear()
        scorer = self._made.peek("scorer")
        if isinstance(scorer, ScoreCache):
            self._made.put("scorer", scorer.emptied())

    def machine(self) -> str:
        """Return what the language model computes on, in words, as far as it is loaded. Loads nothing."""
        made = self._made.peek(f"llm {self.settings.llm}")
        cores = os.cpu_count() or 1
        threads = made.threads if made else self.settings.threads or cores
        layers = getattr(made, "gpu_layers", 0)
        graphics = _("all layers on the graphics card") if layers else _("no graphics card used")
        return _(
            "%(threads)s threads on %(cores)s cores, %(graphics)s", threads=threads, cores=cores, graphics=graphics
        )

    def search_health(self) -> SearchHealth:
        """Put a test query to the configured SearXNG. Raises EndpointRefused."""
        return self._made.get("web", self._make_web).check()

    @property
    def web_address(self) -> str:
        """The SearXNG's address, without a password that it may hold. Raises EndpointRefused."""
        return self._made.get("web", self._make_web).address

    def warm_up(self) -> None:
        """Load all models, and let each work once, so that the first question does not wait. Raises ModelError."""
        parts = self.parts(self.settings)
        parts.index.nearest(parts.embedder.embed(["warm"])[0], 1)
        self.scorer.logits("warm", ["up"])
        self.language_model(self.settings.llm)

    def close(self) -> None:
        """Close the database and the search client, and end the processes that read files."""
        with self._lock:
            self._readers.close()
            for client in self._made.drop("web"):
                client.close()
            self.database.close()

    def _follow(self, collection: str | None) -> None:
        """Bring a collection's vector index, and its file, to what the database holds."""
        index = self.index(collection)
        index.refresh()
        index.save()

    def _scorer_or_stand_in(self, collection: str, *, remembers: bool) -> Scorer:
        """Return the scorer with a collection's calibration; without its cache, unless it is to remember."""
        try:
            scorer, applied = self.scorer, self.applied_calibration(collection)
        except ModelError as error:
            return MissingScorer(self.settings.relevance, error)
        if not remembers and isinstance(scorer, ScoreCache):
            scorer = scorer.emptied()
        return CalibratedScorer(scorer, applied.calibration) if applied else scorer

    def _llm_or_stand_in(self, name: str) -> LanguageModel:
        try:
            return self.language_model(name)
        except ModelError as error:
            return MissingLanguageModel(name, error)

    def _web_or_refusal(self, settings: Settings) -> WebSearch | None:
        """Return the search client; for an address that is not allowed one that says so when it is asked."""
        try:
            return self._made.get("web", self._make_web).configured(
                results=settings.web_results,
                parameters=_search_parameters(settings),
                forbidden=settings.web_never_terms,
            )
        except SearchError as error:
            return _RefusedSearch(error)

    def _web_cache(self, settings: Settings) -> WebCache | None:
        """Return the answers kept from this SearXNG, None when its address is not allowed."""
        try:
            address = self.web_address
        except SearchError:
            return None
        return StoredAnswers(
            self.database,
            endpoint=address,
            parameters={**_search_parameters(settings), "results": settings.web_results},
            hours=settings.web_cache_hours,
        )

    # The libraries behind these take seconds to import: commands that need no model must not wait for them.

    def _load_embedder(self) -> Embedder:
        path = self.library.path(self.settings.embedder, ModelRole.EMBEDDER)
        from localcrag.backends.models.bi_encoder import BiEncoder  # noqa: PLC0415

        return BiEncoder(self.settings.embedder, path)

    def _load_scorer(self) -> Scorer:
        path = self.library.path(self.settings.relevance, ModelRole.RELEVANCE)
        from localcrag.backends.models.relevance_format import load_fastest  # noqa: PLC0415

        return ScoreCache(
            load_fastest(
                self.settings.relevance,
                path,
                wanted=self.settings.relevance_format,
                threads=self.settings.threads,
                cache=self.settings.data_dir / "cache",
            )
        )

    def _load_llm(self, name: str) -> LanguageModel:
        path = self.library.path(name, ModelRole.LLM)
        from localcrag.backends.models.llama_cpp import LlamaCpp  # noqa: PLC0415

        return LlamaCpp(
            name,
            path,
            context_tokens=self.settings.context_tokens,
            threads=self.settings.threads,
            cache=self.settings.data_dir / "cache",
            adapter=self.library.adapter(name),
        )

    def _make_web(self) -> SearXNG:
        from localcrag.backends.searxng.client import SearXNG  # noqa: PLC0415

        return SearXNG(
            self.settings.searxng_url or "",
            timeout=self.settings.search_timeout,
            results=self.settings.web_results,
            parameters=_search_parameters(self.settings),
            forbidden=self.settings.web_never_terms,
            allow_public=self.settings.searxng_allow_public,
        )


def _made_by(changes: Iterable[str]) -> set[str]:
    """Return what has to be made anew when these settings change."""
    return {"web"}.union(*(_MADE_BY.get(name, set()) for name in changes))


def _search_parameters(settings: Settings) -> dict[str, str]:
    """Return what a search adds to its query, under the names of SearXNG's search API."""
    chosen = {
        "time_range": "" if settings.web_time_range is TimeRange.NONE else settings.web_time_range.value,
        "language": settings.web_language,
        "categories": ",".join(settings.web_categories),
        "safesearch": "" if settings.web_safesearch is None else str(settings.web_safesearch),
    }
    return {name: value for name, value in chosen.items() if value}


class _RefusedSearch:
    """Stands for an endpoint that may not be asked: a question that does not need the web goes on undisturbed."""

    def __init__(self, error: SearchError) -> None:
        self._error = error

    def wording(self, query: str) -> str:
        return query

    def search(self, query: str) -> WebAnswer:
        raise self._error


def uploads_from(paths: Sequence[Path]) -> list[Upload]:
    """Return the files at `paths`; of a folder all files in it, named by their path inside, hidden ones left out.

    Raises UnreadableDocument when a path does not exist or a folder holds no file.
    """
    uploads: list[Upload] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
            if not files:
                raise UnreadableDocument(f"The folder {path} holds no files.")
            uploads += [Upload(file, file.relative_to(path).as_posix(), original=True) for file in files]
        else:
            uploads.append(Upload(path, path.name, original=True))
    return uploads


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
