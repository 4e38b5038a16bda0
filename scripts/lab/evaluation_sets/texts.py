"""Read the documents and candidate questions of an evaluation set from labelled data.

It reads dev/squad2.jsonl.gz (`title`, `passage`, `questions` with `question`, `answers`, `answerable`),
dev/nq_oracle.jsonl.gz (`question`, `passage`, `answers`) and corpora/wikipedia.jsonl.gz (`title`, `text`) in a data
folder. It writes nothing and chooses nothing at random: the result depends only on the folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

from lab.evaluation_sets.followups import follow_up
from lab.relevance.data import DataError, read_lines
from localcrag.records.run import Turn
from localcrag.text.words import FUNCTION_WORDS, content_words, one_line, shorten

PARAGRAPHS_OF_A_PART = 8
"""Paragraphs of an article in one document; some 6,000 characters, three pages."""
SHORTEST_PARAGRAPH = 150
"""Fewest characters in a paragraph; shorter lines in an encyclopedia are captions and lists."""
LONGEST_ARTICLE = 4_000
"""Most characters of an article that is only a distractor."""
OWN_WORDS = 0.5
"""Share of a search query's content words that its passage must contain; otherwise, only the page's title did."""

_SLUG = re.compile(r"[^a-z0-9]+")
_POINTS_AT_CONTEXT = re.compile(
    r"\b(?:passage|paragraph|excerpt|article|text|author|above|below|following|listed|mentioned|according to th)\b"
    r"|\b(?:this|these|that|those)\s*[?,]|\b(?:this|these)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them|his|hers|its|their)\b", re.IGNORECASE)
_NAME_OR_YEAR = re.compile(r"(?<=[\w,] )[A-Z][\w.-]+|\b\d{3,4}\b")
_SECTION = re.compile(r"^Section::::")
_SUBJECT_ENDS = re.compile(r"\s*(?:\(|,|\bis\b|\bwas\b|\bare\b|\bwere\b|\bhas\b|\bhad\b)")
MOST_OF_A_TITLE = 60  # characters


@dataclass(frozen=True, slots=True)
class Document:
    """A document: `name` is its file name without extension; paragraphs with “## ” are headings, with “|” tables."""

    name: str
    title: str
    paragraphs: tuple[str, ...]
    dated: date | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate question, and the paragraph that answers it; its `id` begins with `kind`."""

    id: str
    kind: str
    question: str
    answers: tuple[str, ...]
    document: str
    paragraph: str
    title: str
    history: tuple[Turn, ...] = ()
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Texts:
    """All texts for the sets; `articles` are distractors, the other documents have questions."""

    documents: tuple[Document, ...]
    articles: tuple[Document, ...]
    candidates: tuple[Candidate, ...]


def read_texts(folder: Path) -> Texts:
    """Read the data folder. Raises DataError."""
    squad = list(read_lines(folder / "dev" / "squad2.jsonl.gz"))
    natural = list(read_lines(folder / "dev" / "nq_oracle.jsonl.gz"))
    wikipedia = list(read_lines(folder / "corpora" / "wikipedia.jsonl.gz"))
    try:
        parts, asked = _squad(squad)
        passages, queries = _natural(natural)
        titles = {row["title"].lower() for row in squad}
        articles = [_article(row["title"], row["text"]) for row in wikipedia if row["title"].lower() not in titles]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder} has a line that is not as expected ({error!r}).") from error
    return Texts(_distinct([*parts, *passages]), _distinct(article for article in articles if article.paragraphs),
                 (*asked, *queries))  # fmt: skip


def slug(text: str) -> str:
    """Return `text` in a form that can be a file name or part of a URL."""
    return _SLUG.sub("-", text.lower()).strip("-")[:MOST_OF_A_TITLE].rstrip("-") or "untitled"


def _squad(rows: Sequence[dict[str, object]]) -> tuple[list[Document], list[Candidate]]:
    articles: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        articles.setdefault(str(row["title"]), []).append(row)
    documents: list[Document] = []
    candidates: list[Candidate] = []
    for title, paragraphs in articles.items():
        count = math.ceil(len(paragraphs) / PARAGRAPHS_OF_A_PART)
        size = math.ceil(len(paragraphs) / count)
        for part in range(count):
            own = paragraphs[part * size : (part + 1) * size]
            name = f"{slug(title)}-{part + 1}"
            documents.append(
                Document(name, f"{title}, part {part + 1}", tuple(one_line(str(row["passage"])) for row in own))
            )
            for number, row in enumerate(own, start=part * size):
                candidates += _questions(row, name, title, f"{slug(title)}-{number}")
    return documents, candidates


def _questions(row: dict[str, object], document: str, title: str, place: str) -> Iterator[Candidate]:
    """Yield the paragraph's questions that stand alone, and pairs of them as follow-ups."""
    asked = row["questions"]
    passage = one_line(str(row["passage"]))
    if not isinstance(asked, list):
        raise TypeError(f"questions of {title}")
    answered = [
        (number, one_line(one["question"]), tuple(filter(None, map(one_line, one["answers"]))))
        for number, one in enumerate(asked)
        if one["answerable"]
    ]
    for number, question, answers in answered:
        if answers and stands_alone(question, title) and says_something(question, answers, title):
            yield Candidate(f"squad-{place}-{number}", "squad", question, answers, document, passage, title)
    for (_, first, said), (number, second, answers) in pairwise(answered):
        if not (said and answers and stands_alone(first, title) and stands_alone(second, title)):
            continue
        if not says_something(f"{first} {second}", answers, title):
            continue
        found = follow_up(first, second, title, passage)
        if found and {answer.lower() for answer in said}.isdisjoint(answer.lower() for answer in answers):
            turn = Turn(first, f"{said[0][:1].upper()}{said[0][1:].rstrip('.')}.")
            yield Candidate(f"followup-{place}-{number}", "followup", found.question, answers, document, passage, title,
                            (turn,), found.rule)  # fmt: skip


