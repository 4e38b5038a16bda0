"""Verify an answer: its citations, the support of each sentence, and whether it answers the question.

A small model writes fluent sentences with wrong numbers. Verification compares words, numbers and names, and which of
them occur together in the evidence; it does not compare meanings. So it can doubt a correct sentence, which is then
shown as doubtful or replaced by a quotation. It is built not to show a sentence as backed if the evidence says
something else.

A sentence can be backed and still miss the point: "BSkyB gained 400,000 subscribers within two months" is in the
evidence and does not say how many there were in 1994. Therefore the reranker also compares the answer with the best
sentence of the evidence.

Web addresses are checked too. An address that a model makes up may carry the question to a stranger's server; an
address that is copied from the evidence letter by letter cannot.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import numpy as np

from localcrag.crag.answer.support import SupportJudgement, concludes_yes, judge
from localcrag.records.enums import Backing, Strictness
from localcrag.records.passages import Evidence, Source, citations, without_citations
from localcrag.records.protocols import Scorer
from localcrag.records.run import Support
from localcrag.records.wording import MARKS
from localcrag.text.sanitize import quotable
from localcrag.text.sentences import Span, split_sentences
from localcrag.text.translation import gettext as _
from localcrag.text.words import content_words

_PREFACE = re.compile(
    r"(?i)^(?:the )?(?:answer|evidence)(?: to (?:this|the) question)?(?: provided)?"
    r"(?: (?:is|shows|says|states|suggests|indicates))?(?::| that\b)\s*"
)
"""Words that small models put before an answer; they have no content, and would count as words without backing."""


def without_preface(text: str) -> str:
    """Return the text without a preface such as "The answer is:"."""
    rest = _PREFACE.sub("", text.strip())
    return rest[:1].upper() + rest[1:] if rest != text.strip() else rest


def with_citations(sentence: str, numbers: Sequence[int], note: str) -> str:
    """Return the sentence with these citations and a note in front of its full stop."""
    body = sentence.rstrip(".!?")
    added = [text for text in ("".join(f"[{number}]" for number in numbers), note) if text]
    return " ".join([body, *added]) + sentence[len(body) :]


def attach_citations(answer: str) -> str:
    """Return the answer with citations moved before their full stop: "x. [1]" is one sentence, not two."""
    return re.sub(r"([.!?])((?:\s*\[\d[\d, ]*\])+)", r"\2\1", answer)


LEFT_OUT = "(address left out)"
_ADDRESS = re.compile(r"(?i)(?:\bhttps?:|\bwww\.|(?<!\w)//)[^\s<>()\[\]“”\"']+")
_SENTENCE_END = ".,;:!?*_`’。…"
"""Characters after an address that do not belong to it, including Markdown marks."""


def remove_unknown_addresses(answer: str, evidence: Sequence[Evidence]) -> str:
    """Return the answer without images, and with "(address left out)" for each address that is not in the evidence."""
    known = {address for piece in evidence for address in addresses(quotable(piece.text))}
    # Line breaks stay: an answer may be a list.
    lines = "\n".join(quotable(line, citations=True) for line in answer.split("\n"))

    def known_or_removed(found: re.Match[str]) -> str:
        address = found[0].rstrip(_SENTENCE_END)
        return found[0] if address in known else LEFT_OUT + found[0][len(address) :]

    return _ADDRESS.sub(known_or_removed, lines)


def addresses(text: str) -> list[str]:
    """Return the web addresses in a text, without sentence punctuation after them."""
    return [found.rstrip(_SENTENCE_END) for found in _ADDRESS.findall(text)]


RELEVANT_SHARE = 0.5
"""Share of the best evidence's relevance below which evidence is off topic."""
_OWN_PREFIX = re.compile(r"(?i)^\s*(?:(?:[-*•]|\d{1,2}[.)])\s+)?(?:yes\b[,.:;!]?\s*)?")
"""Beginning of a sentence that comes from the answer itself: a list item's mark, "yes". A "no" is compared like any
negation, unless it is a conclusion (`_drop_concluded_no` in support.py)."""
_STEP = re.compile(r"(\s*)\d{1,2}([.)]\s)")
_YES = re.compile(r"(?i)\W*yes\W*")
_RANKS = tuple(Backing)
SHOWN = {
    Strictness.STRICT: (Backing.SUPPORTED,),
    Strictness.BALANCED: (Backing.SUPPORTED, Backing.PARTLY),
    Strictness.LENIENT: tuple(Backing),
}
"""How well a sentence must be backed to be shown, for each strictness."""


def verify(
    answer: str, evidence: Sequence[Evidence], question: str, strictness: Strictness, sources: Sequence[Source] = ()
) -> tuple[Support, ...]:
    """Return the sentences of the answer, each with its support, its evidence, and whether it is shown.

    `sources` are the sources of the evidence. Their titles count as well: a manual for the KX-40 need not repeat that
    name. A citation that the model wrote stays if no other evidence backs the sentence better; otherwise it is
    corrected. Sentences without a content word are left out.
    """
    text = attach_citations(answer)
    titles = {source.id: source.title or "" for source in sources}
    supports = []
    for span in claims(answer):
        support = _support(_plain(span.text), citations(span.text), evidence, question, titles)
        starts_line = "\n" in text[max(0, span.start - 2) : span.start]
        shown = support.backing in SHOWN[strictness]
        supports.append(dataclasses.replace(support, starts_line=starts_line, shown=shown))
    return tuple(_with_yes(supports, evidence, question))


def claims(answer: str) -> list[Span]:
    """Return the sentences of the answer that have content words, with the citations that belong to each."""
    return [span for span in split_sentences(attach_citations(answer)) if content_words(_plain(span.text))]


