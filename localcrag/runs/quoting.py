"""Which runs, turns, labels and pins quote a document: by its name, and by what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localcrag.steps.answer.cite import citations

_BETWEEN = re.compile(r"\[\d[\d, ]*\]|\n")
_AROUND = " \t-–•*>_|“”\"'."
"""What an answer has between what it quotes, and around it."""
LEAST_QUOTED = 20
"""Characters from which on a text that a document has is taken to come from it."""


@dataclass(frozen=True, slots=True)
class Quoting:
    """The documents that are looked for: their collection, names, texts, and phrases that no other document has.

    `others` are the documents that stay, by collection and name: what is cited as theirs is not of these.
    """

    collection: str
    names: frozenset[str]
    texts: tuple[str, ...]
    phrases: tuple[str, ...]
    others: frozenset[tuple[str, str]] = frozenset()

    def in_text(self, text: str | None) -> bool:
        """Return whether a text is part of one of the documents, or has a phrase of one."""
        if not text:
            return False
        part = text.strip()
        return self._says_phrase(text) or (len(part) >= LEAST_QUOTED and any(part in one for one in self.texts))

    def is_named(self, collection: str, document: object) -> bool:
        """Return whether a name is that of one of the documents."""
        return collection == self.collection and document in self.names

    def in_run(self, run: Mapping[str, Any], *, by_name: bool = True) -> bool:
        """Return whether a run, as it is stored, found or quotes something of the documents.

        Without `by_name`, by what it says alone: the documents of an evaluation set may have any names.
        """
        return bool(self._passages(run, by_name=by_name)) or self._beside_passages(run, by_name=by_name)

    def without(self, run: dict[str, Any]) -> dict[str, Any] | None:
        """Return a run without what it found in the documents; None where its answer cites that, or says it."""
        found = self._passages(run, by_name=True)
        cited = {n for text in (run.get("answer", ""), *_cited_beside(run)) for n in citations(text)}
        if any(piece["passage"] in found and piece["n"] in cited for piece in run.get("evidence", ())):
            return None
        parts = (("passages", "id"), ("strips", "passage"), ("evidence", "passage"))
        rest = run | {part: [one for one in run.get(part, ()) if one[key] not in found] for part, key in parts}
        used = {piece["source"] for piece in rest["evidence"]}
        rest["sources"] = [one for one in run.get("sources", ()) if one["id"] in used]
        return None if self._beside_passages(rest, by_name=True) else rest

    def _passages(self, run: Mapping[str, Any], *, by_name: bool) -> set[str]:
        """Return the ids of a run's passages that are of the documents."""
        return {one["id"] for one in run.get("passages", ()) if self._is_ours(one, run["collection"], by_name=by_name)}

    def _is_ours(self, passage: Mapping[str, Any], collection: str, *, by_name: bool) -> bool:
        if by_name and self.is_named(collection, passage.get("document")):
            return True
        if by_name and (collection, passage.get("document")) in self.others:
            return self._says_phrase(passage["text"])
        return self.in_text(passage["text"])

    def _beside_passages(self, run: Mapping[str, Any], *, by_name: bool) -> bool:
        """Return whether something else of a run is from the documents: answer, sources, a table computed on, the rest.

        An answer may show a passage's lines without citing them: where none was sure, the likeliest passages.
        """
        computation = run.get("computation") or {}
        named = [one.get("document") for one in (*run.get("sources", ()), computation)]
        if by_name and any(self.is_named(run["collection"], name) for name in named):
            return True
        cells = [cell for row in computation.get("rows", ()) for cell in row["cells"]]
        said = [*_pieces(run.get("answer", "")), *(one["text"] for one in run.get("strips", ())), *cells]
        stay = [one["text"] for one in run.get("passages", ())]
        return self._says_phrase(json.dumps(run, ensure_ascii=False)) or any(
            self.in_text(one) and not any(one.strip() in text for text in stay) for one in said
        )

    def _says_phrase(self, text: str) -> bool:
        return any(phrase in text for phrase in self.phrases)


def _cited_beside(run: Mapping[str, Any]) -> list[str]:
    """Return what the sentences of a run's answer cite, as citations."""
    return [f"[{n}]" for one in run.get("support", ()) if one.get("shown", True) for n in one["citations"]]


def _pieces(answer: str) -> list[str]:
    """Return what an answer may quote word for word, without citations and marks."""
    return [piece.strip(_AROUND) for piece in _BETWEEN.split(answer)]


def answers_before(run: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the turns that a stored run was read with: question and answer."""
    return [(turn["question"], turn["answer"]) for turn in run.get("history", ())]