def stands_alone(question: str, title: str) -> bool:
    """Return whether the question is clear without the paragraph: it has a name, a year or the article's subject."""
    if _POINTS_AT_CONTEXT.search(question):
        return False
    named = _NAME_OR_YEAR.search(question)
    pronoun = _PRONOUN.search(question)
    if pronoun and not (named and named.start() < pronoun.start()):
        return False
    # Five letters are compared, since ctenophores are Ctenophora, and primes are prime numbers.
    subjects = [word[:5].lower() for word in title.split() if len(word) > 3]
    return bool(named) or any(subject in question.lower() for subject in subjects)


def says_something(question: str, answers: Iterable[str], title: str) -> bool:
    """Return whether no accepted answer is in the question, or has a word of the title, which the whole article has."""
    known, named = content_words(question), content_words(title)
    return all(words - known and not words & named for words in map(content_words, answers) if words)


def _natural(rows: Iterable[dict[str, object]]) -> tuple[list[Document], list[Candidate]]:
    documents: dict[str, Document] = {}
    names: dict[str, int] = {}
    candidates = []
    for number, row in enumerate(rows):
        passage, question = one_line(str(row["passage"])), one_line(str(row["question"]))
        title = subject(passage)
        if passage not in documents:
            name = slug(title)
            names[name] = names.get(name, 0) + 1
            several = f"-{names[name]}" if names[name] > 1 else ""
            documents[passage] = Document(f"{name}{several}", title, (passage,))
        answers = row["answers"]
        if not isinstance(answers, list):
            raise TypeError(f"answers of {question}")
        asked, held = content_words(question), content_words(passage)
        if not answers or _POINTS_AT_CONTEXT.search(question) or len(asked & held) < OWN_WORDS * len(asked):
            continue
        if not says_something(question, answers, ""):
            continue
        candidates.append(
            Candidate(f"natural-{number}", "natural", question, tuple(filter(None, map(one_line, answers))),
                      documents[passage].name, passage, title)
        )  # fmt: skip
    return list(documents.values()), candidates


def subject(passage: str) -> str:
    """Return a title made from a passage's beginning: its grammatical subject if that is short."""
    found = _SUBJECT_ENDS.search(passage, 1)
    if found and 2 < found.start() <= MOST_OF_A_TITLE:
        title = passage[: found.start()]
    else:
        title = shorten(passage, MOST_OF_A_TITLE).removesuffix("…")
    words = title.split(". ")[0].strip(' .,;:“”"').split()
    while len(words) > 1 and words[-1].lower() in FUNCTION_WORDS:
        words.pop()
    title = " ".join(words)
    return title[:1].upper() + title[1:]


def _article(title: str, text: str) -> Document:
    """Return the beginning of an article; its headings are lines in capitals."""
    paragraphs: list[str] = []
    length = 0
    for line in map(one_line, text.split("\n")):
        if not line or _SECTION.match(line):
            continue
        if line.isupper() and len(line) < MOST_OF_A_TITLE:
            paragraphs.append(f"## {line.capitalize()}")
        elif len(line) >= SHORTEST_PARAGRAPH:
            if length and length + len(line) > LONGEST_ARTICLE:
                break
            paragraphs.append(line)
            length += len(line)
    while paragraphs and paragraphs[-1].startswith("## "):
        paragraphs.pop()
    kept = [one for one, following in pairwise([*paragraphs, ""]) if not (is_heading(one) and is_heading(following))]
    return Document(slug(title), title, tuple(kept))


def is_heading(paragraph: str) -> bool:
    """Return whether a paragraph of a Document is a heading."""
    return paragraph.startswith("## ")


def _distinct(documents: Iterable[Document]) -> tuple[Document, ...]:
    return tuple({document.name: document for document in documents}.values())