def _with_yes(supports: Sequence[Support], evidence: Sequence[Evidence], question: str) -> list[Support]:
    """Return the sentences, with a lone "Yes." joined to the next one if that affirms the question.

    A "Yes." has nothing to compare, so it is removed like any other sentence unless it is joined.
    """
    texts = {piece.n: piece.text for piece in evidence}
    joined: list[Support] = []
    for support in supports:
        before = joined[-1] if joined else None
        if before and _YES.fullmatch(before.sentence) and support.backing is Backing.SUPPORTED:
            own = " ".join(texts[n] for n in support.citations if n in texts)
            if concludes_yes(support.sentence, own, question):
                sentence = f"Yes. {support.sentence.lstrip('*_ ')}"
                joined[-1] = dataclasses.replace(support, sentence=sentence, starts_line=before.starts_line)
                continue
        joined.append(support)
    return joined


def _plain(sentence: str) -> str:
    return without_preface(without_citations(sentence))


def is_answer(supports: Sequence[Support]) -> bool:
    """Return whether any sentence that is shown is backed, at least partly."""
    return any(support.shown and support.backing is not Backing.NOT for support in supports)


def compose(supports: Sequence[Support]) -> str:
    """Return the shown sentences as an answer with citations and marks on sentences that are not fully backed."""
    parts = []
    for support, sentence in _renumbered(supports):
        text = with_citations(sentence, support.citations, MARKS[support.backing])
        parts.append(("\n" if support.starts_line else " ") + text)
    return "".join(parts).strip()


def _renumbered(supports: Sequence[Support]) -> Iterator[tuple[Support, str]]:
    """Yield the shown sentences; if some steps were removed, renumber the others."""
    begins = [support for support in supports if support.starts_line or support is supports[0]]
    steps = [support for support in begins if _STEP.match(support.sentence)]
    gaps = any(not step.shown for step in steps)
    number = 0
    for support in (support for support in supports if support.shown):
        if not gaps or support not in steps:
            yield support, support.sentence
            continue
        number += 1
        yield support, _STEP.sub(rf"\g<1>{number}\g<2>", support.sentence, count=1)


def _support(
    sentence: str, cited: Sequence[int], evidence: Sequence[Evidence], question: str, titles: dict[str, str]
) -> Support:
    without_own = _OWN_PREFIX.sub("", sentence, count=1)
    statement = without_own if content_words(without_own) else sentence
    most = max((piece.relevance for piece in evidence), default=0.0)
    judged: dict[int, SupportJudgement] = {}
    for piece in evidence:
        judgement = judge(statement, piece.text, question, titles.get(piece.source, ""))
        judgement = _weigh(judgement, piece.relevance, most)
        # Two strips of one piece have the same number; the one that backs the sentence better counts.
        other = judged.get(piece.n)
        if other is None or _RANKS.index(judgement.backing) < _RANKS.index(other.backing):
            judged[piece.n] = judgement
    relevance = {piece.n: piece.relevance for piece in evidence}
    ranked = sorted(judged, key=lambda n: (_RANKS.index(judged[n].backing), n not in cited, -judged[n].share))
    if not ranked or judged[ranked[0]].backing is Backing.NOT:
        why = judged[ranked[0]].why if ranked else _("there is no evidence")
        return Support(sentence, supported=False, citations=(), relevance=0.0, backing=Backing.NOT, why=why)
    best = judged[ranked[0]]
    own = tuple(n for n in cited if n in judged and judged[n].backing is best.backing) or (ranked[0],)
    most, supported = max(relevance[n] for n in own), best.backing is Backing.SUPPORTED
    return Support(sentence, supported, own, most, backing=best.backing, why=best.why)


def _weigh(judgement: SupportJudgement, relevance: float, most: float) -> SupportJudgement:
    """Return the judgement, one step lower if other evidence is far more relevant to the question.

    The evidence may state this about something else, such as the fee for a bicycle when the question is about a car.
    """
    if relevance >= RELEVANT_SHARE * most or judgement.backing is Backing.NOT:
        return judgement
    lower = _RANKS[_RANKS.index(judgement.backing) + 1]
    why = judgement.why or _("other evidence is far more relevant")
    return dataclasses.replace(judgement, backing=lower, why=why)


MISS_LOG_ODDS = 1.0
"""Minimum distance in log-odds from the best sentence down to an answer that misses the point. Of 36 fully backed
answers of the embedded model, 5 of the 8 beyond this distance were wrong, and 3 of the 28 within it
(docs/lab/evaluation.md)."""


def says_all(answer: str, best: Sequence[str], question: str) -> bool:
    """Return whether an answer has all the facts of these sentences, apart from facts in the question."""
    facts = {word for text in best for word in content_words(text)} - content_words(question)
    return facts <= content_words(answer)


def misses_the_point(answer: str, best: str, question: str, scorer: Scorer) -> bool:
    """Return whether `best`, a sentence of the evidence, helps to answer the question far more than the answer does.

    An answer with all the facts of `best` never misses the point, however short it is. Raises ModelError.
    """
    if says_all(answer, [best], question):
        return False
    logits = scorer.logits(question, [answer, best])
    same = np.zeros(2, dtype=np.float32)  # Cosine and overlap with the question do not count here.
    relevances = scorer.calibration.passages(logits, same, same).astype(np.float64)
    # Calibrated probabilities are above 0 and below 1, except for rounding.
    text, could_be = np.clip(relevances, 1e-6, 1 - 1e-6)
    return bool(np.log(could_be / (1 - could_be)) - np.log(text / (1 - text)) > MISS_LOG_ODDS)
