"""Web queries and web passages: a question becomes a query, results become passages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.records.protocols import Decoding, Embedder
from localcrag.records.run import Message
from localcrag.records.web import WebResult
from localcrag.text.dates import iso_date
from localcrag.text.titles import in_context
from localcrag.text.words import content_words, one_line, overlap

SYSTEM = (
    "You turn a question into a short query for a web search engine: the names and key words of the question, "
    "nothing else. Do not answer it. Write only the query."
)
EXAMPLE = (
    Message("user", "Question: How much does it cost to renew a British passport online?"),
    Message("assistant", "British passport renewal online cost"),
)
DECODING = Decoding(max_tokens=32, stop=("\n",))
MAX_WORDS = 12
KEPT_SHARE = 0.5
"""Share of the question's content words that the query must keep."""


def prompt(question: str) -> list[Message]:
    """Return the messages that ask for a query."""
    return [Message("system", SYSTEM), *EXAMPLE, Message("user", f"Question: {one_line(question)}")]


def accept(written: str, question: str) -> str:
    """Return the query when it can be trusted, else the question itself.

    Refused are queries that lost most of the question's words, or brought in words that the question does not have: a
    small model invents, and what it invents must not leave the machine.
    """
    query = one_line(written.splitlines()[0] if written.strip() else "").strip("\"'“”. ")
    asked, kept = content_words(question), content_words(query)
    sensible = query and len(query.split()) <= MAX_WORDS and kept <= asked and len(kept) >= KEPT_SHARE * len(asked)
    return query if sensible else one_line(question)


def keeps_enough(kept: str, query: str) -> bool:
    """Return whether `kept`, which is `query` without some words, still asks for the same."""
    words, of = content_words(kept), content_words(query)
    return bool(words) and len(words) >= KEPT_SHARE * len(of)


def to_passages(question: str, results: Sequence[WebResult], *, embedder: Embedder) -> tuple[Passage, ...]:
    """Return the results as passages, with the cosine and overlap that a local passage would have."""
    if not results:
        return ()
    texts = [in_context(result.title, result.content) for result in results]
    (asked,) = embedder.embed_questions([question])
    cosines = np.asarray(embedder.embed(texts) @ asked)
    return tuple(
        Passage(
            id=f"web-{number}",
            origin=Origin.WEB,
            text=result.content,
            url=result.url,
            title=result.title,
            dated=iso_date(result.published),
            cosine=float(cosine),
            overlap=overlap(question, text),
        )
        for number, (result, text, cosine) in enumerate(zip(results, texts, cosines, strict=True), start=1)
    )
