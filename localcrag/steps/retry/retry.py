"""Query rewriting: other words for a question that the first passages did not answer.

Only retrieval sees them: passages are judged by, and the answer is given to, the question as it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.records.passages import Passage
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from localcrag.text.words import content_words, names, numbers, one_line

SYSTEM = (
    "You say a question again in other words, as a text that answers it might put it. Keep names and numbers as they "
    "are. Do not answer. Write only the question."
)
EXAMPLE = (
    Message("user", "Question: When may employees travel first class?"),
    Message("assistant", "Under what conditions are staff allowed to book first-class tickets?"),
)
DECODING = Decoding(max_tokens=40, stop=("\n",))
MAX_WORDS = 40

_WORD = re.compile(r"\S+")


def prompt(question: str) -> list[Message]:
    """Return the messages that ask for other words."""
    return [Message("system", SYSTEM), *EXAMPLE, Message("user", f"Question: {one_line(question)}")]


def accept(written: str, question: str) -> str:
    """Return the rewriting when it can be trusted, else the question's key words alone.

    Refused is what lost a name or a number of the question, brought in one of its own (an answer, mostly an invented
    one), is no single question or line, or says nothing new.
    """
    query = one_line(written.splitlines()[0] if written.strip() else "").strip("\"'“”")
    asked, wanted = content_words(question), content_words(query)
    fixed = names(question) | numbers(question)
    sensible = (
        query.endswith("?")
        and query.count("?") == 1
        and len(query.split()) <= MAX_WORDS
        and fixed <= wanted
        and names(query) | numbers(query) <= asked
        and bool(wanted - asked)
        and bool(wanted & asked)
    )
    return query if sensible else key_words(question)


def key_words(question: str) -> str:
    """Return the question's words that carry meaning, in their order; the question itself when it has none."""
    kept = [word.strip('?!.,;:"“”') for word in _WORD.findall(question) if content_words(word)]
    return " ".join(kept) or one_line(question)


def new_passages(found: Sequence[Passage], known: Sequence[Passage]) -> tuple[Passage, ...]:
    """Return those of `found` that are not among the `known` ones."""
    seen = {passage.id for passage in known}
    return tuple(passage for passage in found if passage.id not in seen)
