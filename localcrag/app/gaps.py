"""Knowledge gaps: what the documents lack, and web texts that fill it, added as documents."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path

import numpy as np

from localcrag.app.collections import Collections
from localcrag.app.loaded_models import LoadedModels
from localcrag.backends.store.run_store import RunStore
from localcrag.backends.store.temporary_file import as_file
from localcrag.records.errors import GapError, ModelError
from localcrag.records.ingest import IngestEvent, Upload
from localcrag.records.protocols import Vectors
from localcrag.runs import knowledge_gaps
from localcrag.runs.knowledge_gaps import KnowledgeGap
from localcrag.steps.ingest import web_document
from localcrag.steps.ingest.web_document import WebDocument


class Gaps:
    """What the questions asked so far did not find in the documents."""

    def __init__(self, runs: RunStore, collections: Collections, models: LoadedModels, data_dir: Path) -> None:
        """`data_dir` is where a web text lies while it is added."""
        self._runs, self._collections, self._models, self._data_dir = runs, collections, models, data_dir
        self._question_vectors: dict[str, Vectors] = {}
        self._grouping = threading.Lock()

    def find(self, collection: str | None = None) -> tuple[KnowledgeGap, ...]:
        """Return what the documents lack, newest first, of one collection or of all.

        Loads the embedder when there is more than one question to group; without one they are grouped by their words.
        """
        questions = knowledge_gaps.open_questions(self._runs.lines(collection))
        if len(questions) < 2:
            return knowledge_gaps.grouped(questions)
        texts = [question.last.question for question in questions]
        with self._grouping:
            try:
                if new := list(dict.fromkeys(text for text in texts if text not in self._question_vectors)):
                    self._question_vectors |= dict(zip(new, self._models.embedder.embed(new), strict=True))
            except ModelError:
                return knowledge_gaps.grouped(questions)
            return knowledge_gaps.grouped(questions, np.stack([self._question_vectors[text] for text in texts]))

    def web_text(self, run_id: str, number: int | None = None) -> WebDocument:
        """Return the document that a web result of a run would make; None: of the one that answered it.

        Raises UnknownRun, GapError and StoreError.
        """
        return web_document.make(web_document.choose(self._runs.get(run_id), number))

    def add_web_text(self, run_id: str, number: int | None = None) -> Generator[IngestEvent, None, None]:
        """Add that document to the run's collection, where it is one like any other; see `Collections.add`.

        Raises GapError when the collection has the same text already, UnknownRun and StoreError.
        """
        document, collection = self.web_text(run_id, number), self._runs.get(run_id).collection
        there = self._collections.documents(collection)
        if twin := next((one.name for one in there if one.sha256 == document.sha256), None):
            raise GapError(f"The collection “{collection}” has this web text already, as “{twin}”.")
        name = web_document.free_name(document, {one.name for one in there})
        with as_file(document.text.encode(), self._data_dir, prefix=".web-", what="The web text") as path:
            yield from self._collections.add([Upload(path, name)], collection)

    def forget(self) -> None:
        """Forget what the questions were like."""
        self._question_vectors.clear()
