"""Quotations: answers made of the sources' own sentences, next to a written answer or in its place.

A small model writes one sentence even if a list is needed; the sources contain the complete list in order.

The lead of an answer are the lines of the sources that answer best, which are shown first. A line is chosen by the
reranker's score within its passage, by the words of the question that it contains, and by whether it has a number if
one is asked for. A line that only leads to others ("You can use:") is shown with them.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePath

from localcrag.crag.answer import layout
from localcrag.crag.answer.generate import Certainty, GenerationTask
from localcrag.crag.answer.layout import Fragment
from localcrag.crag.answer.verify import says_all
from localcrag.crag.context import EVERY_STEP, Context
from localcrag.crag.grading import nearest_passages
from localcrag.crag.refine.completeness import names_row
from localcrag.crag.refine.refine import QUOTED_SHARE, single_strip
from localcrag.crag.refine.strips import count_words, split_into_strips
from localcrag.crag.screen import injection
from localcrag.records.enums import Grade, Origin, Skill, StripMode
from localcrag.records.passages import NEVER_KEPT, Evidence, GradedPassage, Source, Strip, strips_by_piece
from localcrag.records.run import WebUse
from localcrag.records.wording import NOT_ASKED
from localcrag.settings import Settings
from localcrag.text.blocks import BlockKind, split_blocks
from localcrag.text.places import page_name, row_names
from localcrag.text.quantities import comparable_moments
from localcrag.text.question_form import asks_for_list, asks_for_number, asks_how, asks_two_things, needs_inference
from localcrag.text.sentences import Span
from localcrag.text.titles import SEPARATOR
from localcrag.text.translation import gettext as _
from localcrag.text.words import content_words, one_line, overlap, split_words

MAX_WORDS = 220
"""Maximum number of quoted words. Pieces are shown whole, and the most relevant piece in any case."""
SHOWN_SHARE = 0.2
"""Share of the best piece's relevance below which a piece is left out as irrelevant."""

_NUMBERED = re.compile(r"(?:^|(?<=\s))(\d{1,2})[.)](?=\s+\w)")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A piece of evidence with the fragments that it is shown as."""

    piece: Evidence
    fragments: tuple[Fragment, ...]

    @property
    def body(self) -> list[str]:
        """Texts of the fragments, without headings."""
        return [one.text for one in self.fragments if one.kind is not BlockKind.HEADING]


def select_quotations(
    task: GenerationTask, context: Context, without: Collection[int] = (), text: str = ""
) -> list[Quotation]:
    """Return the evidence of passages that are CORRECT, the most relevant first, up to MAX_WORDS.

    Pieces with the form that the question asks for come first: a list if it asks how, or for several things. If the
    evidence is doubtful, the best strips are used instead; if no passage could be graded, all evidence is. `without`
    are the numbers of evidence that the answer already has. `text` is the text above; pieces that it contains word for
    word are left out.
    """
    relevance = {passage.id: passage.relevance for passage in task.used}
    pieces: Sequence[Evidence] = task.evidence
    if task.certainty is Certainty.DOUBTFUL:
        pieces = task.best_quotations
    elif correct := {passage.id for passage in task.used if passage.grade is Grade.CORRECT}:
        # A correct passage has no piece if its words were kept as part of a less certain passage; then all pieces are
        # used.
        pieces = [piece for piece in pieces if piece.passage in correct] or pieces
    pieces = [piece for piece in pieces if piece.n not in without]
    best = max((piece.relevance for piece in pieces), default=0.0)
    # A comparison needs both sides, even if one of them hardly resembles the question.
    least = 0.0 if needs_inference(task.asked.standalone) else SHOWN_SHARE * best
    shown = make_quotations([piece for piece in pieces if piece.relevance >= least], task, context, text)

    def rank(one: Quotation) -> tuple[bool, float, int]:
        fits = one.piece.relevance >= QUOTED_SHARE * best and has_asked_form(one, task.asked.standalone)
        return not fits, -relevance.get(one.piece.passage, 0.0), one.piece.n

    chosen: list[Quotation] = []
    words = 0
    for one in sorted(shown, key=rank):
        more = count_words(one.piece.text)
        if not chosen or words + more <= MAX_WORDS:
            chosen.append(one)
            words += more
    return chosen


LEAD_WORDS = 60
"""Maximum number of words of a lead; the best line is shown in any case."""
MOST_LINES, MARGIN = 2, 2.0
"""Number of lines to choose, and distance in log-odds from the best line within which others are chosen."""
MOST_LINES_OF_SEVERAL, MARGIN_OF_SEVERAL = 5, 4.0
"""The same if the question asks for several things."""
NUMBER_LOG_ODDS = 2.0
"""What a number that the question does not contain adds to a line's log-odds, if a number is asked for."""
WORDS_LOG_ODDS = 3.0
"""What all words of the question together add to a line's log-odds, each weighted by its inverse frequency."""
ROW_LOG_ODDS = 3.0
"""What it adds to a row's log-odds that the question names it."""
FRAGMENT_WORDS, UNIT_WORDS = 5, 35
"""Number of words below which a line needs those that follow, and maximum number of words of both together.

These numbers were chosen on the sets `a` and `b` of docs/lab/real-documents.md."""
_FIGURE = re.compile(r"\d[\d.,:/]*")


