"""Follow-ups: a question and its conversation become a question that stands alone.

Three ways, in this order. "And in Bergen?" takes the place of what the former question said ("… in London?"), by rule.
A small model asked to rewrite tends to answer instead, or to copy the last answer: what it writes is used only when it
reads like the question that was asked. Else the question that the talk is about is put before the new one, which is
enough to retrieve by. Knows English, and of other languages what their lexicon lists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.records.protocols import Decoding
from localcrag.records.run import Message, Turn
from localcrag.steps.condense.leaning import DAY, MONTH, Leaning, leaning
from localcrag.text.letters import CAPITAL
from localcrag.text.lexicon.languages import lexicon
from localcrag.text.sanitize import sanitize
from localcrag.text.words import content_words, one_line

SYSTEM = (
    "You rewrite the user's last question so that it can be understood without the conversation. "
    "Replace words such as it, they, he, she, this or there by what they stand for. "
    "Change nothing else and do not answer. Write only the rewritten question."
)
DECODING = Decoding(max_tokens=60)
MAX_WORDS = 40
KEPT_SHARE = 0.6
"""Share of the follow-up's content words that its rewriting must keep."""
ANSWER_CHARACTERS = 300
"""Of each earlier answer in the prompt: enough to name what "it" is."""
MOST_NAMES = 3
"""Of the last answer, put before a question that could not be rewritten."""

_CAPITAL = f"[{CAPITAL}]"
_NAME = re.compile(
    rf"\b{_CAPITAL}[\w'’-]*(?: (?:of|de|van|von|the|{_CAPITAL}[\w'’-]*)(?= {_CAPITAL})| {_CAPITAL}[\w'’-]*)*"
)
_NUMBER = re.compile(r" \d{1,4}\b")
_PERSON = re.compile(r"\b(?:he|she|him|his|hers?)\b", re.IGNORECASE)
_TIME = re.compile(rf"(?:{MONTH}|may|{DAY}s?|spring|summer|autumn|winter)\b", re.IGNORECASE)
_FORM = re.compile(r"English|German|French|Spanish|EUR|[Ee]uros?|USD|[Dd]ollars?|GBP|[Pp]ounds?|I")
_PREPOSITION = r"(?:in|on|at|for|from|to|with|of|by|after|before|during)"
_ANOTHER = re.compile(
    rf"^(?=(?i:and|or|but|what about|how about|the same|{_PREPOSITION})\b)(?i:(?:and|or|but) )?"
    rf"(?i:what about |how about |the same (?=for|in|with))?(?:(?P<by>(?i:{_PREPOSITION})) )?"
    rf"(?P<what>(?:the )?[{CAPITAL}0-9][\w'’-]*(?: [{CAPITAL}0-9][\w'’-]*)*)(?:,? please)?\W*$"
)


def stands_alone(question: str) -> bool:
    """Whether a question can be understood without what was said before, as far as its (English) words tell.

    Such a question is left alone: a small model's rewriting can only harm it. So is a mere thank-you.
    """
    return leaning(question) is Leaning.ALONE


def leans_on(question: str, history: Sequence[Turn], *, turns: int) -> tuple[Turn, ...]:
    """Return the last `turns` turns, which a question is to be read with; none for one that stands alone.

    Such a one is answered as if nothing had been said before: the model would imitate it. When all of those turns lean
    on an earlier one themselves, the oldest gives way to that.
    """
    if stands_alone(question) or not turns:
        return ()
    last = tuple(history)[-turns:]
    if any(stands_alone(turn.question) for turn in last):
        return last
    topics = [turn for turn in history[:-turns] if stands_alone(turn.question)]
    return (*topics[-1:], *last[len(topics[-1:]) :]) if turns > 1 else last


