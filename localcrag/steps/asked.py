"""The question as the flow works with it: as asked, standing alone, and its conversation."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.run import Turn


@dataclass(frozen=True, slots=True)
class Asked:
    """`question` is what is answered; `standalone` is what is looked for and judged by.

    `history` holds the earlier turns that the question leans on, oldest first; none for one that stands alone.
    """

    question: str
    standalone: str
    history: tuple[Turn, ...] = ()
