"""Support of an answer: how far the evidence backs each sentence, and what is shown.

A small model writes fluent sentences with wrong numbers in them. Compared are words, numbers and names, and which of
them the evidence says together; not meanings. So a sentence can be doubted that is right, and is then shown as doubtful
or replaced by a quotation; it is not shown as backed when the evidence says something else.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.enums import Backing, Strictness
from localcrag.records.passages import Evidence, Source
from localcrag.records.run import Support
from localcrag.steps.answer.cite import attached, citations, with_citations, without_citations, without_preface
from localcrag.text.sentences import split_sentences
from localcrag.text.span import Span
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.text.words import HELD, content_words, names, numbers, word_list

NEW_HELD = 0.6
"""Share of a sentence's content words, of those that the question did not bring in, that evidence must hold to back it
(of all of them: HELD): repeating the question is no answer. Chosen with HELD by hand on 120 questions of SQuAD 2.0 dev,
half of them without an answer."""
PARTLY_HELD, PARTLY_NEW_HELD = 0.6, 0.4
"""The same for backing it partly."""

RELEVANT_SHARE = 0.5
"""Of the best evidence's relevance, below which evidence is beside the point."""
UNIT_WITHIN = 3
"""Words behind a number within which its unit stands: "20 whole working days"."""

_CLAUSE = re.compile(r"[;:,](?=\s)|[()]|\s[–—-]\s")
_OWN = re.compile(r"^\s*(?:(?:[-*•]|\d{1,2}[.)])\s+)?(?:yes\b[,.:;!]?\s*)?", re.IGNORECASE)
"""What begins a sentence and is the answer's own: a list item's mark, "yes". A "no" is compared as any denial is."""
_NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|without|cannot)\b|n['’]t\b", re.IGNORECASE)
MARKS = {Backing.SUPPORTED: "", Backing.PARTLY: later("(only partly backed)"), Backing.NOT: later("(not backed)")}
"""What the answer's text says of a sentence, behind its citations."""
_RANKS = tuple(Backing)
SHOWN = {
    Strictness.STRICT: (Backing.SUPPORTED,),
    Strictness.BALANCED: (Backing.SUPPORTED, Backing.PARTLY),
    Strictness.LENIENT: tuple(Backing),
}


@dataclass(frozen=True, slots=True)
class _Judgement:
    """How far one piece of evidence backs a sentence; `share` of its words are in it."""

    backing: Backing
    share: float
    why: str


def verify(
    answer: str,
    evidence: Sequence[Evidence],
    question: str,
    strictness: Strictness,
    sources: Sequence[Source] = (),
) -> tuple[Support, ...]:
    """Return the sentences of the answer, each with how far it is backed, by which evidence, and whether it is shown.

    `sources` are those of the evidence, where their titles count: a manual of the KX-40 need not name it again.
    A citation of the model's own stays when that evidence backs the sentence as well as any; else it is repaired.
    Sentences without any content word are left out.
    """
    text = attached(answer)
    of_source = {source.id: source.title or "" for source in sources}
    titles = {piece.n: of_source.get(piece.source, "") for piece in evidence}
    supports = []
    for span in claims(answer):
        support = _support(_plain(span.text), citations(span.text), evidence, question, titles)
        starts_line = "\n" in text[max(0, span.start - 2) : span.start]
        shown = support.backing in SHOWN[strictness]
        supports.append(dataclasses.replace(support, starts_line=starts_line, shown=shown))
    return tuple(supports)


def claims(answer: str) -> list[Span]:
    """Return the sentences of the answer that say anything, with the citations that belong to each."""
    return [span for span in split_sentences(attached(answer)) if content_words(_plain(span.text))]


def _plain(sentence: str) -> str:
    return without_preface(without_citations(sentence))


def is_answer(supports: Sequence[Support]) -> bool:
    """Whether anything that is shown is backed, at least partly."""
    return any(support.shown and support.backing is not Backing.NOT for support in supports)


def compose(supports: Sequence[Support]) -> str:
    """Return the sentences that are shown as an answer: cited, and marked where they are not backed in full."""
    parts = []
    for support in (support for support in supports if support.shown):
        text = with_citations(support.sentence, support.citations, MARKS[support.backing])
        parts.append(("\n" if support.starts_line else " ") + text)
    return "".join(parts).strip()


def _support(
    sentence: str, cited: Sequence[int], evidence: Sequence[Evidence], question: str, titles: dict[int, str]
) -> Support:
    without_own = _OWN.sub("", sentence, count=1)
    said = without_own if content_words(without_own) else sentence
    most = max((piece.relevance for piece in evidence), default=0.0)
    judged: dict[int, _Judgement] = {}
    for piece in evidence:
        judgement = _weighed(_judge(said, piece.text, question, titles[piece.n]), piece.relevance, most)
        # Two strips of a piece, each by itself, have its number: the one that backs it better counts.
        other = judged.get(piece.n)
        if other is None or _RANKS.index(judgement.backing) < _RANKS.index(other.backing):
            judged[piece.n] = judgement
    relevance = {piece.n: piece.relevance for piece in evidence}
    ranked = sorted(judged, key=lambda n: (_RANKS.index(judged[n].backing), n not in cited, -judged[n].share))
    if not ranked or judged[ranked[0]].backing is Backing.NOT:
        why = judged[ranked[0]].why if ranked else _("there is no evidence")
        return Support(sentence, supported=False, citations=(), relevance=0.0, backing=Backing.NOT, why=why)
    best = judged[ranked[0]]
    own = tuple(n for n in cited if n in judged and judged[n].backing is best.backing)
    return Support(
        sentence,
        supported=best.backing is Backing.SUPPORTED,
        citations=own or (ranked[0],),
        relevance=max(relevance[n] for n in own or (ranked[0],)),
        backing=best.backing,
        why=best.why,
    )


def _weighed(judgement: _Judgement, relevance: float, most: float) -> _Judgement:
    """Return the judgement, one step lower when other evidence is far more relevant to the question.

    A sentence may be said, but of something beside the point: what is paid for a bicycle, asked for a car.
    """
    if relevance >= RELEVANT_SHARE * most or judgement.backing is Backing.NOT:
        return judgement
    lower = _RANKS[_RANKS.index(judgement.backing) + 1]
    why = judgement.why or _("other evidence is far more relevant")
    return dataclasses.replace(judgement, backing=lower, why=why)


def _judge(sentence: str, evidence: str, question: str, title: str) -> _Judgement:
    own, held = content_words(sentence), content_words(evidence)
    share = len(own & held) / len(own)
    # A title says what the evidence is about, and no facts: only what the question brought in can be found there.
    about = content_words(title) & content_words(question)
    if why := _refuted(sentence, evidence, question, about):
        return _Judgement(Backing.NOT, share, why)
    if why := _doubted(sentence, evidence, question, about):
        return _Judgement(Backing.PARTLY, share, why)
    return _Judgement(Backing.SUPPORTED, share, "")


def _refuted(sentence: str, evidence: str, question: str, about: set[str]) -> str:
    """Return why the evidence does not back the sentence at all; empty when it does."""
    own, held, asked = content_words(sentence), content_words(evidence) | about, content_words(question)
    new = own - asked
    if not new or own <= numbers(sentence):
        # "6" stands in "6. Claims and deadlines", and nothing tells that it is no answer.
        return _("a bare number says too little to be checked") if new else _("it only repeats the question")
    if foreign := (numbers(sentence) | names(sentence)) - held:
        return _("not in the evidence: %(words)s", words=", ".join(sorted(foreign)))
    if len(own & held) < PARTLY_HELD * len(own) or len(new & held) < PARTLY_NEW_HELD * len(new):
        return _("the evidence does not say it")
    if others := _said_of_another(sentence, evidence, asked):
        return _("the evidence says it of %(others)s", others=others)
    if loose := _numbers_of_something_else(sentence, evidence, asked):
        return _("the evidence says %(numbers)s of something else", numbers=", ".join(loose))
    denies = _denies(sentence) and not _denies(_nearest(own, evidence))
    return _("it denies what the evidence says") if denies else ""


def _doubted(sentence: str, evidence: str, question: str, about: set[str]) -> str:
    """Return what of the sentence the evidence does not back; empty when it backs all."""
    own, held, asked = content_words(sentence), content_words(evidence) | about, content_words(question)
    new = own - asked
    if len(own & held) < HELD * len(own) or len(new & held) < NEW_HELD * len(new):
        return _("not in the evidence: %(words)s", words=", ".join(sorted(own - held)))
    if not _denies(sentence) and _denies(_nearest(own, evidence)):
        return _("the evidence denies something there")
    return ""


def _said_of_another(sentence: str, evidence: str, asked: set[str]) -> str:
    """Return whom the evidence says the sentence's new facts of, when that is somebody else.

    "The limit in Gdynia is 195 euros" has all its words in a table whose row with 195 is London's. A sentence of the
    evidence that has the facts and names nobody else is taken to go on about whom the one before it named.
    """
    own, known = content_words(sentence), names(evidence)
    named = names(sentence) | (own & known)
    facts, whom = (numbers(sentence) | named) - asked, named & asked
    others: set[str] = set()
    for part in split_sentences(evidence) if facts and whom else ():
        words = content_words(part.text)
        if not facts <= words:
            continue
        if whom <= words or not (rivals := (known & words) - own):
            return ""
        others |= rivals
    return ", ".join(sorted(others))


def _numbers_of_something_else(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return the sentence's new numbers that the evidence has, but with another unit or in an unrelated clause.

    A small model that has to answer with a number takes any: "2024", out of "booked fourteen days before departure;
    tickets bought later cost 38 per cent more, as the bookings of 2024 show".
    """
    return [
        number
        for number in sorted(numbers(sentence) - asked)
        if not _same_unit(number, sentence, evidence)
        or (_aside(number, evidence, asked) and not _neighbours(number, sentence) & _neighbours(number, evidence))
    ]


def _same_unit(number: str, sentence: str, evidence: str) -> bool:
    """Whether the evidence has the word that follows the number in the sentence, if any, near behind it as well."""
    units = {follow for _, follow in _neighbours(number, sentence) if follow}
    words = word_list(evidence)
    near = {unit for at, word in enumerate(words) if word == number for unit in words[at + 1 : at + 1 + UNIT_WITHIN]}
    return not units or bool(units & near)


def _neighbours(number: str, text: str) -> set[tuple[str, str]]:
    """Return the words before and behind the number, wherever it is; none where it stands alone."""
    words = ["", *word_list(text), ""]
    found = {(words[at - 1], words[at + 1]) for at, word in enumerate(words) if word == number}
    return found - {("", "")}


def _aside(number: str, evidence: str, asked: set[str]) -> bool:
    """Whether every clause with the number has less than half of the question's words that its sentence's best has."""
    aside = False
    for part in split_sentences(evidence):
        clauses = [content_words(clause) for clause in _CLAUSE.split(part.text)]
        best = max(len(asked & clause) for clause in clauses)
        holding = [len(asked & clause) for clause in clauses if number in clause]
        if any(2 * shared >= best for shared in holding):
            return False
        aside = aside or bool(holding)
    return aside


def _denies(text: str) -> bool:
    return _NEGATION.search(text) is not None


def _nearest(words: set[str], evidence: str) -> str:
    """Return the evidence's sentence that shares most of these words."""
    sentences = [span.text for span in split_sentences(evidence)]
    return max(sentences, key=lambda sentence: len(words & content_words(sentence)), default="")
