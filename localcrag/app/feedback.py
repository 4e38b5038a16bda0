"""Learning from use: past questions, knowledge gaps, web results as documents, labels and pins.

A web result can be added as a document. Its text stays untrusted: like any document, it is screened on retrieval. Only
its title and address are cleaned here, so that they cannot add a line to the front matter or become a path.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
from collections.abc import Container, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from localcrag.app.collections.collections import Collections
from localcrag.app.collections.settings import Calibrations, CollectionSettings
from localcrag.app.models.lifecycle import LoadedModels
from localcrag.app.shared_state import CurrentSettings
from localcrag.records.enums import Origin, Policy, Preset, ScorerKind
from localcrag.records.errors import GapError, LabelError, ModelError, SettingsError
from localcrag.records.evaluation_set import Question
from localcrag.records.ingest import IngestEvent, Upload
from localcrag.records.passages import GradedPassage
from localcrag.records.protocols import Vectors
from localcrag.records.run import Run
from localcrag.runs import export, labels, statistics
from localcrag.runs.export import ExportedSet, TrainingPair
from localcrag.runs.labels import Label, LabelKind, Pin
from localcrag.runs.statistics import Aggregates, KnowledgeGap, aggregate
from localcrag.runs.threshold_explorer import DecisionRules, Exploration, Explorer, past_questions
from localcrag.storage import label_store
from localcrag.storage.database import Database
from localcrag.storage.files import temporary_file
from localcrag.storage.label_store import LabelStore, PinStore
from localcrag.storage.run_store import RunStore
from localcrag.text.sanitize import remove_invisible
from localcrag.text.words import one_line

LONGEST_TITLE = 80
"""Maximum number of characters of the title in a document's name."""
# All other characters are replaced in names, so that a title cannot become a path.
_UNSAFE = re.compile(r"[^\w .,'’()+&-]+")


