"""Variants of a question: other wordings, and similar questions that its passage does not answer."""

from __future__ import annotations

import random
import re

from localcrag.text.words import FUNCTION_WORDS

_PAIRS = (
    "first last, most least, more less, largest smallest, highest lowest, biggest smallest, oldest newest, "
    "best worst, before after, start end, began ended, begin end, started stopped, increase decrease, "
    "increased decreased, north south, east west, northern southern, eastern western, early late, "
    "earliest latest, old new, won lost, win lose, male female, men women, man woman, king queen, "
    "father mother, son daughter, brother sister, allowed forbidden, accepted rejected, supported opposed, "
    "entered left, gained lost, major minor, large small, high low, long short, longest shortest, "
    "same different, always never, legal illegal, strong weak, rich poor, positive negative, public private, "
    "inside outside, above below, maximum minimum, summer winter, day night"
)
OPPOSITES = {
    word: other
    for one, two in (pair.split() for pair in _PAIRS.split(", "))
    for word, other in ((one, two), (two, one))
}
_NUMBER = re.compile(r"\b\d{1,4}(?:,\d{3})*\b")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+(?:\s+(?:of|the|de|van)?\s*[A-Z][\w'’-]+)*")
NEGATED = {"is": "is not", "was": "was not", "are": "are not", "were": "were not", "did": "did not", "does": "does not"}


def dress(question: str, chosen: random.Random) -> str:
    """Rewrite the question in one of the ways in which people type: a sentence, bare words, keywords."""
    bare = question.rstrip(" ?").strip()
    words = bare.split()
    keywords = [word for word in words if word.lower().strip("'\",") not in FUNCTION_WORDS]
    luck = chosen.random()
    if luck < 0.15 and 2 <= len(keywords) < len(words):
        return " ".join(keywords).lower()
    if luck < 0.45:
        return bare.lower()
    if luck < 0.55:
        return bare
    return f"{bare[:1].upper()}{bare[1:]}?"


def unanswerable(question: str, passage: str, chosen: random.Random) -> str | None:
    """Return a similar question that the passage does not answer: with another name or number, opposite, or negation.

    The kinds are those that SQuAD 2.0's authors found among unanswerable questions (Rajpurkar, Jia and Liang 2018,
    table 2). None if no rule fits.
    """
    makers = [_other_name, _other_number, _opposite, _opposite]
    chosen.shuffle(makers)
    for make in [*makers, _negated]:
        made = make(question, passage, chosen)
        if made and made.lower() != question.lower():
            return made
    return None


def _other_name(question: str, passage: str, chosen: random.Random) -> str | None:
    lower_case = set(re.findall(r"\b[a-z][\w'’-]+", passage))
    names = [name for name in dict.fromkeys(_NAME.findall(passage)) if not _common(name, lower_case)]
    asked = [name for name in names if re.search(rf"\b{re.escape(name.lower())}\b", question.lower())]
    others = [name for name in names if name.lower() not in question.lower()]
    if not asked or not others:
        return None
    old = max(asked, key=len)
    return re.sub(rf"\b{re.escape(old)}\b", chosen.choice(others).replace("\\", ""), question, flags=re.IGNORECASE)


def _common(name: str, lower_case: set[str]) -> bool:
    """Return whether it is not a name, but only the capitalised first word of a sentence."""
    words = name.lower().split()
    return len(name) < 4 or words[0] in FUNCTION_WORDS or (len(words) == 1 and words[0] in lower_case)


def _other_number(question: str, passage: str, chosen: random.Random) -> str | None:
    found = _NUMBER.search(question)
    if not found:
        return None
    numbers: list[str] = _NUMBER.findall(passage)
    others = [number for number in numbers if len(number) == len(found[0]) and number != found[0]]
    invented = str(int(found[0].replace(",", "")) + chosen.choice([-12, -3, -1, 1, 2, 7, 20]))
    return question[: found.start()] + chosen.choice([*others, invented]) + question[found.end() :]


def _opposite(question: str, passage: str, chosen: random.Random) -> str | None:
    words = question.split()
    places = [number for number, word in enumerate(words) if word.lower() in OPPOSITES]
    if not places:
        return None
    place = chosen.choice(places)
    return " ".join([*words[:place], OPPOSITES[words[place].lower()], *words[place + 1 :]])


def _negated(question: str, passage: str, chosen: random.Random) -> str | None:
    words = question.split()
    place = next((number for number, word in enumerate(words) if word.lower() in NEGATED), None)
    if not place or chosen.random() < 0.7:
        return None  # Used seldom: it fits nearly every question, and would teach the word instead of the meaning.
    return " ".join([*words[:place], NEGATED[words[place].lower()], *words[place + 1 :]])
