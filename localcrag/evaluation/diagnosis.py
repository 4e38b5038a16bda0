"""Outcomes of questions, and where the answers that are missing were lost.

Outcomes are of questions with labelled whole answers, counted as a reader would. A string somewhere in a long answer is
not an answer: of 48 answers with every string, a reader found 37 right. So an answer is right if it contains all
strings near its beginning.

Causes are found by rules: the first step at which a question's accepted answer was lost. An accepted string is followed
through the passages, the evidence, the model's text and the answer. The rules do not recognise the same meaning in
other words. So a cause shows where to look first; it is not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from localcrag.crag.grading import is_scored
from localcrag.evaluation import metrics
from localcrag.evaluation.metrics import contains_answer
from localcrag.evaluation.results import Evaluation
from localcrag.records.enums import Action, Backing, Grade, Origin
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import GradedPassage, Source
from localcrag.records.run import Run
from localcrag.records.wording import compare_with_thresholds, split_source_words
from localcrag.text.places import SheetRow, place_name

FIRST_WORDS = 60
"""Words at the beginning of an answer that a reader takes as the answer, if it rests on a line or two."""
WORDS_PER_NEEDED_WORD = 1.5
"""The same for an answer that rests on many lines, such as a list, per word of these lines."""
NEEDED_SHARE = 0.9
"""Share of a needed line's words that a passage with the line contains; the others may be markup or hyphenated."""
SHORTEST_STEM = 4
"""Letters that the last word of a string needs so that a longer word contains it."""
_WORD = re.compile(r"\S*\w\S*")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_CENTS = re.compile(r"(?<=\d)\.00$")
_LIST_MARK = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+", re.MULTILINE)


class Outcome(StrEnum):
    """What became of a question."""

    RIGHT = "right"
    PARTLY = "partly right"
    WRONG = "wrong as sure"
    REFUSED = "refused"
    UNANSWERED = "rightly unanswered"
    INVENTED = "answered though nothing answers"


def outcome_of(question: Question, run: Run) -> Outcome:
    """Return what became of a question: one with `all_of`, or one that nothing answers."""
    if not question.answers:
        return Outcome.INVENTED if run.answered else Outcome.UNANSWERED
    if not run.answered:
        return Outcome.REFUSED
    text = metrics.answer_text(run)
    first = beginning(split_source_words(text)[0], question)
    if all(says(first, item) for item in question.all_of):
        return Outcome.RIGHT
    return Outcome.PARTLY if any(says(text, item) for item in question.all_of) else Outcome.WRONG


def says(text: str, alternatives: Sequence[str]) -> bool:
    """Return whether a text contains one of the strings, word by word; numbers of list items do not count.

    “70min” says “70 minutes” in part and contains “70”, “1,045” is “1045”, “$25.00” is “25”, and the last word may go
    on: “refrigerator” contains “refriger”.
    """
    words = _words(_LIST_MARK.sub("", text))
    return any(_follow(words, _words(one)) for one in alternatives)


def _words(text: str) -> list[str]:
    words = (word.replace(",", "") if _THOUSANDS.fullmatch(word) else word for word in _TOKEN.findall(text.lower()))
    return [_CENTS.sub("", word) for word in words]


def _follow(words: Sequence[str], wanted: Sequence[str]) -> bool:
    *before, last = wanted
    stem = len(last) >= SHORTEST_STEM and last.isalpha()
    return any(
        words[at : at + len(before)] == before
        and (words[at + len(before)] == last or (stem and words[at + len(before)].startswith(last)))
        for at in range(len(words) - len(before))
    )


def beginning(text: str, question: Question) -> str:
    """Return the part of an answer that a reader takes as the answer to the question; bars of tables are no words."""
    needed = sum(len(line.split()) for line in question.needed)
    words = max(FIRST_WORDS, round(WORDS_PER_NEEDED_WORD * needed))
    found = list(_WORD.finditer(text))
    return text if len(found) <= words else text[: found[words - 1].end()]


def is_whole(question: Question, run: Run) -> bool:
    """Return whether a sure answer contains all strings of a whole answer, wherever they stand."""
    return run.answered and all(says(metrics.answer_text(run), item) for item in question.all_of)