def lead_lines(task: GenerationTask, context: Context) -> list[Quotation]:
    """Return the lines that answer best, the best one first, each as a quotation of its own.

    If the question asks for several things, they are in the order of their passages.
    """
    question = task.asked.standalone
    several = asks_several(question)
    passages = {passage.id: passage for passage in injection.screened(task.used, context.parts.rules)}
    kept = [strip for strip in task.refinement.strips if strip.kept and strip.passage in passages]
    asked = content_words(comparable_moments(question))
    named = {at for at, strip in enumerate(kept) if "|" in strip.text and names_row(asked, strip.text)}
    scores = [score + ROW_LOG_ODDS * (at in named) for at, score in enumerate(_log_odds(question, asked, kept))]
    chosen: dict[range, Quotation] = {}
    most, margin = (MOST_LINES_OF_SEVERAL, MARGIN_OF_SEVERAL) if several else (MOST_LINES, MARGIN)
    words, least = 0, -math.inf
    for place in sorted(range(len(kept)), key=lambda place: -scores[place]):
        if scores[place] < least:
            break
        if named and place not in named and "|" in kept[place].text:
            continue  # Another row than the question names.
        unit = _unit(kept, place, task)
        more = sum(count_words(kept[at].text) for at in unit)
        if any(place in other for other in chosen) or (chosen and words + more > LEAD_WORDS):
            continue
        piece, passage = single_strip(kept[place], task.evidence), passages[kept[place].passage]
        if piece is None:
            continue  # Other evidence has the same words.
        within = kept[place].start, kept[unit.stop - 1].end
        line = Quotation(piece, tuple(layout.passage_fragments(passage, (), within)))
        if not _says_something(line, passage):
            continue
        if not chosen:
            least = scores[place] - margin
        chosen[unit] = line
        words += more
        if len(chosen) == most:
            break
    if not several:
        return list(chosen.values())
    # Several lines of one passage are read in its order, and the passage with the best line comes first.
    order = list(dict.fromkeys(kept[unit.start].passage for unit in chosen))
    read = sorted(chosen, key=lambda unit: (order.index(kept[unit.start].passage), unit.start))
    return [chosen[unit] for unit in read]


def asks_several(question: str) -> bool:
    """Return whether a question asks for several things, or for a conclusion from several."""
    return asks_for_list(question) or asks_how(question) or needs_inference(question) or asks_two_things(question)


def _log_odds(question: str, asked: Set[str], strips: Sequence[Strip]) -> list[float]:
    """Return how well each strip answers, as its relevance in log-odds plus what its words and numbers add.

    `asked` are the question's content words, with its dates comparable.
    """
    held = [asked & content_words(comparable_moments(strip.text)) for strip in strips]
    frequency = Counter(word for words in held for word in words)
    weights = {word: math.log((len(strips) + 1) / (frequency[word] + 0.5)) for word in asked}
    total = sum(weights.values()) or 1.0
    numbers = set(_FIGURE.findall(question)) if asks_for_number(question) else None

    def score(strip: Strip, words: Set[str]) -> float:
        share = min(max(strip.relevance, 1e-4), 1 - 1e-4)
        numbered = numbers is not None and not numbers.issuperset(_FIGURE.findall(strip.text))
        named = sum(weights[word] for word in words) / total
        return math.log(share / (1 - share)) + NUMBER_LOG_ODDS * numbered + WORDS_LOG_ODDS * named

    return [score(strip, words) for strip, words in zip(strips, held, strict=True)]


def _unit(strips: Sequence[Strip], place: int, task: GenerationTask) -> range:
    """Return the places of a strip and of those after it that it leads to, if it says little by itself."""
    first = strips[place].text
    words, stop = count_words(first), place + 1
    if first.rstrip().endswith(":") or words < FRAGMENT_WORDS:
        while _follows(strips, stop, task):
            words += count_words(strips[stop].text)
            if words > UNIT_WORDS:
                break
            stop += 1
    return range(place, stop)


