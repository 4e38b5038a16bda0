"""Translation by gettext: English in the code, other languages as catalogues in `languages/`.

One person uses the app: the language is the process's. What an answer says of itself (its rule, warnings, what was not
found) is written into the run in the language of that time. Errors, commands and logs are English.
"""

from __future__ import annotations

import gettext as standard
from pathlib import Path

FOLDER = Path(__file__).parent / "languages"
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Of each language its own name."""

ENGLISH = "en"

_chosen = [(ENGLISH, standard.NullTranslations())]
"""The one language that is spoken, and its catalogue; replaced at once, since other threads ask for texts meanwhile."""


def choose(language: str) -> None:
    """Go on in this language; one that there is no catalogue of is English."""
    _chosen[0] = (language, standard.translation("localcrag", FOLDER, [language], fallback=True))


def language() -> str:
    """Return the code of the language chosen."""
    return _chosen[0][0]


def gettext(text: str, /, **values: object) -> str:
    """Return a text in the language chosen, with `values` in it."""
    said = _catalogue().gettext(text) if text else ""
    return said % values if values else said


def ngettext(one: str, many: str, number: int, /, **values: object) -> str:
    """Return one of two texts, by a number that it speaks of; `num` stands for it."""
    return _catalogue().ngettext(one, many, number) % {"num": number, **values}


def _catalogue() -> standard.NullTranslations:
    return _chosen[0][1]


def later(text: str) -> str:
    """Return the text as it is: for the catalogues' sake, where `gettext` is asked for it by a name."""
    return text


def text_in(language: str, text: str) -> str:
    """Return a text in a language, whichever is chosen."""
    return standard.translation("localcrag", FOLDER, [language], fallback=True).gettext(text)


LARGEST = 2**63 - 1
"""The largest whole number that SQLite can store."""


def decimals(number: float) -> str:
    """Return a number with two decimals, or with three or four where two would say another one: 0.13, 0.015."""
    for digits in (2, 3):
        if abs(float(text := f"{number:.{digits}f}") - number) < 5e-5:
            return text
    return f"{number:.4f}"


def whole_number(text: str) -> int | None:
    """Return the whole number that a text is; None if it is anything else, or larger than LARGEST.

    `str.isdigit` is no check for this: it is true for "²", which `int` cannot read.
    """
    # The length first: Python refuses to read a number of more than 4,300 digits.
    if not text.isdecimal() or len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        return None
    return int(text)


def counted(number: int, noun: str) -> str:
    """Return a number with its English noun: "1 chunk", "2 chunks"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
