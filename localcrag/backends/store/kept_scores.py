"""Labelled scores of an evaluation set in a file, so that nothing is scored twice.

An interrupted calibration goes on where it stopped, and another criterion costs no pass of a model.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, fields
from pathlib import Path

from localcrag.records.errors import EvaluationError
from localcrag.runs.labelled_scores import LabelledScore, LabelledStrip

KEPT_FIELDS = " ".join(field.name for kind in (LabelledScore, LabelledStrip) for field in fields(kind))
"""Part of the file's name: what was kept without a field says nothing of it."""
Scored = tuple[list[LabelledScore], list[LabelledStrip]]


class KeptScores:
    """The scores of one set, of one scorer under one retrieval; the file's name has to tell these apart."""

    def __init__(self, path: Path) -> None:
        """Read what is kept. Lines that are torn or of another version do not count."""
        self._path = path
        self._known: dict[str, Scored] = {}
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                row = json.loads(line)
                self._known[row["question"]] = (
                    [LabelledScore(**score) for score in row["scores"]],
                    [LabelledStrip(**strip) for strip in row["strips"]],
                )

    def of(self, question: str) -> Scored | None:
        """Return what is kept of a question, by its id."""
        return self._known.get(question)

    def keep(self, question: str, scored: Scored) -> None:
        """Write down the scores of a question. Raises EvaluationError."""
        scores, strips = scored
        row = {
            "question": question,
            "scores": [asdict(one) for one in scores],
            "strips": [asdict(one) for one in strips],
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                # On a line of its own, also after a line that was torn.
                file.write("\n" + json.dumps(row))
        except OSError as error:
            raise EvaluationError(
                f"The scores could not be kept in {self._path}: {error.strerror}. Check that the folder can be written "
                "to and the disk is not full."
            ) from error
        self._known[question] = scored
