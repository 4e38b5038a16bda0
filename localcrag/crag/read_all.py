"""Read-all: answer from every passage, for complete lists and for summaries.

An ordinary answer is based on the passages found for it. "List all", "how many" and "every" ask for more than a few
passages contain, so the user can have all passages scored. The time this takes grows with the number of passages.

A summary is made from all passages of the documents it is about. Its sentences are chosen by their embeddings: a
sentence near the mean of its section's passages, and of its document's, says what most of them say (centroid-based
summaries: Radev et al. 2004, with the embeddings of Rossiello et al. 2017). A small language model would make things
up; a larger one writes its summary from these sentences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from localcrag.crag.answer import quotations
from localcrag.crag.answer.generate import GenerationTask
from localcrag.crag.answer.step import generate_and_verify
from localcrag.crag.context import EVERY_STEP, NO_STRIPS, AskedQuestion, Clock, Context, Flow
from localcrag.crag.evaluate import apply_policy, grade
from localcrag.crag.grading import best, unscored
from localcrag.crag.refine.refine import Refinement, recompose
from localcrag.crag.refine.step import scored_strips, strips_and_evidence
from localcrag.crag.refine.strips import count_words, passage_strip, split_into_strips
from localcrag.crag.retrieve import chunk_passages
from localcrag.crag.screen import injection
from localcrag.records.documents import Chunk, Document
from localcrag.records.enums import Action, Grade, Policy, Skill, StripMode, StripReason
from localcrag.records.errors import ModelError
from localcrag.records.events import Answered, Decided, Evaluated, Refined, Retrieved, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.protocols import ChunkStore, Embedder, Vectors
from localcrag.records.restriction import Restriction, SearchScope
from localcrag.records.run import StepCost, WebUse
from localcrag.text.question_form import asks_how_many, requested_topic, summary_subject
from localcrag.text.titles import SEPARATOR
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import content_words, split_words


def matching_documents(words: frozenset[str], context: Context) -> tuple[Document, ...]:
    """Return the documents whose name or title has all of `words`; without words, every searched document.

    Raises StoreError.
    """
    store, within = context.parts.store, context.within
    documents = [one for one in store.documents() if one.chunks and (within is None or one.id in within)]
    if not words or not documents:
        return tuple(documents)
    # One chunk of each document is enough to look up its title.
    found = store.documents_of(store.chunk_ids(within))
    first = {document: chunk for chunk, document in sorted(found.items(), reverse=True)}
    titles = store.titles(list(first.values()))
    return tuple(one for one in documents if words <= _words(one.name, titles.get(first.get(one.id, -1), "")))


def _words(name: str, title: str) -> frozenset[str]:
    """Return the words that name a document: the words of its title, and of its file name, whole and in parts."""
    file = name.rsplit("/", 1)[-1]
    parts = re.sub(r"[-_./]+", " ", file)
    return frozenset(word.lower() for text in (file, parts, title) for word in split_words(text))


SENTENCE_WORDS = (6, 60)
"""Minimum and maximum words of a sentence for a summary. Shorter ones are headings and names, longer ones tables and
lists."""
DOCUMENT_WEIGHT = 0.5
"""Weight of a sentence's cosine to the whole document, next to its cosine to the section."""
FIRST_SENTENCE_BONUS = 0.05
"""Bonus for the first sentence of a section, which tends to introduce the section."""
DUPLICATE_COSINE = 0.8
"""Cosine from which a second sentence adds nothing to the first."""

_RULED = re.compile(r"^[\s|:+-]*$|^\s*\|")
"""Table rows and ruled lines: they are not sentences."""


@dataclass(frozen=True, slots=True)
class Section:
    """Passages of a document under one heading.

    `nearest` are the ids of the chunks nearest to the section's mean, in reading order; `begins` is the id of its first
    chunk. `mean` is the mean of the section's passages, `document_mean` that of the whole document's: unit vectors,
    shape (dimension,).
    """

    nearest: tuple[int, ...]
    begins: int
    mean: Vectors
    document_mean: Vectors