@dataclass(frozen=True, slots=True)
class WebDocument:
    """A document made from a web result; `name` contains the word “web” and the host."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Checksum under which the document will be stored."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def choose_web_passage(run: Run, number: int | None = None) -> GradedPassage:
    """Return the web passage that answered a run, or its web result with this number (from 1).

    It is the first passage that a supported sentence of the answer cites, or else the most relevant one. Raises
    GapError if there is none.
    """
    found = [passage for passage in run.passages if passage.origin is Origin.WEB]
    if not found:
        raise GapError(f"The run {run.run_id} has no web results: there is no web text to add.")
    if number is not None:
        # The id of a web passage is "web-N", counted from 1 (search.py); a discarded search has no passages.
        wanted = next((passage for passage in found if passage.id == f"web-{number}"), None)
        if wanted is None:
            there = ", ".join(passage.id.removeprefix("web-") for passage in found)
            raise GapError(f"The run {run.run_id} has no web result {number}; there are: {there}.")
        return wanted
    cited = [n for support in run.support if support.shown and support.supported for n in support.citations]
    behind = [piece.passage for n in cited for piece in run.evidence if piece.n == n]
    by_id = {passage.id: passage for passage in found}
    return next((by_id[name] for name in behind if name in by_id), max(found, key=lambda one: one.relevance))


def make_web_document(passage: GradedPassage) -> WebDocument:
    """Return the document for a web passage. Raises GapError if the passage has no text."""
    if not one_line(passage.text):
        raise GapError(f"The web result {passage.url} contains no text to add.")
    title, url = _line(passage.title or ""), _line(passage.url or "")
    matter = [*([f"date: {passage.dated}"] if passage.dated else []), f"source: {url}"]
    heading = f"# {title}\n\n" if title else ""
    text = "---\n" + "\n".join(matter) + f"\n---\n\n{heading}{passage.text.strip()}\n"
    return WebDocument(_name(title, url), text)


def free_name(document: WebDocument, taken: Container[str]) -> str:
    """Return the name of the document, with a number if it is taken."""
    stem = document.name.removesuffix(".md")
    names = itertools.chain([document.name], (f"{stem} {number}.md" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _line(text: str) -> str:
    return one_line(remove_invisible(text))


def _name(title: str, url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    safe = _UNSAFE.sub(" ", title)
    plain = one_line(safe)[:LONGEST_TITLE].strip(" .") or "Page"
    where = ", ".join(["web", *([_UNSAFE.sub("", host)] if host else [])])
    return f"{plain} ({where}).md"


class PastQuestions:
    """Analyses stored runs; loads no model. Methods without a collection name use the one in the settings."""

    def __init__(
        self,
        settings: CurrentSettings,
        runs: RunStore,
        calibrations: Calibrations,
        collection_settings: CollectionSettings,
    ) -> None:
        self._settings, self._runs = settings, runs
        self._calibrations, self._collection_settings = calibrations, collection_settings
        # This lock does not cover the loading of models, because no method here needs a model.
        self._lock = threading.Lock()
        self._explored: tuple[object, Explorer] | None = None

    def aggregates(self, collection: str | None = None) -> Aggregates:
        """Return statistics about past questions, of one collection or of all."""
        return aggregate(self._runs.lines(collection))

    def explore(
        self,
        collection: str | None = None,
        *,
        upper: float | None = None,
        lower: float | None = None,
        policy: Policy | None = None,
    ) -> Exploration:
        """Return how other thresholds or another policy would have decided a collection's past questions.

        Arguments that are None keep their current values. Raises SettingsError if lower is above upper, ModelError and
        StoreError.
        """
        name = self._settings.collection(collection)
        now = self.rules(name)
        asked: dict[str, Any] = {"policy": policy, "upper": upper, "lower": lower}
        then = replace(now, **{name: value for name, value in asked.items() if value is not None})
        if not 0 <= then.lower <= then.upper <= 1:
            raise SettingsError(
                f"The thresholds lower ({then.lower:g}) and upper ({then.upper:g}) must be within 0..1, and lower not "
                "above upper."
            )
        return self._explorer(name).explore(now, then)

    def explore_preset(self, before: Preset, after: Preset, collection: str | None = None) -> Exploration:
        """Return how preset `after` would have decided a collection's past questions, compared with `before`."""
        name = self._settings.collection(collection)
        return self._explorer(name).explore(self.rules(name, before), self.rules(name, after))

    def rules(self, collection: str | None = None, preset: Preset | None = None) -> DecisionRules:
        """Return the decision rules for a collection, under its own preset or another one.

        Raises SettingsError, ModelError and StoreError.
        """
        settings = self._settings.now.under(preset or self._collection_settings.preset(collection))
        own = self._calibrations.active(collection).thresholds
        limits = settings.thresholds(own)
        return DecisionRules(settings.policy, limits.upper, limits.lower, settings.relevance_threshold)

    def _explorer(self, collection: str) -> Explorer:
        """Return the explorer of a collection's past questions, cached until anything it depends on changes."""
        settings, calibration = self._settings.now, self._calibrations.active(collection)
        model = settings.llm if settings.scorer is ScorerKind.LLM else settings.relevance
        key = (self._runs.stamp(), collection, settings.scorer, model, calibration)
        with self._lock:
            if self._explored is None or self._explored[0] != key:
                runs = self._runs.scored(collection)
                found = past_questions(runs, scorer=settings.scorer, model=model, calibration=calibration)
                self._explored = (key, Explorer(*found))
            return self._explored[1]