def _follows(strips: Sequence[Strip], place: int, task: GenerationTask) -> bool:
    """Return whether the strip at a place directly follows the one before it, in the same piece of evidence."""
    if not 0 < place < len(strips) or strips[place].passage != strips[place - 1].passage:
        return False
    pieces = [piece for piece in task.evidence if piece.passage == strips[place].passage]
    return any(strips[place].text in piece.text and strips[place - 1].text in piece.text for piece in pieces)


def _says_something(line: Quotation, passage: GradedPassage) -> bool:
    """Return whether a line has words besides headings and the name of its document."""
    text = " ".join(one.text for one in line.fragments if one.kind not in (BlockKind.HEADING, BlockKind.HEADER))
    named = re.sub(r"[-_.]", " ", f"{passage.title} {passage.document}")
    return bool(content_words(text) - content_words(named))


def render_lines(lines: Sequence[Quotation]) -> str:
    """Return lines as Markdown, each cited, without their headings."""
    return "\n\n".join(layout.markdown(one.fragments, f"[{one.piece.n}]") for one in lines)


def has_asked_form(one: Quotation, question: str) -> bool:
    """Return whether a piece has the form that a question asks for: a list or procedure, or several lines."""
    if needs_inference(question):
        return False
    if asks_how(question):
        return layout.has_steps(one.fragments)
    return asks_for_list(question) and layout.is_block(one.fragments)


def all_quotations(task: GenerationTask, context: Context) -> list[Quotation]:
    """Return all evidence as it is shown, including lone headings, if there is nothing else to show."""
    return make_quotations(task.evidence, task, context, headings=True)


def make_quotations(
    pieces: Sequence[Evidence], task: GenerationTask, context: Context, text: str = "", *, headings: bool = False
) -> list[Quotation]:
    """Return pieces of evidence as they are shown: in the blocks of their passages, without screened sentences.

    A lone heading is left out unless `headings` is set. A piece is left out if `text` contains all of it word for word;
    otherwise it stays whole, because its sentences mean little without the surrounding ones.
    """
    passages = {passage.id: passage for passage in injection.screened(task.used, context.parts.rules)}
    made_of = strips_by_piece(task.evidence, task.refinement.strips)
    found = []
    for piece in pieces:
        # If a single strip is quoted under the number of its piece, only that strip counts.
        own = [strip for strip in made_of.get(piece.n, []) if strip.text in piece.text]
        new = any(not _repeats(strip.text, text) for strip in own)
        one = Quotation(piece, tuple(layout.evidence_fragments(piece, passages.get(piece.passage), own)))
        if (new or not own) and (one.body or (headings and one.fragments)):
            found.append(one)
    return found


def _repeats(text: str, message: str) -> bool:
    """Return whether `message` contains a sentence word for word; headings and rows never count."""
    words = one_line(text)
    if not message or not words.endswith((".", "!", "?")):
        return False
    # The match must not be the beginning of a longer word or number.
    return re.search(rf"(?<!\w){re.escape(words.rstrip('.!?'))}(?!\w|[.,]\d)", message) is not None


def render(shown: Sequence[Quotation], sources: Sequence[Source], *, titled: bool = False) -> str:
    """Return pieces as Markdown in the order given, each cited once, under its path of headings.

    If they come from several documents, or with `titled`, the path begins with the document's title.
    """
    named = {source.id: source for source in sources}
    several = titled or len({_document(named[one.piece.source]) for one in shown}) > 1
    parts: list[str] = []
    before = ""
    for one in shown:
        path = source_path(one.piece.section, named[one.piece.source], titled=several)
        label = layout.label(path)
        if label and label != before:
            parts.append(label)
        before = label
        parts.append(layout.markdown(one.fragments, f"[{one.piece.n}]", path=path))
    return "\n\n".join(parts)


def source_path(section: str | None, source: Source | GradedPassage, *, titled: bool) -> list[str]:
    """Return the path of headings of a section; with `titled`, the document's title comes first."""
    path = section.split(SEPARATOR) if section else []
    named = _document(source)
    title = source.title or named
    # A title made from the file's name is less informative than the name itself.
    if source.document and split_words(title) == split_words(PurePath(named).stem.replace("_", " ").replace("-", " ")):
        title = named
    return [title, *path] if titled and title not in path else path


def _document(source: Source | GradedPassage) -> str:
    return source.document or source.url or ""


