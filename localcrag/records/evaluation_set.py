"""Evaluation sets: read and validate a folder of documents and labelled questions.

`questions.jsonl` has one JSON object per line. Required are `question` and `answers`: the accepted strings, or an empty
list if the documents do not answer the question. Optional are `documents` (paths within `documents/` of the files that
contain the answer), `web` (recorded web results with `title`, `url`, `content` and perhaps `published`), `web_answers`
(accepted strings that only these results contain), `history` (earlier turns with `question` and `answer`), `follows`
(the id of an earlier question, asked in the same chat before this one) and `id`. For whole answers: `all_of` (strings
that a whole answer contains, all of them; alternatives are separated by “|”), `needed` (the lines of the documents that
it rests on, verbatim) and `tags` (names of groups that the report counts by themselves).
`documents/` contains files of any kind that localcrag reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from localcrag.records.errors import EvaluationSetError, describe_problems
from localcrag.records.run import Turn, WebResult
from localcrag.text.places import is_hidden

QUESTIONS, DOCUMENTS = "questions.jsonl", "documents"
SET_FORMAT = (
    f"An evaluation set is a folder with {DOCUMENTS}/ and {QUESTIONS}, which has a JSON object with `question` and "
    "`answers` on each line."
)
RUNS = "runs.jsonl"
"""Name of the file with the runs, in the folder of an evaluation."""
MOST_PROBLEMS = 10
"""Maximum number of invalid lines listed in one error message."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _comparable(text: str) -> str:
    if not any(character.isalnum() for character in text):
        raise ValueError("an accepted string needs a letter or a digit, or no answer can contain it")
    return text


