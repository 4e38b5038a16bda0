"""Learning from use: labels of answers, passages and sentences, and pinned questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localcrag.app.collections import Collections
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.store import export_files
from localcrag.backends.store.database import Database
from localcrag.backends.store.label_store import LabelStore, PinStore
from localcrag.backends.store.run_store import RunStore
from localcrag.records.errors import LabelError
from localcrag.runs import labelled_question, labels_export
from localcrag.runs import labels as labels_module
from localcrag.runs.evaluation_set import Question
from localcrag.runs.labelled_question import Pin
from localcrag.runs.labels import Label, LabelKind
from localcrag.runs.labels_export import ExportedSet, TrainingPair


class Learning:
    """The labels and pins of one data folder."""

    def __init__(self, settings: SettingsInUse, database: Database, runs: RunStore, collections: Collections) -> None:
        self._settings, self._runs, self._collections = settings, runs, collections
        self.labels, self.pins = LabelStore(database), PinStore(database)

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
        run = self._runs.get(run_id)
        made = [labels_module.make(run, kind, target, good) for kind, target, good in said]
        return [self.labels.put(label) for label in made]

    def pin(self, run_id: str, answers: Sequence[str]) -> Pin:
        """Keep a run's question with its accepted answers, to be asked again; none: it has to be left unanswered.

        Raises UnknownRun, LabelError when it was stopped before its end, and StoreError.
        """
        run = self._runs.get(run_id)
        if run.action is None:
            raise LabelError(f"The run {run_id} was stopped before it was decided. Ask the question again.")
        return self.pins.put(run.collection, labelled_question.with_answers(labelled_question.proposed(run), answers))

    def pinned_questions(self, collection: str | None = None) -> tuple[Question, ...]:
        """Return a collection's pinned questions, oldest first; their ids are those of their runs."""
        return tuple(pin.question for pin in self.pins.find(collection=self._settings.collection(collection)))

    def export_set(self, folder: Path, collection: str | None = None) -> ExportedSet:
        """Write the evaluation set that a collection's labels make into a new folder, and return it.

        Raises LabelError when they make none, and ReportError.
        """
        name = self._settings.collection(collection)
        pinned = {pin.run_id: pin.question for pin in self.pins.find(collection=name)}
        made = labels_export.as_set(self.labels.find(collection=name), self._collections.texts(name), pinned)
        export_files.write_set(folder, made.lines, made.documents)
        return made

    def export_training(self, file: Path, collection: str | None = None) -> Sequence[TrainingPair]:
        """Write the pairs that labels make for training into a file, of one collection or of all, and return them.

        Raises LabelError when they make none, and ReportError.
        """
        pairs = labels_export.as_training(self.labels.find(collection=collection))
        export_files.write_lines(file, labels_export.training_lines(pairs))
        return pairs
