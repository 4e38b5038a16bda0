"""How far a piece of evidence backs a sentence: by words, numbers with units, names and denials."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.enums import Backing
from localcrag.steps.answer.amounts import of_something_else, perhaps_of_something_else
from localcrag.steps.answer.denial import concluded_no, denied, denies, nearest
from localcrag.text.quantities import comparable
from localcrag.text.question_form import asks_yes_or_no
from localcrag.text.sentences import split_sentences
from localcrag.text.translation import gettext as _
from localcrag.text.words import HELD, content_words, names, numbers

NEW_HELD = 0.6
"""Share of a sentence's content words, of those that the question did not bring in, that evidence must hold to back it
(of all of them: HELD): repeating the question is no answer. Chosen with HELD by hand on 120 questions of SQuAD 2.0 dev,
half of them without an answer."""
PARTLY_HELD, PARTLY_NEW_HELD = 0.6, 0.4
"""The same for backing it partly."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far one piece of evidence backs a sentence; `share` of its words are in it."""

    backing: Backing
    share: float
    why: str


def judge(sentence: str, evidence: str, question: str, title: str) -> Judgement:
    """Return how far a piece of evidence with this title backs a sentence of an answer to the question."""
    sentence, evidence, question = (comparable(text) for text in (sentence, evidence, question))
    sentence = _without_no(sentence, evidence, question)
    own, held = content_words(sentence), content_words(evidence)
    share = len(own & held) / len(own)
    # A title says what the evidence is about, and no facts: only what the question brought in can be found there.
    about = content_words(title) & content_words(question)
    if why := _refuted(sentence, evidence, question, about):
        return Judgement(Backing.NOT, share, why)
    if why := _doubted(sentence, evidence, question, about):
        return Judgement(Backing.PARTLY, share, why)
    return Judgement(Backing.SUPPORTED, share, "")


def _refuted(sentence: str, evidence: str, question: str, about: set[str]) -> str:
    """Return why the evidence does not back the sentence at all; empty when it does."""
    own, held, asked = content_words(sentence), content_words(evidence) | about, content_words(question)
    new = own - asked
    if not new:
        return "" if _says_whether(sentence, evidence, question) else _("it only repeats the question")
    if own <= numbers(sentence):
        # "6" stands in "6. Claims and deadlines", and nothing tells that it is no answer.
        return _("a bare number says too little to be checked")
    if foreign := (numbers(sentence) | names(sentence)) - held:
        return _("not in the evidence: %(words)s", words=", ".join(sorted(foreign)))
    if len(own & held) < PARTLY_HELD * len(own) or len(new & held) < PARTLY_NEW_HELD * len(new):
        return _("the evidence does not say it")
    return _says_another_thing(sentence, evidence, question)


def _says_another_thing(sentence: str, evidence: str, question: str) -> str:
    """Return what the evidence says with the sentence's words, where it is another thing; empty where it is not."""
    asked = content_words(question)
    if others := _said_of_another(sentence, evidence, question):
        return _("the evidence says it of %(others)s", others=others)
    if loose := of_something_else(sentence, evidence, asked):
        return _("the evidence says %(numbers)s of something else", numbers=", ".join(loose))
    return _("it denies what the evidence says") if denied(sentence, evidence) is Backing.NOT else ""


def _doubted(sentence: str, evidence: str, question: str, about: set[str]) -> str:
    """Return what of the sentence the evidence does not back; empty when it backs all."""
    own, held, asked = content_words(sentence), content_words(evidence) | about, content_words(question)
    new = own - asked
    if len(own & held) < HELD * len(own) or len(new & held) < NEW_HELD * len(new):
        return _("not in the evidence: %(words)s", words=", ".join(sorted(own - held)))
    if denied(sentence, evidence) is Backing.PARTLY or (not denies(sentence) and denies(nearest(own, evidence))):
        return _("the evidence denies something there")
    if loose := perhaps_of_something_else(sentence, evidence, asked):
        return _("the evidence may say %(numbers)s of something else", numbers=", ".join(loose))
    return ""


def _without_no(sentence: str, evidence: str, question: str) -> str:
    """Return a sentence without a "no" that is concluded: asked for yes or no, the evidence says another thing.

    "Does it last 24 months?" – "No, it lasts 12 months." Where the evidence has all that was asked, a "no" denies it.
    """
    rest = concluded_no().sub("", sentence, count=1)
    if rest == sentence or not content_words(rest) or not asks_yes_or_no(question):
        return sentence
    says_what_was_asked = content_words(question) <= content_words(nearest(content_words(sentence), evidence))
    return sentence if says_what_was_asked else rest


def _says_whether(sentence: str, evidence: str, question: str) -> bool:
    """Whether a sentence in the question's words answers it: asked for yes or no, the evidence says the same."""
    own = content_words(sentence)
    near = nearest(own, evidence)
    same = len(own & content_words(near)) >= HELD * len(own) and denies(sentence) == denies(near)
    return same and asks_yes_or_no(question)


def concludes_yes(sentence: str, evidence: str, question: str) -> bool:
    """Whether the evidence has all that a question for yes or no asks, and denies nothing: then "yes" is backed."""
    near = nearest(content_words(sentence), evidence)
    same = content_words(question) <= content_words(near) and not denies(near) and not denies(sentence)
    return same and asks_yes_or_no(question)


def _said_of_another(sentence: str, evidence: str, question: str) -> str:
    """Return whom the evidence says the sentence's new facts of, when that is somebody else.

    "The limit in Gdynia is 195 euros" has all its words in a table whose row with 195 is London's. A sentence of the
    evidence that has the facts and names nobody else is taken to go on about whom the one before it named.
    """
    asked = content_words(question)
    own, known = content_words(sentence), names(evidence)
    wanted = names(question) & own
    named = names(sentence) | (own & known) | wanted
    facts, whom = (numbers(sentence) | named) - asked, named & asked
    parts = [part.text for part in split_sentences(evidence)] if facts and whom else []
    # Where whom is asked about begins a sentence, the first words of others are names as well.
    first = [_first_name(part) for part in parts]
    begins = any(name & wanted for name in first)
    others: set[str] = set()
    for part, name in zip(parts, first, strict=True):
        words = content_words(part)
        if not facts <= words:
            continue
        if whom <= words or not (rivals := ((known | name if begins else known) & words) - own):
            return ""
        others |= rivals
    return ", ".join(sorted(others))


def _first_name(sentence: str) -> set[str]:
    first = sentence.split(None, 1)[0]
    return content_words(first) if first[:1].isupper() else set()
