"""Words of prompt injection: what a rule is, and the groups of words that rules are written with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol


class Form(Protocol):
    """What is looked for in a sentence: a pattern, or a judge."""

    def search(self, reading: str, /) -> object:
        """Return something true where the sentence has it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A form of speech. A weak one counts only in a passage that a strong one was found in."""

    name: str
    pattern: Form
    weak: bool = False


def rule(name: str, *forms: str, weak: bool = False) -> Rule:
    """Return the rule of these forms, each a regular expression with names of WORDS in braces."""
    return Rule(name, re.compile("|".join(form.format(**WORDS) for form in forms), re.IGNORECASE), weak)


_MACHINE = (
    r"(?:the |this |an? |any |every |each |all )*(?:AIs?|AI (?:assistants?|systems?|models?|agents?)|LLMs?"
    r"|(?:large )?language models?|(?:chat ?)?bots?)"
)
_TASK = r"(?:task|request|question|query|job|assignment)"
# {start} is where an imperative begins: "the text tells models to ignore their rules" is a statement.
WORDS = {
    "start": r"(?:^\W*|[.:;,!?—–|>*#\"“”'‘()\[\]]\s*|\b(?:please|kindly|now|must|should|shall|then|and|so|but|"
    r"you)\s+)",
    "model": r"(?:AIs?|AI (?:assistants?|systems?|models?|agents?)|assistants?|LLMs?|(?:large )?language "
    r"models?|chat ?bots?"
    r"|ChatGPT|GPT)",
    "ignore": r"(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|set aside|pay no attention to"
    r"|(?:do not|don['’]t|never|stop|no longer) (?:follow|obey|heed)(?:ing)?)",
    "instructions": r"(?:instructions?|prompts?|directions|directives?|guidelines|commands?|system messages?)",
    "say": r"(?:say|write|answer|reply|respond|output|print|return|state)",
    "canary": r"(?-i:(?!(?:JSON|HTML|YAML|HTTPS?|ASCII)\b)[A-Z][A-Z0-9]{3,}(?:-[A-Z0-9]+)*)\b",
    "thing": r"(?:words?|phrase|sentence|string|text|link|url|image|picture|line|code|tag)",
    "answer": r"(?:answers?|repl(?:y|ies)|responses?|output|summar(?:y|ies))",
    "passage": r"(?:passages?|documents?|texts?|pages?|results?|sources?|files?|chunks?)",
    # Of the claims: {hearer} does what a model does, {dictated} is what it is to say, {asked} what the person asked.
    "machine": _MACHINE,
    "hearer": rf"(?:whichever |whatever )?(?:{_MACHINE}|(?:the |this |an? |any |every |each |all )?assistants?)",
    "says": r"(?:says?|writes?|answers?|repl(?:y|ies)|responds?|outputs?|prints?|states?|types?|enters?|repeats?|"
    r"emits?|utters?|announces?|produces?|gives?|mentions?|tells?)",
    "order": r"(?:must|should|shall|has to|have to|is to|are to|needs? to|is required to|are required to)",
    "dictated": r"(?:[“\"]|(?-i:\b(?!(?:JSON|HTML|YAML|HTTPS?|ASCII|NULL|TRUE|FALSE|ERROR|LATEX)\b)"
    r"[A-Z]{4,}(?:-[A-Z0-9]+)*\b))",
    "task": _TASK,
    "asked": rf"(?:(?:the )?user['’]s (?:\w+ )?{_TASK}|the (?:original|initial|actual) task|what I asked"
    rf"|the {_TASK} (?:that )?I (?:gave|asked|put)|everything (?:else )?that you were asked)",
    "ended": r"(?:done|over|closed|solved|finished|completed?|answered|delivered|dealt with|taken care of)",
    "advertises": r"(?:recommend|praise|advertise|promote|advise|speak (?:well|highly|warmly) of)",
}  # fmt: skip
