"""The languages whose words are known here beside English, and the one that a question is read in."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from localcrag.text.lexicon.french import FRENCH
from localcrag.text.lexicon.german import GERMAN
from localcrag.text.lexicon.italian import ITALIAN
from localcrag.text.lexicon.lexicon import Lexicon
from localcrag.text.lexicon.portuguese import PORTUGUESE
from localcrag.text.lexicon.russian import RUSSIAN
from localcrag.text.lexicon.spanish import SPANISH

ENGLISH = "en"
LEXICONS = {one.code: one for one in (GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN, RUSSIAN)}
"""By their codes of ISO 639-1. English is not among them: the rules know it by themselves, and more of it."""
Step = TypeVar("Step")
End = TypeVar("End")
_read_in: ContextVar[str] = ContextVar("the language that a question is read in", default=ENGLISH)


def lexicon() -> Lexicon | None:
    """Return the words of the language that is read now; None for English, and for one without words here."""
    return LEXICONS.get(read_in())


def read_in() -> str:
    """Return the code of the language that is read now."""
    return _read_in.get()


@contextmanager
def reading(language: str) -> Iterator[None]:
    """Have words inside compared as those of this language: in this thread, and for this question, alone."""
    before = _read_in.set(language)
    try:
        yield
    finally:
        _read_in.reset(before)


def steps_in(language: str, steps: Generator[Step, None, End]) -> Generator[Step, None, End]:
    """Yield what these steps do, each with words compared as those of this language; return what they return."""
    try:
        while True:
            with reading(language):
                try:
                    step = next(steps)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
            yield step
    finally:
        with reading(language):
            steps.close()