class Gaps:
    """Knowledge gaps: questions that the documents could not answer."""

    def __init__(self, runs: RunStore, collections: Collections, models: LoadedModels, data_dir: Path) -> None:
        """Prepare the gaps; `data_dir` is the folder for the temporary file while a web text is added."""
        self._runs, self._collections, self._models, self._data_dir = runs, collections, models, data_dir
        self._question_vectors: dict[str, Vectors] = {}
        self._grouping = threading.Lock()

    def find(self, collection: str | None = None) -> tuple[KnowledgeGap, ...]:
        """Return the knowledge gaps, newest first, of one collection or of all.

        Two or more questions are grouped by meaning, which loads the embedding model; without it, they are grouped by
        words.
        """
        questions = statistics.open_questions(self._runs.lines(collection))
        texts, vectors = [question.question for question in questions], None
        if len(questions) > 1:
            with self._grouping, suppress(ModelError):
                if new := list(dict.fromkeys(text for text in texts if text not in self._question_vectors)):
                    self._question_vectors |= dict(zip(new, self._models.embedder.embed(new), strict=True))
                vectors = np.stack([self._question_vectors[text] for text in texts])
        return statistics.group_gaps(questions, vectors)

    def web_text(self, run_id: str, number: int | None = None) -> WebDocument:
        """Return the document for a web result of a run; if `number` is None, for the result that answered it.

        Raises UnknownRun, GapError and StoreError.
        """
        return make_web_document(choose_web_passage(self._runs.get(run_id), number))

    def add_web_text(self, run_id: str, number: int | None = None) -> Generator[IngestEvent, None, None]:
        """Add this document to the run's collection as a normal document; see `Collections.add`.

        Raises GapError if the collection already has a document with this text, UnknownRun and StoreError.
        """
        document, collection = self.web_text(run_id, number), self._runs.get(run_id).collection
        there = self._collections.documents(collection)
        if twin := next((one.name for one in there if one.sha256 == document.sha256), None):
            raise GapError(f"The collection “{collection}” already has this web text, as “{twin}”.")
        name = free_name(document, {one.name for one in there})
        with temporary_file(document.text.encode(), self._data_dir, prefix=".web-", description="The web text") as path:
            yield from self._collections.add([Upload(path, name)], collection)

    def forget(self) -> None:
        """Discard the cached vectors of the questions."""
        self._question_vectors.clear()


class Learning:
    """The labels and pins of a data folder."""

    def __init__(self, settings: CurrentSettings, database: Database, runs: RunStore, collections: Collections) -> None:
        self._settings, self._runs, self._collections = settings, runs, collections
        self.labels, self.pins = LabelStore(database), PinStore(database)

    def label(self, run_id: str, kind: LabelKind, target: str = "", *, good: bool | None) -> Label | None:
        """Label an answer, a passage (by id) or a sentence (by number) of a run; None removes the label.

        Raises UnknownRun, LabelError if the run has no such part, and StoreError.
        """
        if good is None:
            self.labels.withdraw(run_id, kind, target)
            return None
        return self.label_all(run_id, [(kind, target, good)])[0]

    def label_all(self, run_id: str, text: Sequence[tuple[LabelKind, str, bool]]) -> list[Label]:
        """Add several labels to a run, or none on error: kind, target, and whether it is good.

        Raises the errors of `label`.
        """
        run = self._runs.get(run_id)
        made = [labels.make_label(run, kind, target, good) for kind, target, good in text]
        return [self.labels.put(label) for label in made]

    def pin(self, run_id: str, answers: Sequence[str]) -> Pin:
        """Pin the question of a run with its accepted answers; without any, it should not be answered.

        Raises UnknownRun, LabelError if the run was stopped before its decision, and StoreError.
        """
        run = self._runs.get(run_id)
        if run.action is None:
            raise LabelError(f"The run {run_id} was stopped before it reached a decision. Ask the question again.")
        return self.pins.put(run.collection, labels.with_answers(labels.propose_question(run), answers))

    def pinned_questions(self, collection: str | None = None) -> tuple[Question, ...]:
        """Return the pinned questions of a collection, oldest first, with the ids of their runs."""
        return tuple(pin.question for pin in self.pins.find(collection=self._settings.collection(collection)))

    def export_set(self, folder: Path, collection: str | None = None) -> ExportedSet:
        """Write the labels of a collection as an evaluation set into a new folder, and return it.

        Raises LabelError if there is nothing to export, and ReportError.
        """
        name = self._settings.collection(collection)
        pinned = {pin.run_id: pin.question for pin in self.pins.find(collection=name)}
        made = export.make_evaluation_set(self.labels.find(collection=name), self._collections.texts(name), pinned)
        label_store.write_set(folder, made.lines, made.documents)
        return made

    def export_training(self, file: Path, collection: str | None = None) -> Sequence[TrainingPair]:
        """Write the training pairs from the labels of one collection or of all into a file, and return them.

        Raises LabelError if there are none, and ReportError.
        """
        pairs = export.make_training_pairs(self.labels.find(collection=collection))
        label_store.write_lines(file, export.training_lines(pairs))
        return pairs