def _openable(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and names a host, or the search drops the result")
    return address


def _alternatives(text: str) -> str:
    for alternative in text.split("|"):
        _comparable(alternative)
    return text


Accepted = Annotated[Text, AfterValidator(_comparable)]
Alternatives = Annotated[Text, AfterValidator(_alternatives)]
Address = Annotated[Text, AfterValidator(_openable)]


class AnswerLocation(StrEnum):
    """Where the answer to a question is found."""

    DOCUMENTS = "documents"
    WEB = "web"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A labelled question. `id` is unique in its set. `answers` are the accepted strings; none for NOWHERE.

    `documents` are the names of the documents that contain the answer, if the set lists them. A whole answer contains
    one alternative of each item of `all_of`, and rests on the lines `needed`. `follows` is the id of an earlier
    question: its answer is the turn before this one. `tags` name the groups that the question belongs to.
    """

    id: str
    question: str
    held_by: AnswerLocation
    answers: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    web: tuple[WebResult, ...] = ()
    history: tuple[Turn, ...] = ()
    all_of: tuple[tuple[str, ...], ...] = ()
    needed: tuple[str, ...] = ()
    follows: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """An evaluation set; `files` are its documents, `digest` is the SHA-256 of the questions and documents."""

    name: str
    questions: tuple[Question, ...]
    files: tuple[Path, ...]
    digest: str


def documents_key(digest: str, *, embedder: str, chunk_tokens: int) -> str:
    """Return a key of 16 hex digits for a set's indexed documents: digest, embedding model, chunk length."""
    return hashlib.sha256(f"{digest} {embedder} {chunk_tokens}".encode()).hexdigest()[:16]


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore")

    title: str
    url: Address
    content: str
    published: str | None = None


class _Turn(BaseModel):
    question: Text
    answer: str


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Text
    answers: list[Accepted]
    documents: list[Text] | None = None
    web: list[_Result] = Field(default_factory=list)
    web_answers: list[Accepted] = Field(default_factory=list)
    history: list[_Turn] = Field(default_factory=list)
    all_of: list[Alternatives] = Field(default_factory=list)
    needed: list[Text] = Field(default_factory=list)
    follows: Text | None = None
    tags: list[Text] = Field(default_factory=list)
    id: Text | None = None

    @model_validator(mode="after")
    def _check_consistency(self) -> _Line:
        if self.answers and self.web_answers:
            raise ValueError(
                "web_answers are for questions that the documents do not answer; this one also has answers"
            )
        if self.web_answers and not self.web:
            raise ValueError("there are web_answers, but no web results that could contain them")
        if self.documents and not self.answers:
            raise ValueError("documents names files with the answer, but answers is empty")
        if self.all_of and not self.answers:
            raise ValueError("all_of says what a whole answer contains, but answers is empty")
        if self.follows and self.history:
            raise ValueError("follows and history both say what was asked before; give one of them")
        return self


def read(folder: Path) -> EvaluationSet:
    """Return the set in `folder`. Raises EvaluationSetError, which lists the invalid lines and the reasons."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise EvaluationSetError(f"{folder} {what}. {SET_FORMAT}")
    lines = _lines(folder / QUESTIONS)
    documents = folder / DOCUMENTS
    files = tuple(
        sorted(path for path in documents.rglob("*") if path.is_file() and not is_hidden(path.relative_to(documents)))
    )
    if not files:
        raise EvaluationSetError(
            f"There are no documents in {documents}. Put the files there that the questions are about."
        )
    names = {path.relative_to(documents).as_posix() for path in files}
    questions: list[Question] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, text in lines:
        try:
            line = _Line.model_validate_json(text)
        except ValidationError as error:
            problems.append(f"line {number}: {describe_problems(error)}")
            continue
        name = line.id or str(number)
        if name in seen:
            problems.append(f"line {number}: the id “{name}” is that of line {seen[name]}")
        if missing := sorted(set(line.documents or ()) - names):
            problems.append(f"line {number}: no such document in {DOCUMENTS}/: {', '.join(missing)}")
        if line.follows and line.follows not in seen:
            problems.append(f"line {number}: no earlier line has the id “{line.follows}”, which it follows")
        seen.setdefault(name, number)
        questions.append(_question(name, line))
    if problems:
        more = f"\n… and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        shown = "\n".join(problems[:MOST_PROBLEMS])
        raise EvaluationSetError(f"{folder / QUESTIONS} has errors. Fix them:\n{shown}{more}")
    if not questions:
        raise EvaluationSetError(f"{folder / QUESTIONS} has no questions. Write one JSON object per line.")
    return EvaluationSet(folder.resolve().name, tuple(questions), files, _digest(folder, files))


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the non-empty lines with their numbers, counted from 1. Raises EvaluationSetError."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise EvaluationSetError(f"{path} is missing. {SET_FORMAT}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationSetError(f"{path} cannot be read: {error}. It has to be a text file in UTF-8.") from error
    if text.lstrip().startswith("["):
        raise EvaluationSetError(f"{path} is a JSON list. Write each object on its own line, without commas.")
    # Not splitlines: a JSON string may contain other line separators.
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _question(name: str, line: _Line) -> Question:
    # A set with accepted strings may state that no document contains them, with an empty list of documents.
    if line.web_answers or (line.answers and line.documents == [] and line.web):
        held_by = AnswerLocation.WEB
    else:
        held_by = AnswerLocation.DOCUMENTS if line.answers else AnswerLocation.NOWHERE
    return Question(
        id=name,
        question=line.question,
        held_by=held_by,
        answers=tuple(line.answers or line.web_answers),
        documents=tuple(line.documents or ()),
        web=tuple(WebResult(**result.model_dump()) for result in line.web),
        history=tuple(Turn(**turn.model_dump()) for turn in line.history),
        all_of=tuple(tuple(one.strip() for one in item.split("|")) for item in line.all_of),
        needed=tuple(line.needed),
        follows=line.follows or "",
        tags=tuple(line.tags),
    )


def _digest(folder: Path, files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in (folder / QUESTIONS, *files):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise EvaluationSetError(f"{path} cannot be read: {error}. Check that you may read it.") from error
    return digest.hexdigest()


def dump(questions: Sequence[Question]) -> Iterator[str]:
    """Yield the questions as lines that `read` accepts."""
    for question in questions:
        line: dict[str, object] = {"id": question.id, "question": question.question}
        line["answers"] = list(question.answers) if question.held_by is AnswerLocation.DOCUMENTS else []
        if question.documents:
            line["documents"] = list(question.documents)
        if question.held_by is AnswerLocation.WEB:
            line["web_answers"] = list(question.answers)
        if question.web:
            plain = map(asdict, question.web)
            line["web"] = [{key: text for key, text in web.items() if text or key != "published"} for web in plain]
        if question.history:
            line["history"] = [asdict(turn) for turn in question.history]
        if question.all_of:
            line["all_of"] = ["|".join(item) for item in question.all_of]
        for name in ("needed", "follows", "tags"):
            if value := getattr(question, name):
                line[name] = list(value) if isinstance(value, tuple) else value
        yield json.dumps(line, ensure_ascii=False) + "\n"
