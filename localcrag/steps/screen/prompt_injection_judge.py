"""Judge of prompt injection: weighs what a sentence speaks of, for wordings that no rule knows.

Logistic regression over three kinds of features, each there or not: the groups of prompt_injection_groups.py, two
groups together, and words, alone and in twos. `scripts/lab/injection/train_injection.py` fits it on wordings of ours
and on sentences of honest texts, and writes the weights beside this module. Long sentences are judged in windows, since
in many words something of every group is found.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from localcrag.steps.screen.prompt_injection_groups import groups
from localcrag.text.pattern_set import PatternSet

WEIGHTS = Path(__file__).with_name("prompt_injection_weights.json")
WINDOW = 30
"""Words judged together: none of the sentences in scripts/lab/injection/attacks.txt is longer."""

_ADDRESS = re.compile(r"https?://\S+|www\.\S+|\S+@[\w-]+\.\w+")
_CODE_WORD = re.compile(r"\b[A-Z]{3,}(?:-[A-Z0-9]+)*\b")
_WORD = re.compile(r"‹\w+›|[^\W\d_]+|[^\w\s]")
_MAY = re.compile(
    # What hardly an attack does without: most honest sentences cost one look.
    r"\b(?:you|your|AIs?|LLMs?|GPT|KI|IA|bots?|chatbots?|models?|assistants?|asist\w+|assistent\w*|asystent\w*|"
    r"agents?|systems?|"
    r"users?|who(?:ever)? (?:asks?|reads?)|when asked|answer\w*|repl\w+|respon\w+|outputs?|summar\w+|generated|"
    r"ignor\w+|forget|disregard|abandon\w*|discard\w*|instruct\w+|prompts?|context|orders?|passages?|documents?|"
    r"tools?|functions?|command|API|decode|base64|rot13|obey|say|write|print|tell|show|produce|"
    r"vergiss|vergessen|\w*ignorier\w*|beacht\w*|antwort\w*|schreib\w*|sage?|Sprachmodell|oubli\w+|olvid\w+|descart\w+|"
    r"escrib\w*|écri\w*|répon\w*|rispond\w*|scriv\w*|dimentic\w*|esque\w+|escrev\w*|negeer\w*|vergeet|antwoord\w*|"
    r"schrijf|zignor\w*|zapomnij|napisz|odpowie\w*)\b|[Ѐ-ԯ぀-鿿가-힯؀-ۿ]|[<{]|"
    r"://|@|"
    r"\b(?:conversations?|chats?|transcripts?|modelos?|instead|usuario|utente|utilisateur|Nutzers?|gebruiker|"
    r"użytkownika)\b",
    re.IGNORECASE,
)
_MAYBE = PatternSet([_MAY])


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature adds to the log-odds of an instruction to the model; from where on a sentence is one.

    `alone` holds for any sentence, `beside` for those of a passage in which something else was found.
    """

    bias: float
    alone: float
    beside: float
    of: Mapping[str, float]


@lru_cache(maxsize=1)
def weights() -> Weights:
    """Return the weights that lie beside this module."""
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    return Weights(bias=stored["bias"], alone=stored["alone"], beside=stored["beside"], of=stored["of"])


@dataclass(frozen=True, slots=True)
class Judged:
    """A form of speech like a pattern: what is judged an instruction to the model, alone or `beside` another."""

    beside: bool = False

    def search(self, reading: str) -> bool:
        """Return whether a sentence is one."""
        return log_odds(reading) > (weights().beside if self.beside else weights().alone)


def log_odds(reading: str) -> float:
    """Return the log-odds that a sentence speaks to the model, the highest of its windows."""
    return max((_log_odds(window) for window in windows(reading) if _MAYBE.fitting(window)), default=-math.inf)


def windows(reading: str) -> list[str]:
    """Return a sentence in windows of WINDOW words that overlap by half."""
    words = reading.split()
    step = WINDOW // 2
    return [" ".join(words[at : at + WINDOW]) for at in range(0, max(1, len(words) - step), step)]


def features(window: str) -> set[str]:
    """Return what there is in a window: groups, two groups together, words alone and in twos."""
    there = groups(window)
    pairs = (f"{one} + {other}" for one, other in itertools.combinations(there, 2))
    words = [word.casefold() for word in _WORD.findall(_CODE_WORD.sub("‹code›", _ADDRESS.sub("‹address›", window)))]
    twos = (f"“{one} {other}”" for one, other in itertools.pairwise(words))
    return {*there, *pairs, *(f"“{word}”" for word in words), *twos}


@lru_cache(maxsize=4096)  # A sentence is looked at alone, and again beside another.
def _log_odds(window: str) -> float:
    known = weights()
    return known.bias + sum(known.of.get(feature, 0.0) for feature in features(window))