def needed_found(question: Question, run: Run) -> bool | None:
    """Return whether all lines that the answer rests on are in the passages; None if none are labelled."""
    if not question.needed:
        return None
    passages = [set(metrics.normalised(f"{passage.title} {passage.text}").split()) for passage in run.passages]
    lines = [metrics.normalised(line).split() for line in question.needed]
    return all(
        any(sum(word in words for word in line) >= NEEDED_SHARE * len(line) for words in passages) for line in lines
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Counts of a group of questions under a configuration.

    `words` is the median number of words shown first, in answers with all strings.
    """

    group: str
    answerable: int = 0
    right: int = 0
    whole: int = 0
    partly: int = 0
    wrong: int = 0
    sure_without: int = 0
    refused: int = 0
    labelled_needed: int = 0
    needed_found: int = 0
    unanswerable: int = 0
    invented: int = 0
    words: int | None = None

    @property
    def sure(self) -> int:
        """Number of answerable questions that were answered as if sure."""
        return self.answerable - self.refused


def count_outcomes(pairs: Sequence[tuple[Question, Run]], group: str) -> OutcomeCounts:
    """Return the outcomes of questions that have `all_of`, and of those that nothing answers."""
    labelled = [(question, run) for question, run in pairs if question.all_of]
    outcomes = [outcome_of(question, run) for question, run in labelled]
    whole = [is_whole(question, run) for question, run in labelled]
    nothing = [run for question, run in pairs if not question.answers]
    lengths = sorted(
        len(split_source_words(metrics.answer_text(run))[0].split())
        for (_, run), right in zip(labelled, whole, strict=True)
        if right
    )
    found = [one for question, run in labelled if (one := needed_found(question, run)) is not None]
    refused = outcomes.count(Outcome.REFUSED)
    return OutcomeCounts(
        group=group,
        answerable=len(labelled),
        right=outcomes.count(Outcome.RIGHT),
        whole=sum(whole),
        partly=outcomes.count(Outcome.PARTLY),
        wrong=outcomes.count(Outcome.WRONG),
        sure_without=len(labelled) - refused - sum(whole),
        refused=refused,
        labelled_needed=len(found),
        needed_found=sum(found),
        unanswerable=len(nothing),
        invented=sum(run.answered for run in nothing),
        words=lengths[len(lengths) // 2] if lengths else None,
    )


def outcome_groups(evaluation: Evaluation, configuration: str) -> list[OutcomeCounts]:
    """Return the outcomes of all questions, of each set, and of each tag; empty if no question has `all_of`."""
    pairs = evaluation.pairs(configuration)
    if not any(question.all_of for question, _ in pairs):
        return []
    groups = {"all": pairs}
    if len(evaluation.about.sets) > 1:
        for used in evaluation.about.sets:
            groups[used.name] = [pair for pair in pairs if pair[0].id.startswith(f"{used.name}/")]
    for tag in sorted({tag for question, _ in pairs for tag in question.tags}):
        groups[tag] = [pair for pair in pairs if tag in pair[0].tags]
    return [count_outcomes(of, group) for group, of in groups.items()]


OUTCOME_HEADINGS = (
    "group", "answerable", "right", "all strings", "sure without", "refused", "lines found", "unanswerable", "invented",
    "words",
)  # fmt: skip
"""Headings of a table of outcomes."""


def outcome_row(counts: OutcomeCounts) -> list[str]:
    """Return the cells of a group: shares with their number, under OUTCOME_HEADINGS."""
    return [
        counts.group,
        str(counts.answerable),
        _share(counts.right, counts.answerable),
        _share(counts.whole, counts.answerable),
        _share(counts.sure_without, counts.sure),
        _share(counts.refused, counts.answerable),
        _share(counts.needed_found, counts.labelled_needed),
        str(counts.unanswerable),
        _share(counts.invented, counts.unanswerable),
        "–" if counts.words is None else str(counts.words),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part})" if whole else "–"


MIN_SHARED_F1 = 0.5
"""Minimum token F1 for an answer without an accepted string to count as possibly right ("5 May" for "May 5, 1990")."""


class Cause(StrEnum):
    """The place where an answer was lost, in the order of the flow; INVENTED if there was no answer to lose."""

    GOLD = "gold questionable"
    RETRIEVAL = "retrieval missed"
    EVALUATOR = "evaluator misjudged"
    WEB = "web missed"
    STRIP = "strip dropped the answer"
    GENERATOR = "generator ignored the evidence"
    VERIFY = "verify took it out"
    ABSTAINED = "abstained though evidence held it"
    INVENTED = "invented"


MEANING = {
    Cause.GOLD: "the answer shares most of its words with an accepted one, or a document named for the question backs "
    "it in full, but no accepted string is in it",
    Cause.RETRIEVAL: "no passage of the documents that was retrieved holds an accepted string",
    Cause.EVALUATOR: "a passage holds it, but was graded incorrect or left out by the action; or CORRECT was decided "
    "where the documents do not answer",
    Cause.WEB: "only the web holds it, and no web result that was used does",
    Cause.STRIP: "a passage that was used holds it, the evidence made of it does not",
    Cause.GENERATOR: "the evidence holds it, what the model wrote does not",
    Cause.VERIFY: "the model wrote it, and it was removed as unsupported",
    Cause.ABSTAINED: "the evidence holds it, and no answer was given, or an uncertain one",
    Cause.INVENTED: "answered, though neither documents nor web hold an answer",
}
"""Definitions of the causes."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The cause of a wrong outcome, and its details in words."""

    cause: Cause
    why: str


def is_right(question: Question, run: Run) -> bool:
    """Return whether an accepted answer was given, or an unanswerable question was left unanswered."""
    if question.held_by is AnswerLocation.NOWHERE:
        return not run.answered
    return bool(metrics.answer_match(question, run))


def diagnose(question: Question, run: Run) -> Loss | None:
    """Return what went wrong; None if the answer is right."""
    if is_right(question, run):
        return None
    if question.held_by is AnswerLocation.NOWHERE:
        return _invented(run)
    if why := _questionable(question, run):
        return Loss(Cause.GOLD, why)
    return _trace_answer(question, run)


def _trace_answer(question: Question, run: Run) -> Loss:
    """Follow the accepted strings through the run, and return where they were lost."""
    holding = [passage for passage in run.passages if contains_answer(passage.text, question.answers)]
    if not holding:
        return _loss_without_passage(question, run)
    used_ids = {strip.passage for strip in run.strips} | {piece.passage for piece in run.evidence}
    used = [passage for passage in holding if passage.id in used_ids]
    if not used:
        return Loss(Cause.EVALUATOR, _why_unused(max(holding, key=lambda passage: passage.relevance), run))
    if not any(contains_answer(piece.text, question.answers) for piece in run.evidence):
        return Loss(Cause.STRIP, _why_dropped(question, run))
    return _missing_from_answer(question, run)


def severity(question: Question, run: Run, loss: Loss) -> tuple[float, ...]:
    """Return a sort key that puts the worst questions first.

    Wrong and made-up answers come before needless abstentions. Within each kind, answers that nothing marks as doubtful
    come first, and losses that may be a label's error come last. Ties are sorted by relevance, highest first.
    """
    marked = not _shown_as_certain(run) if question.answers else not metrics.unmarked_invention(question, run)
    return not run.answered, loss.cause is Cause.GOLD, marked, -(run.max_relevance or 0.0)


def _invented(run: Run) -> Loss:
    if run.action is Action.CORRECT:
        return Loss(Cause.EVALUATOR, f"CORRECT was decided where nothing answers: {run.rule}")
    decided = f"{run.action}: {run.rule}; " if run.action else ""
    number = len(run.evidence)
    return Loss(Cause.INVENTED, f"{decided}answered from {number} piece{'' if number == 1 else 's'} of evidence")


def _questionable(question: Question, run: Run) -> str | None:
    """Return why the accepted answers, rather than the run, may be wrong; None if nothing suggests it."""
    if not run.answered:
        return None
    if (shared := metrics.token_f1(question, run) or 0.0) >= MIN_SHARED_F1:
        return f"the answer shares words with an accepted one (token F1 {shared:.2f})"
    if any(contains_answer(passage.text, question.answers) for passage in run.passages):
        return None
    sources = {source.id: source for source in run.sources}
    backing = {piece.n: sources[piece.source].document for piece in run.evidence if piece.source in sources}
    named = {
        document
        for support in run.support
        if support.shown and support.backing is Backing.SUPPORTED
        for n in support.citations
        if (document := backing.get(n)) in question.documents
    }
    if named and run.action is Action.CORRECT:
        return f"{', '.join(sorted(filter(None, named)))} backs the answer in full, in other words than the accepted"
    return None


def _loss_without_passage(question: Question, run: Run) -> Loss:
    if question.held_by is AnswerLocation.DOCUMENTS:
        return Loss(Cause.RETRIEVAL, _describe_retrieval(question, run))
    if run.action is Action.CORRECT:
        return Loss(Cause.EVALUATOR, f"CORRECT was decided where only the web answers: {run.rule}")
    if run.web.error:
        return Loss(Cause.WEB, f"the web could not be asked: {run.web.error}")
    if not run.web.used:
        return Loss(Cause.WEB, "the web was not asked")
    return Loss(Cause.WEB, f"none of {len(run.web.results)} web results for “{run.web.query}” holds it")


def _describe_retrieval(question: Question, run: Run) -> str:
    if not question.documents:
        return f"none of {len(run.passages)} passages holds an accepted string"
    names = ", ".join(question.documents)
    found = sum(passage.document in question.documents for passage in metrics.local(run))
    if not found:
        return f"no passage of {names} was retrieved"
    return f"{found} of {len(metrics.local(run))} passages are of {names}, and none of them holds an accepted string"


def _why_unused(passage: GradedPassage, run: Run) -> str:
    where = place_in_source(passage, passage.rows)
    if passage.grade is Grade.INCORRECT:
        why = compare_with_thresholds(passage.relevance, run.thresholds)
        return f"{where} holds it, and was graded incorrect: {why}"
    if passage.origin is Origin.LOCAL and run.action is Action.INCORRECT:
        return f"{where} holds it, and INCORRECT was decided: {run.rule}"
    return f"{where} holds it, and was not used ({run.action}: {run.rule})"


def place_in_source(one: Source | GradedPassage, rows: Sequence[SheetRow]) -> str:
    """Return where a text is from: a place in a document, or the title or address of a web page."""
    if one.origin is Origin.WEB or one.document is None:
        return f"web: {one.title or one.url or ''}"
    return place_name(one.document, one.page, rows)


def _why_dropped(question: Question, run: Run) -> str:
    lost = [strip for strip in run.strips if contains_answer(strip.text, question.answers)]
    if not lost:
        return "it stands across strips, of which one was dropped"
    best = max(lost, key=lambda strip: strip.relevance)
    if best.kept:
        return "its piece of evidence was left out where documents and web contradict each other"
    return f"{best.reason or 'dropped'}, relevance {best.relevance:.2f}"


def _missing_from_answer(question: Question, run: Run) -> Loss:
    if any(not support.shown and contains_answer(support.sentence, question.answers) for support in run.support):
        why = "; ".join(dict.fromkeys(support.why for support in run.support if not support.shown and support.why))
        return Loss(Cause.VERIFY, why or "removed")
    if not run.answered:
        return Loss(Cause.ABSTAINED, _why_unanswered(run))
    pieces = [piece.n for piece in run.evidence if contains_answer(piece.text, question.answers)]
    return Loss(Cause.GENERATOR, f"evidence {', '.join(map(str, pieces))} of {len(run.evidence)} holds it")


def _why_unanswered(run: Run) -> str:
    if not run.without_answer:
        return "answered, and said to be uncertain"
    if run.support:
        return "nothing that the model wrote was supported"
    asked = "generate" in {step.name for step in run.steps}
    return "the model said that it found none" if asked else "too doubtful to have an answer written"


def _shown_as_certain(run: Run) -> bool:
    shown = [support for support in run.support if support.shown]
    return run.answered and (not shown or any(support.backing is Backing.SUPPORTED for support in shown))


def best_passage(run: Run, answers: Sequence[str]) -> GradedPassage | None:
    """Return the passage to show: the most relevant one or, without scores, the first with an answer."""
    if not run.passages:
        return None
    if is_scored(run.passages):
        return max(run.passages, key=lambda passage: passage.relevance)
    return next((passage for passage in run.passages if contains_answer(passage.text, answers)), run.passages[0])
