"""A follow-up and the conversation before it -> a question that stands alone. Only called when there is a history.

A small model asked to rewrite tends to answer instead, or to copy the last answer. What it writes is used only when it
reads like the question that was asked; else the words of the former question are put beside the new one, which is
enough to retrieve by.
"""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.datatypes import Message, Turn
from localcrag.neutralise import neutralise
from localcrag.words import content_words, one_line

SYSTEM = (
    "You rewrite the user's last question so that it can be understood without the conversation. "
    "Replace words such as it, they, he, she, this or there by what they stand for. "
    "Change nothing else and do not answer. Write only the rewritten question."
)
POINTING_BACK = frozenset(
    "it its they them their theirs he him his she her hers this that these those there then one ones former latter "
    "same such else another other others more".split()
)
FEWEST_WORDS = 2
"""Content words below which a question ("Why?", "In Bergen?") leans on the one before."""
MAX_TOKENS = 60
MAX_WORDS = 40
KEPT_SHARE = 0.6
"""Share of the follow-up's content words that its rewriting must keep."""
ANSWER_CHARACTERS = 300
"""Of each earlier answer in the prompt: enough to name what "it" is."""


def stands_alone(question: str) -> bool:
    """Whether a question can be understood without what was said before, as far as its (English) words tell.

    Such a question is left alone: a small model's rewriting can only harm it.
    """
    words = [word.strip(".,;:!?\"'()“”’").lower() for word in question.split()]
    points_back = any(word.split("'")[0].split("’")[0] in POINTING_BACK for word in words)
    begins_with_more = bool(words) and (
        words[0] in ("and", "but", "so", "or") or words[:2] in (["what", "about"], ["how", "about"])
    )
    return not points_back and not begins_with_more and len(content_words(question)) >= FEWEST_WORDS


def prompt(question: str, history: Sequence[Turn]) -> list[Message]:
    """Return the messages that ask for the rewriting."""
    lines = []
    for turn in history:
        lines += [f"User: {one_line(turn.question)}", f"Assistant: {neutralise(turn.answer)[:ANSWER_CHARACTERS]}"]
    lines.append(f"User: {one_line(question)}")
    return [
        Message("system", SYSTEM),
        Message("user", "Conversation:\n" + "\n".join(lines) + "\n\nRewritten last question:"),
    ]


def accept(written: str, question: str, history: Sequence[Turn]) -> str:
    """Return the rewriting when it can be trusted, else the question after the former one, as they were said.

    Refused are: nothing, more than one question or a paragraph, a text that lost the question's own words, one that
    says what the last answer said, and one without any new word (then the question itself is used).
    """
    candidate = one_line(written).strip("\"'“” ")
    asked, wanted = content_words(question), content_words(candidate)
    # "Conversation" is everything else that the rewriting may draw its words from.
    known = asked | {word for turn in history for word in content_words(turn.question) | content_words(turn.answer)}
    sensible = (
        candidate.endswith("?")
        and candidate.count("?") == 1
        and len(candidate.split()) <= MAX_WORDS
        and len(asked & wanted) >= KEPT_SHARE * len(asked)
        and wanted <= known
    )
    if sensible:
        return candidate
    former = history[-1].question
    return f"{one_line(former)} {one_line(question)}"
