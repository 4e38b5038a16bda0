"""A short check of a language model: whether it answers, cites, abstains, and rewrites.

The questions are asked as in the flow, about a few lines of text in this module. localcrag uses a model only for the
skills whose checks it passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from localcrag.crag import condense, rewrite, web
from localcrag.crag.answer import generate
from localcrag.records.enums import Skill
from localcrag.records.errors import GenerationError
from localcrag.records.passages import Evidence
from localcrag.records.protocols import Decoding, LanguageModel
from localcrag.records.run import Message, Turn
from localcrag.text.words import one_line

ANSWER_TOKENS = 120
FILLED_SHARE = 0.85
"""Share of the context window to fill, to test a window whose size the server does not report."""
EVIDENCE = (
    "The boathouse is open from April to October, daily from 9 to 18 o'clock.",
    "A rowing boat costs 14 euros for the first hour and 9 euros for each further one.",
    "Members need no deposit; all others leave 50 euros, which they get back with the boat.",
    "Dogs may come along on rowing boats, but not on sailing boats.",
)
ANSWERED = (
    ("How much is a rowing boat for the first hour?", "14", 2),
    ("How high is the deposit for people who are no members?", "50", 3),
    ("In which months is the boathouse open?", "October", 1),
)
"""Questions, each with a string that the answer must contain and the number of the evidence with the answer."""
NOT_ANSWERED = (
    "Who built the boathouse?",
    "How much does a sailing boat cost for a week?",
    "What is the telephone number of the boathouse?",
)
"""Questions that the evidence does not answer."""
HISTORY = (Turn("How much is a rowing boat for the first hour?", "A rowing boat costs 14 euros for the first hour."),)
FOLLOW_UPS = ("And how much is it for each further hour?", "May dogs come along on it?")
REWORDED = ("How long may members keep a rowing boat?", "When does the boathouse close in October?")
SCHEMA = {
    "type": "object",
    "properties": {"boat": {"enum": ["rowing", "sailing"]}, "dogs": {"enum": ["allowed", "forbidden"]}},
    "required": ["boat", "dogs"],
}
_CITED = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class CheckPart:
    """One part of the check: how many of its questions went well, and the text of one that did not."""

    name: str
    right: int
    asked: int
    wrong: str = ""

    @property
    def passed(self) -> bool:
        """Whether all questions went well."""
        return self.right == self.asked


def check(llm: LanguageModel, *, says_window: bool = True) -> Iterator[CheckPart]:
    """Yield the parts as they are done. Raises GenerationError.

    `says_window` tells whether the server reports its context window; otherwise the window is tested as well.
    """
    answers = [(asked, _written(llm, _prompt(asked[0]))) for asked in ANSWERED]
    yield _part("answers", [(text, asked[1] in text and not generate.is_no_answer(text)) for asked, text in answers])
    yield _part("cites", [(text, {int(n) for n in _CITED.findall(text)} == {asked[2]}) for asked, text in answers])
    silent = [_written(llm, _prompt(question)) for question in NOT_ANSWERED]
    yield _part("abstains", [(text, generate.is_no_answer(text)) for text in silent])
    yield _part("follow-ups", [_check_follow_up(llm, question) for question in FOLLOW_UPS])
    yield _part("other words", [_check_step(llm, question, rewrite) for question in REWORDED])
    yield _part("web queries", [_check_step(llm, question, web) for question in REWORDED])
    yield _part("JSON", [_check_form(llm)])
    if not says_window:
        yield _part("window", [_check_window(llm)])


def skills(parts: Sequence[CheckPart]) -> frozenset[Skill]:
    """Return the skills that a model is good enough for, judged by the parts that it passed."""
    passed = {part.name for part in parts if part.passed}
    needs = {
        Skill.FOLLOW_UPS: {"follow-ups"},
        Skill.OTHER_WORDS: {"other words"},
        Skill.QUERIES: {"web queries"},
        Skill.AMBIGUOUS: {"answers", "abstains"},
        Skill.ALONE: {"answers", "cites", "abstains"},
    }
    return frozenset(skill for skill, wanted in needs.items() if wanted <= passed)


def _part(name: str, outcomes: Sequence[tuple[str, bool]]) -> CheckPart:
    wrong = next((one_line(text) or "nothing" for text, right in outcomes if not right), "")
    return CheckPart(name, sum(right for _, right in outcomes), len(outcomes), wrong[:200])


def _prompt(question: str) -> list[Message]:
    pieces = [Evidence(n, text, f"local:{n}", "", 1.0 - n / 100) for n, text in enumerate(EVIDENCE, start=1)]
    return generate.prompt(question, question, pieces, whole=True)


def _written(llm: LanguageModel, messages: Sequence[Message], decoding: Decoding | None = None) -> str:
    stream = llm.stream(messages, decoding or Decoding(ANSWER_TOKENS))
    try:
        return "".join(stream)
    finally:
        stream.close()


def _check_follow_up(llm: LanguageModel, question: str) -> tuple[str, bool]:
    written = _written(llm, condense.prompt(question, HISTORY), condense.DECODING)
    kept = condense.accept(written, question, HISTORY)
    return written, kept == one_line(written).strip("\"'“” ")


def _check_step(llm: LanguageModel, question: str, step: object) -> tuple[str, bool]:
    """Return the model's text for a step, and whether the step accepts it.

    `step` is the module `rewrite` or `web`, which both have a prompt, a decoding and `accept`.
    """
    prompt: Callable[[str], list[Message]] = step.prompt  # type: ignore[attr-defined]
    written = _written(llm, prompt(question), step.DECODING)  # type: ignore[attr-defined]
    # A step that refuses the text falls back to these.
    refused = {rewrite.key_words(question), one_line(question)}
    return written, step.accept(written, question) not in refused  # type: ignore[attr-defined]


def _check_form(llm: LanguageModel) -> tuple[str, bool]:
    asked = [Message("system", "Fill in the form as JSON."), Message("user", f"{EVIDENCE[3]} What of rowing boats?")]
    written = _written(llm, asked, Decoding(60, schema=SCHEMA))
    try:
        found = json.loads(written)
    except ValueError:
        return written, False
    return written, found == {"boat": "rowing", "dogs": "allowed"}


def _check_window(llm: LanguageModel) -> tuple[str, bool]:
    """Return the model's answer about the first line of a prompt that nearly fills its window, and whether it is right.

    A server that cuts off prompts without an error loses that line.
    """
    filler = " The harbour lies to the south, and its water is calm on most days of the year."

    def asked(times: int) -> list[Message]:
        text = "The password of the day is heron." + filler * times
        return [Message("user", f"{text}\n\nWhat is the password of the day? Answer with one word.")]

    each = max(1, (llm.count_tokens(asked(40)) - llm.count_tokens(asked(0))) // 40)
    times = int(FILLED_SHARE * llm.context_tokens) // each
    try:
        written = _written(llm, asked(times), Decoding(12))
    except GenerationError as error:
        return str(error), False
    return written, "heron" in written.lower()