def beats_any_sentence(shown: Sequence[Quotation], question: str) -> bool:
    """Return whether the most relevant piece is a better answer than any of its sentences, and no conclusion is needed.

    That is true of a list, and of a table or lines if the question asks for several things; a single row fits into one
    sentence.
    """
    if not shown or needs_inference(question):
        return False
    several = asks_how(question) or asks_for_list(question)
    return layout.has_steps(shown[0].fragments) or (several and layout.is_block(shown[0].fragments))


def is_copied_list(text: str) -> bool:
    """Return whether an answer is a copied table row, or several list items in one line, instead of a sentence."""
    # Two consecutive numbers in one line show a copied list: "1. … 2. …".
    counted = [int(number) for number in _NUMBERED.findall(text)]
    return "|" in text or any(number + 1 in counted[at + 1 : at + 2] for at, number in enumerate(counted))


def evidence_is_answer(task: GenerationTask, context: Context) -> bool:
    """Return whether the evidence alone is the answer: the question asks for a list, and the model is too small."""
    question = task.asked.standalone
    if Skill.ALONE in context.parts.skills or context.steps != EVERY_STEP or task.certainty is not Certainty.SURE:
        return False
    return not task.conflicts and any(has_asked_form(one, question) for one in select_quotations(task, context)[:1])


def missing_lists(shown: Sequence[Quotation], answer: str, question: str) -> list[Quotation]:
    """Return the lists and tables that the answer repeats only in part."""
    listed = [(one, layout.listed(one.fragments)) for one in shown]
    return [one for one, lines in listed if not all(says_all(answer, [line], question) for line in lines)]


PASSAGE_WORDS, FAR_PASSAGE_WORDS = 150, 50
"""Number of words shown around the likeliest line of a passage; fewer for a passage that is far from helping."""
LIKELY_SHARE, MAX_MARKED = 0.9, 3
"""Share of the likeliest strip's relevance that other marked strips need, and maximum number of marked strips."""


def render_nearest(
    question: str, passages: Sequence[GradedPassage], strips: Sequence[Strip] = (), evidence: Sequence[Evidence] = (),
    *, near: float = 0.0,
) -> str:  # fmt: skip
    """Return the likeliest passages as Markdown, each under its place and probability; below `near` only a part.

    Passages must be screened and in retrieval's order, which also counts (`best`). A passage that is evidence is cited.
    If a passage was not cut into strips, the part with most of the question's words is shown.
    """
    shown = nearest_passages(passages)
    return "\n\n".join(_render_passage(one, strips, evidence, question=question, near=near) for one in shown)


def blank_other_text(passage: GradedPassage, strips: Sequence[Strip]) -> GradedPassage:
    """Return a passage with white space in place of everything outside these strips; positions stay the same."""
    text = "".join(" " if letter.strip() else letter for letter in passage.text)
    for strip in (strip for strip in strips if strip.passage == passage.id and strip.reason not in NEVER_KEPT):
        text = text[: strip.start] + passage.text[strip.start : strip.end] + text[strip.end :]
    return dataclasses.replace(passage, text=text)


def _best_match(text: str, question: str) -> int:
    """Return the start of the sentence, row or item with most of the question's words; the first one in a tie."""
    cut = split_into_strips(text, StripMode.SENTENCE, window_words=FAR_PASSAGE_WORDS)
    return max(cut, key=lambda span: overlap(question, span.text)).start if cut else 0


def _render_passage(
    passage: GradedPassage, strips: Sequence[Strip], evidence: Sequence[Evidence], *, question: str, near: float
) -> str:
    own = [strip for strip in strips if strip.passage == passage.id and strip.reason not in NEVER_KEPT]
    ranked = sorted(own, key=lambda strip: -strip.relevance)
    likely = [strip for strip in ranked[:MAX_MARKED] if strip.relevance >= LIKELY_SHARE * ranked[0].relevance]
    if len(own) <= len(likely):
        likely = []  # If all strips are likely, none needs a mark.
    at = ranked[0].start if ranked else _best_match(passage.text, question)
    start, end = _window(passage, at, PASSAGE_WORDS if passage.relevance >= near else FAR_PASSAGE_WORDS)
    within = [strip for strip in likely if start <= strip.start and strip.end <= end]
    cited = [piece for piece in evidence if piece.passage == passage.id]
    most = max(cited, key=lambda piece: piece.relevance, default=None)
    path = source_path(passage.section, passage, titled=True)
    shown = layout.passage_fragments(passage, within, (start, end))
    body = layout.markdown(shown, f"[{most.n}]" if most else "", path=path)
    return f"{_passage_heading(passage, path)}\n\n{body}"