def by_rule(question: str, history: Sequence[Turn]) -> str | None:
    """Return the former question about something else ("And in Bergen?"), None when the follow-up is not of that kind.

    The new name takes the place of what followed the same preposition, or of the last name there was.
    """
    known = lexicon()
    found = (known.another if known else _ANOTHER).match(one_line(question))
    former = one_line(next((turn.question for turn in reversed(history) if stands_alone(turn.question)), ""))
    if found is None or not former:
        return None
    first = former.partition(" ")[0]
    places = [name for name in _NAME.finditer(former) if name.start() > len(first)]
    if found["by"]:
        before = f" {found['by']} ".lower()
        after_it = [name for name in places if former[: name.start()].lower().endswith((before, f"{before}the "))]
        places = after_it or (places if before == " for " else [])
    # "Form B" takes the place of "Form A", wherever that stands.
    alike = [name for name in places if name[0].split()[0] == found["what"].split()[0]]
    if not places or (not found["by"] and not alike and (len(places) > 1 or " of " in places[0][0])):
        return None  # Nothing tells which of several names is meant, or which part of one.
    places = alike or places
    place, what = places[-1], found["what"]
    if _kind(what) != _kind(place[0]):
        return None
    if what.lower().startswith("the ") and former[: place.start()].lower().endswith("the "):
        what = what[len("the ") :]
    # "Windows 11" takes the place of "Windows 10", number and all.
    number = _NUMBER.match(former, place.end()) if what[-1].isdigit() else None
    return f"{former[: place.start()]}{what}{former[number.end() if number else place.end() :]}"


def _kind(name: str) -> str:
    """Return what a name names, as far as it tells: only one of a kind takes the place of another.

    What an answer is to be in ("in German", "in dollars") is of no kind: nothing in a question gives way to it.
    """
    bare = name.removeprefix("the ").removeprefix("The ")
    if _FORM.fullmatch(bare):
        return f"form of {bare}"
    return "time" if _TIME.match(bare) else "number" if bare[0].isdigit() else "name"


def prompt(question: str, history: Sequence[Turn]) -> list[Message]:
    """Return the messages that ask for the rewriting."""
    lines = []
    for turn in history:
        lines += [f"User: {one_line(turn.question)}", f"Assistant: {sanitize(turn.answer)[:ANSWER_CHARACTERS]}"]
    lines.append(f"User: {one_line(question)}")
    return [
        Message("system", SYSTEM),
        Message("user", "Conversation:\n" + "\n".join(lines) + "\n\nRewritten last question:"),
    ]


def accept(written: str, question: str, history: Sequence[Turn]) -> str:
    """Return the rewriting when it can be trusted, else the question behind what it is about (`in_context`).

    Refused are: nothing, more than one question or a paragraph, a text that lost the question's own words, one that
    says what the last answer said, one with a word that nobody said, and one that brings in nothing of the topic; for
    "he" and "she" a name of the answer will do.
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
        and (bool((wanted - asked) & content_words(topic(history))) or _names_a_person(question, wanted - asked))
    )
    return candidate if sensible else in_context(question, history)


def _names_a_person(question: str, brought: set[str]) -> bool:
    return bool(brought) and _PERSON.search(question) is not None


def in_context(question: str, history: Sequence[Turn]) -> str:
    """Return the question behind the one that the talk is about, and the former one where that is another.

    For "he" and "she" the names of the last answer come in between.
    """
    before = " ".join(dict.fromkeys([topic(history), one_line(history[-1].question)]))
    if _PERSON.search(question) is None:
        return f"{before} {one_line(question)}"
    said = content_words(f"{before} {question}")
    answer = one_line(history[-1].answer)[:ANSWER_CHARACTERS]
    # A lone capital at the start of a sentence may be any word.
    found = [name for name in _NAME.finditer(answer) if " " in name[0] or answer[: name.start()].strip()[-1:].isalnum()]
    new = [name[0] for name in found if content_words(name[0]) - said]
    names = ", ".join(dict.fromkeys(new[:MOST_NAMES]))
    return " ".join(part for part in (before, names, one_line(question)) if part)


def topic(history: Sequence[Turn]) -> str:
    """Return the last question that stood alone; when none did, the last one."""
    return one_line(next((t.question for t in reversed(history) if stands_alone(t.question)), history[-1].question))
