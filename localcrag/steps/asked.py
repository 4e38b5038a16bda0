"""What was asked: the user's own question, the one that stands alone, and the conversation that it leans on."""

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
