"""A table that a question can be put to, with the plan for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from localcrag.records.passages import GradedPassage
from localcrag.steps.compute.conditions import may_meet
from localcrag.steps.compute.plan_columns import Plan
from localcrag.steps.compute.table import Table

LONGEST_TEXT = 5_000_000
"""Characters of a document whose tables are read whole."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan for a table of a document, and the retrieved passages that have a part of the table."""

    plan: Plan
    document: str
    title: str | None
    passages: tuple[GradedPassage, ...]

    @property
    def table(self) -> Table:
        """The table."""
        return self.plan.known.table

    @property
    def header(self) -> tuple[str, ...]:
        """The names of its columns, in lower case."""
        return tuple(name.casefold() for name in self.table.header)

    @property
    def may_have_rows(self) -> bool:
        """Whether some row meets the conditions, or may."""
        return bool(may_meet(self.plan.tests, self.plan.known.rows))


def names_of(document: str, title: str | None, section: str | None) -> list[str]:
    """Return what a document is called, and the section of it that a table stands in."""
    stem = PurePath(document).stem.replace("_", " ").replace("-", " ")
    return [name for name in (stem, title, section) if name]


def without_copies(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without tables that say the same as another: a file that was added twice."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for one in found:
        kept.setdefault((one.table.header, tuple(row.cells for row in one.table.rows)), one)
    return list(kept.values())


def chunk_of(passage: GradedPassage) -> int:
    """Return the id of the chunk that a passage of a document is, or begins from."""
    return int(passage.id.removeprefix("chunk-"))