def sections(ids: Sequence[int], store: ChunkStore, most: int, read: int) -> list[tuple[Section, int]]:
    """Return up to `most` sections of a document, in order, each with its share of `most` sentences.

    `ids` are the document's chunks. The longest sections are chosen, and from each the `read` chunks nearest to its
    mean.
    """
    vectors = store.vectors(ids)
    chunks = {chunk_id: chunk for chunk_id, (_, chunk) in store.chunks(ids).items() if chunk_id in vectors}
    if not chunks:
        return []
    groups = _groups(chunks, most)
    characters = [sum(len(chunks[chunk_id].text) for chunk_id in group) for group in groups]
    longest = sorted(range(len(groups)), key=lambda at: -characters[at])[:most]
    whole = sum(characters[at] for at in longest) or 1
    document_mean = _mean([vectors[chunk_id] for chunk_id in chunks])
    found = []
    for at in sorted(longest):
        mean = _mean([vectors[chunk_id] for chunk_id in groups[at]])
        near = sorted(groups[at], key=lambda chunk_id: -float(vectors[chunk_id] @ mean))[:read]
        share = max(1, round(most * characters[at] / whole))
        found.append((Section(tuple(sorted(near)), groups[at][0], mean, document_mean), share))
    return found


def central_sentences(
    passages: Sequence[GradedPassage], section: Section, most: int, embedder: Embedder
) -> list[Strip]:
    """Return the sentences of a section's passages, keeping up to `most` of them.

    The kept sentences are near the means of section and document, but not near each other.
    """
    cut = [(one, span) for one in passages for span in split_into_strips(one.text, StripMode.SENTENCE, window_words=0)]
    can = [n for n, (_, span) in enumerate(cut) if _is_prose_sentence(span.text)]
    chosen: list[int] = []
    if can:
        vectors = embedder.embed([cut[n][1].text for n in can])
        worth = vectors @ section.mean + DOCUMENT_WEIGHT * (vectors @ section.document_mean)
        if cut[can[0]][0].id == f"chunk-{section.begins}":
            worth[0] += FIRST_SENTENCE_BONUS
        # The best sentence comes first, and a sentence that repeats a chosen one is skipped.
        for place in np.argsort(-worth):
            if len(chosen) == most:
                break
            if all(float(vectors[place] @ vectors[other]) < DUPLICATE_COSINE for other in chosen):
                chosen.append(int(place))
    kept = {can[place] for place in chosen}
    fates = (StripReason.NOT_CENTRAL, StripReason.CENTRAL)
    return [passage_strip(one, (span.start, span.end), fates, kept=n in kept) for n, (one, span) in enumerate(cut)]