def _passage_heading(passage: GradedPassage, path: Sequence[str]) -> str:
    sheets = {row.sheet for row in passage.rows}
    path = [*path[:1], *(name for name in path[1:] if name not in sheets)]
    place = " › ".join(map(layout.plain_markdown, path)) or _("web")
    if passage.page is not None:
        place += f", {page_name(passage.document, passage.page)}"
    if passage.rows:
        place += f", {layout.plain_markdown(row_names(passage.rows))}"
    scored = f"{passage.relevance:.2f} · " if passage.scored else ""
    return f"**{scored}{place}**"


def _window(passage: GradedPassage, at: int, most: int) -> tuple[int, int]:
    """Return the start and end of about `most` words around a position in a passage."""
    cut = split_into_strips(passage.text, StripMode.SENTENCE, window_words=most)
    if sum(count_words(span.text) for span in cut) <= most:
        return 0, len(passage.text)
    first, last = _range(cut, next((n for n, span in enumerate(cut) if span.end > at), 0), most)
    return _list_start(passage.text, cut[first].start, cut[last].end), cut[last].end


def _list_start(text: str, start: int, end: int) -> int:
    """Return the start of the list that contains `start`, or `start` itself if there is no list or it is too long."""
    begins = start
    for block in split_blocks(text):
        if block.start > start:
            break
        if block.kind is not BlockKind.ITEM:
            begins = start
        elif begins == start:
            begins = block.start
    return begins if count_words(text[begins:end]) <= PASSAGE_WORDS else start


def _range(cut: Sequence[Span], middle: int, most: int) -> tuple[int, int]:
    """Return the first and last of the spans around `middle` that fit into `most` words."""
    first = last = middle
    words = count_words(cut[middle].text)
    while True:
        # The span after it continues the text, the span before it only leads to it, so the following span comes first.
        for other in (last + 1, first - 1):
            if 0 <= other < len(cut) and words + count_words(cut[other].text) <= most:
                words += count_words(cut[other].text)
                first, last = min(first, other), max(last, other)
                break
        else:
            return first, last


def empty_collection_answer(settings: Settings) -> str:
    """Return the answer of a collection without documents."""
    name = settings.collection
    return _("There is nothing in the collection “%(name)s” to answer from. Add documents to it.", name=name)


def nearest_answer(question: str, passages: Sequence[GradedPassage], near: float) -> str:
    """Return the nearest passages under a line that introduces them."""
    text = _("The nearest passages, with the probability that they help:")
    return f"{text}\n\n{render_nearest(question, passages, near=near)}"


def _about_web(web: WebUse, settings: Settings) -> str:
    if web.error:
        return _("The web could not be searched either. %(error)s", error=web.error)
    if web.used:
        return _("The web results do not answer it either.")
    if web.not_asked:
        return _("The web was not searched, because %(why)s.", why=_(NOT_ASKED[web.not_asked]))
    if settings.searxng_url is None:
        return ""
    return _("The web was not searched: web search is switched off in the settings.")


def web_note(web: WebUse) -> str:
    """Return a note on a web search that failed or was not allowed; "" if there is nothing to note."""
    text = ""
    if web.not_asked:
        why = _(NOT_ASKED[web.not_asked])
        text = _("The web was not searched, because %(why)s. This is based on your documents alone.", why=why)
    elif web.error:
        text = _("The web could not be searched, so this is based on your documents alone. %(error)s", error=web.error)
    return f"\n\n{text}" if text else ""


NEAR_SHARE = 0.5
"""Share of the lower threshold from which an incorrect passage is near enough to be shown at length."""


def render_task_nearest(task: GenerationTask, context: Context) -> str:
    """Return the likeliest passages of the evidence, as Markdown."""
    passages = injection.screened(task.used, context.parts.rules)
    strips = task.refinement.strips
    if task.conflicts:  # The strips no longer include the side that lost, which must not be shown.
        passages = tuple(left for passage in passages if (left := blank_other_text(passage, strips)).text.strip())
    return render_nearest(task.asked.standalone, passages, strips, task.evidence)


def no_answer(task: GenerationTask, context: Context) -> str:
    """Return the answer that nothing was found, with the nearest passages of the documents."""
    about_web = _about_web(task.web, context.settings)
    local = [passage for passage in task.found if passage.origin is Origin.LOCAL]
    if not local:
        return "\n\n".join(filter(None, [empty_collection_answer(context.settings), about_web]))
    nearest, near = injection.screened(local, context.parts.rules), context.thresholds.lower * NEAR_SHARE
    shown = nearest_answer(task.asked.standalone, nearest, near)
    return "\n\n".join(filter(None, [_("Your documents do not answer this question."), about_web, shown]))
