"""Make training examples from everyday documents: natural questions and full answers with citations.

The evidence is what the app would give the embedded model. The target is made of the sentences of a human answer that
the evidence supports fully, as the app itself judges, each with the number of its excerpt. If the evidence supports
none, there is no example. Questions that ask for lists or tables are left out: the app answers those itself.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.answerer.examples import LONGEST_ANSWER, Example, Library, Task
from lab.everyday.questions import Document, Labelled
from lab.training.questions import dress
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.answer import generate, verify
from localcrag.crag.answer.step import evidence_to_read
from localcrag.records.enums import Skill, Strictness
from localcrag.records.ingest import IngestResult
from localcrag.records.protocols import Scorer
from localcrag.text.question_form import asks_for_list, asks_how

_STEPS = re.compile(r"(?:^|\s)1[.)]\s")
SOURCE, LICENCE = "everyday answers", "Apache-2.0"
SMALL = frozenset(Skill) - {Skill.ALONE, Skill.AMBIGUOUS}
"""Skills of the embedded model."""


class Shelf:
    """Everyday documents in a collection of the app."""

    def __init__(self, assembly: Assembly, documents: Sequence[Document], folder: Path, scorer: Scorer) -> None:
        """Add the documents that are not in the collection yet. Raises SystemExit if one cannot be added."""
        folder.mkdir(parents=True, exist_ok=True)
        for document in documents:
            document.write(folder)
        for event in assembly.ingest(uploads_from([folder])):
            if isinstance(event, IngestResult) and event.error:
                raise SystemExit(event.error)
        self.library = Library(assembly, scorer)


def is_to_be_written(labelled: Labelled) -> bool:
    """Return whether a question has an answer in sentences, not one that the app quotes directly from the source."""
    listed = asks_how(labelled.text) or asks_for_list(labelled.text) or _STEPS.search(labelled.answer)
    return bool(labelled.lines and labelled.answer) and not listed


def answering(document: Document, labelled: Labelled, shelf: Shelf, chosen: random.Random) -> Iterator[Example]:
    """Yield the training example for a question about a document, if there is one."""
    question = dress(labelled.text, chosen)
    passages = shelf.library.passages(question)
    refined = shelf.library.refined(question, passages)
    evidence = evidence_to_read(SMALL, refined)
    own = {passage.id for passage in passages if passage.document == document.name}
    if not any(piece.passage in own for piece in evidence):
        return
    supports = verify.verify(labelled.answer, evidence, question, Strictness.STRICT, refined.sources)
    backed = [support for support in supports if support.supported]
    if backed and backed[0] is supports[0]:  # The first sentence answers; the rest depends on it.
        target = verify.compose(backed)
        if 2 < len(target.split()) <= LONGEST_ANSWER:
            yield Example(Task.ANSWER, tuple(generate.prompt(question, question, evidence)), target, SOURCE)