def _groups(chunks: dict[int, Chunk], most: int) -> list[list[int]]:
    """Return the chunks grouped by their headings, or in equal parts if they have no headings.

    The groups use the fewest levels of headings that distinguish two sections.
    """
    paths = {chunk_id: (chunk.section or "").split(SEPARATOR) for chunk_id, chunk in chunks.items()}
    ordered = sorted(chunks)
    for level in range(1, max(map(len, paths.values())) + 1):
        groups = [list(group) for _, group in groupby(ordered, key=lambda one: tuple(paths[one][:level]))]
        if len(groups) > 1:
            return groups
    size = max(1, -(-len(ordered) // most))
    return [ordered[at : at + size] for at in range(0, len(ordered), size)]


def _mean(vectors: Sequence[Vectors]) -> Vectors:
    """Return the mean of vectors as a unit vector, or the first vector if they cancel out."""
    mean = np.mean(np.stack(vectors), axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length if length else vectors[0], dtype=np.float32)


def _is_prose_sentence(text: str) -> bool:
    least, most = SENTENCE_WORDS
    return least <= count_words(text) <= most and not _RULED.match(text) and not text.startswith("#")


SENTENCES = 12
"""Number of sentences in a summary, divided among its documents."""
MAX_DOCUMENTS = 24
"""Maximum number of documents in one summary, with one sentence each; nobody reads a longer list."""
SECTION_PASSAGES = 4
"""Passages of a section whose sentences are candidates: those nearest to the section's mean."""


def summarise(asked: AskedQuestion, context: Context) -> Flow[bool]:
    """Answer a request to summarise documents. Return whether the question was one. Raises ModelError, StoreError."""
    words = summary_subject(asked.question)
    meant = matching_documents(words, context) if words is not None else ()
    if not meant:
        return False
    clock = context.clock("summarise")
    yield StepStarted("summarise", _("choosing the key sentences"))
    documents = sorted(meant, key=lambda document: -document.characters)[:MAX_DOCUMENTS]
    if len(documents) < len(meant):
        yield Warned(
            _("Only the %(most)s longest of %(number)s documents are summarised. To choose others, use “Ask only "
            "these” or --document.", number=len(meant), most=MAX_DOCUMENTS)
        )  # fmt: skip
    chosen = [document.id for document in meant if document in documents]
    passages, strips, read = _choose_sentences(asked, chosen, context)
    if not strips:
        return False  # All lines are too short: the question is answered like any other.
    scope = replace(context.scope, passages=read, read=read, whole=True, documents=len(documents))
    if words or len(documents) < len(meant):
        scope = replace(scope, restriction=Restriction(documents=tuple(sorted(one.name for one in documents))))
    yield Retrieved((), StepCost("retrieve", 0.0), scope)
    yield Evaluated(passages, StepCost("evaluate", 0.0))
    rule = _("a summary: sentences that stand for all %(number)s passages", number=read)
    yield Decided(asked.question, Action.CORRECT, Policy.MAX, rule, StepCost("decide", 0.0))
    yield from injection.screen(passages, context.parts.rules)
    refinement = Refinement(strips, *recompose(injection.screened(passages, context.parts.rules), strips))
    yield Refined(refinement.strips, refinement.evidence, refinement.sources, clock.cost())
    task = GenerationTask(asked, refinement, (), passages, passages, WebUse())
    # A model that cannot be trusted alone would make things up: the sentences are quoted instead.
    if Skill.ALONE in context.parts.skills:
        yield from generate_and_verify(task, context)
        return True
    intro = ngettext(
        "Key sentences of %(num)s passage, in its own words:",
        "Key sentences of %(num)s passages, in their own words:",
        read,
    )
    shown = quotations.render(quotations.all_quotations(task, context), refinement.sources)
    yield Answered(f"{intro}\n\n{shown}", abstained=False)
    return True


def _choose_sentences(
    asked: AskedQuestion, documents: Sequence[int], context: Context
) -> tuple[tuple[GradedPassage, ...], tuple[Strip, ...], int]:
    """Return the passages that the summary quotes, their sentences, and how many passages the documents have."""
    parts, read = context.parts, 0
    (vector,) = parts.embedder.embed_questions([asked.question])
    each = max(1, SENTENCES // len(documents))
    kept: list[GradedPassage] = []
    strips: list[Strip] = []
    for document in documents:
        ids = parts.store.chunk_ids({document})
        read += len(ids)
        for section, most in sections(ids, parts.store, each, SECTION_PASSAGES):
            found = chunk_passages(section.nearest, asked.question, vector, parts.store)
            graded = unscored(injection.screened(found, parts.rules), thresholds=context.thresholds)
            own = central_sentences(graded, section, most, parts.embedder)
            strips += own
            cited = {strip.passage for strip in own if strip.kept}
            as_found = injection.restore_texts(graded, found)
            kept += [passage for passage in as_found if passage.id in cited]
    there = {passage.id for passage in kept}
    return tuple(kept), tuple(strip for strip in strips if strip.passage in there), read


def list_findings(task: GenerationTask, context: Context, scope: SearchScope) -> str:
    """Return the evidence of all passages, laid out: what answers, what may answer, and what only has the words.

    No language model is used, because it could leave out exactly what the user wanted all passages read for.
    """
    grades = {passage.id: passage.grade for passage in task.used}
    shown = quotations.make_quotations(task.evidence, task, context) or quotations.all_quotations(task, context)
    sure = [one for one in shown if grades.get(one.piece.passage) is Grade.CORRECT]
    worded = [one for one in shown if grades.get(one.piece.passage) is Grade.INCORRECT]
    doubtful = [one for one in shown if one not in sure and one not in worded]
    text = ngettext("%(num)s place answers the question:", "%(num)s places answer the question:", len(sure))
    if asks_how_many(task.asked.standalone):
        text = _("%(places)s These are mentions, not items; one item may be mentioned twice.", places=text)
    also = ngettext("%(num)s more place may be relevant:", "%(num)s more places may be relevant:", len(doubtful))
    if not sure:
        also = ngettext(
            "No passage is certain to answer the question. %(num)s place may:",
            "No passage is certain to answer the question. %(num)s places may:",
            len(doubtful),
        )
    stand = ngettext(
        "The question's words also appear in %(num)s place:",
        "The question's words also appear in %(num)s places:",
        len(worded),
    )
    parts = [_coverage(scope)]
    for intro, some in ((text, sure), (also, doubtful), (stand, worded)):
        if some:
            parts += [intro, quotations.render(some, task.refinement.sources, titled=scope.documents > 1)]
    return "\n\n".join(parts)


def no_findings(question: str, nearest: Sequence[GradedPassage], context: Context, scope: SearchScope) -> str:
    """Return a text that no passage answers the question, followed by the nearest passages."""
    if not nearest:
        return quotations.empty_collection_answer(context.settings)
    passages = injection.screened(nearest, context.parts.rules)
    shown = quotations.nearest_answer(question, passages, context.thresholds.lower * quotations.NEAR_SHARE)
    return f"{_coverage(scope)} {_('None answers the question.')}\n\n{shown}"


def _coverage(scope: SearchScope) -> str:
    if scope.read < scope.passages:
        return _("%(read)s of %(all)s passages were read.", read=scope.read, all=scope.passages)
    documents = ngettext("%(num)s document", "%(num)s documents", scope.documents)
    return ngettext(
        "%(num)s passage, all of %(documents)s, was read.",
        "All %(num)s passages of %(documents)s were read.",
        scope.passages,
        documents=documents,
    )


BATCH_SIZE = 8
"""Passages in a batch. Between two batches the progress is shown, the user can stop, and another question can go
first."""
MAX_PASSAGES = 100
"""Maximum number of relevant passages to keep; more are not an answer, and the app cannot show them."""


@dataclass(frozen=True, slots=True)
class _Findings:
    """Result of a pass over all passages.

    `relevant` are the relevant passages and `strips` their strips; `worded` are other passages with the question's
    words. All three are in reading order. `nearest` are the best of all passages, and `read` is the number of passages
    examined.
    """

    relevant: tuple[GradedPassage, ...]
    strips: tuple[Strip, ...]
    worded: tuple[GradedPassage, ...]
    nearest: tuple[GradedPassage, ...]
    read: int


def read_all(asked: AskedQuestion, context: Context) -> Flow[bool]:
    """Answer from all passages if the user chose that, or asks for a summary. Return whether it did.

    For any other question it yields at most a warning that the reranker failed. Raises StoreError, and ModelError if a
    summary fails.
    """
    if context.steps != EVERY_STEP:
        return False
    if (yield from summarise(asked, context)):
        return True
    if not context.read_all:
        return False
    clock = context.clock("evaluate")
    try:
        found = yield from _score_all(asked.standalone, context, clock)
    except ModelError as error:
        yield Warned(_("The documents could not be read through: %(error)s", error=error))
        return False
    yield from _answer(asked, found, context, clock)
    return True


def wordings(question: str) -> tuple[str, ...]:
    """Return the texts that all passages are scored against.

    No passage answers “list all deadlines”, so its topic is used in two forms: “deadlines”, “What are the deadlines?”.
    """
    topic = requested_topic(question)
    return (topic, f"What are the {topic}?") if topic else (question,)


def _score_all(question: str, context: Context, clock: Clock) -> Flow[_Findings]:
    """Score all passages and report the progress. Raises ModelError and StoreError."""
    ids = context.parts.store.chunk_ids(context.within)
    vectors = context.parts.embedder.embed_questions(wordings(question))
    relevant: list[GradedPassage] = []
    strips: list[Strip] = []
    worded: list[GradedPassage] = []
    nearest: tuple[GradedPassage, ...] = ()
    read = 0
    for at in range(0, len(ids), BATCH_SIZE):
        if context.budget.spent(NO_STRIPS):
            why = context.budget.exhaustion_reason
            yield Warned(_("Only %(done)s of %(all)s passages were read: %(why)s.", done=read, all=len(ids), why=why))
            break
        doing = _progress(at, len(ids), clock.cost().seconds)
        with clock.paused():  # Another question may go first; its time does not count.
            yield StepStarted("evaluate", doing)
        graded = yield from _grade_batch(question, ids[at : at + BATCH_SIZE], vectors, context, clock)
        now = [passage for passage in graded if passage.grade is not Grade.INCORRECT]
        relevant += now
        # Score the strips of passages right after reading them: the model still has these in its cache. Scoring all at
        # the end would take as long again, and no other question could go first.
        strips += scored_strips(wordings(question)[-1], now, context)
        # Passages that are graded incorrect although they have all words of the question.
        worded += [passage for passage in graded if passage.grade is Grade.INCORRECT and passage.overlap == 1.0]
        nearest = best((*nearest, *graded), context.settings.k)
        read += len(graded)
    number = len(relevant) + len(worded)
    if number > MAX_PASSAGES:
        yield Warned(
            _("%(number)s passages are relevant or contain the question's words; the answer below uses %(most)s of "
            "them. Narrow the question, or ask fewer documents.", number=number, most=MAX_PASSAGES)
        )  # fmt: skip
    kept = _most_relevant(relevant, MAX_PASSAGES)
    ids_kept = {passage.id for passage in kept}
    kept_strips = tuple(strip for strip in strips if strip.passage in ids_kept)
    return _Findings(kept, kept_strips, _most_relevant(worded, MAX_PASSAGES - len(kept)), nearest, read)


def _grade_batch(
    question: str, ids: Sequence[int], vectors: Vectors, context: Context, clock: Clock
) -> Flow[list[GradedPassage]]:
    """Return graded passages, each by the wording that fits it best. Raises ModelError and StoreError."""
    graded: dict[str, GradedPassage] = {}
    for wording, vector in zip(wordings(question), vectors, strict=True):
        found = chunk_passages(ids, wording, vector, context.parts.store)
        for passage in (yield from grade(wording, found, context, clock)):
            before = graded.get(passage.id, passage)
            graded[passage.id] = max(before, passage, key=lambda either: either.relevance)
    return list(graded.values())


def _most_relevant(passages: Sequence[GradedPassage], most: int) -> tuple[GradedPassage, ...]:
    """Return the `most` most relevant passages, in the order given."""
    order = sorted(range(len(passages)), key=lambda at: -passages[at].relevance)[:most]
    return tuple(passages[at] for at in sorted(order))


def _progress(done: int, number: int, seconds: float) -> str:
    """Return the progress of the pass in words, with the remaining time once it can be estimated."""
    if not done:
        return ngettext("reading %(num)s passage", "reading all %(num)s passages", number)
    left = max(1, round(seconds / done * (number - done)))
    return _("reading: %(done)s of %(all)s passages, about %(left)s s left", done=done, all=number, left=left)


def _answer(asked: AskedQuestion, found: _Findings, context: Context, clock: Clock) -> Flow[None]:
    """Yield the events of the pass and the answer: all relevant lines of the sources."""
    question = asked.standalone
    scope = replace(context.scope, read=found.read, whole=True)
    yield Retrieved((), StepCost("retrieve", 0.0), scope)
    kept = (*found.relevant, *found.worded)
    judged = kept or found.nearest
    yield Evaluated(judged, clock.cost())
    action, why = apply_policy(judged, policy=Policy.MAX, thresholds=context.thresholds, enough_relevant=0.0)
    number = len(found.relevant)
    rule = _("all passages read, %(number)s of %(all)s relevant; %(why)s", number=number, all=found.read, why=why)
    yield Decided(question, action, Policy.MAX, rule, StepCost("decide", 0.0))
    yield from injection.screen(judged, context.parts.rules)
    if not kept:
        yield Answered(no_findings(question, found.nearest, context, scope), abstained=True)
        return
    refinement = yield from _refine_findings(question, found, context)
    task = GenerationTask(asked, refinement, (), kept, kept, WebUse())
    yield Answered(list_findings(task, context, scope), abstained=False, uncertain=action is not Action.CORRECT)


def _refine_findings(question: str, found: _Findings, context: Context) -> Flow[Refinement]:
    """Yield Refined, and return strips and evidence.

    Relevant passages keep the strips that answer the question; the others keep the strips with its words.
    """
    clock, rules = context.clock("refine"), context.parts.rules
    with clock.paused():
        yield StepStarted("refine", _("keeping the sentences that matter"))
    relevant, worded = (injection.screened(some, rules) for some in (found.relevant, found.worded))
    strips: tuple[Strip, ...] = ()
    if relevant:
        made = yield from strips_and_evidence(wordings(question)[-1], relevant, context, clock, found.strips)
        strips = made.strips
    words = content_words(requested_topic(question) or question)
    strips += tuple(strip for passage in worded for strip in _keyword_strips(passage, words))
    evidence, sources = recompose((*relevant, *worded), strips)
    text = injection.add_removed_strips(strips, (*found.relevant, *found.worded), rules)
    yield Refined(text, evidence, sources, clock.cost())
    return Refinement(strips, evidence, sources)


def _keyword_strips(passage: GradedPassage, words: Collection[str]) -> list[Strip]:
    """Return the strips of a passage, keeping those with one of `words`, or all if only its headings have them."""
    cut = split_into_strips(passage.text, StripMode.SENTENCE, window_words=0)
    has = [bool(content_words(span.text).intersection(words)) for span in cut]
    fates = (StripReason.BELOW, StripReason.HAS_WORDS)
    places = [(span.start, span.end) for span in cut]
    kept = has if any(has) else [True] * len(cut)
    return [passage_strip(passage, place, fates, kept=keep) for place, keep in zip(places, kept, strict=True)]
