"""Translation with gettext: English in the code, other languages as catalogues in `languages/`.

The language is chosen for the whole process, because the app has one user. Texts about an answer, such as its rule and
warnings, are stored in the run in the language chosen at that time. Errors, commands and logs are in English.
"""

from __future__ import annotations

import gettext as standard
from pathlib import Path

FOLDER = Path(__file__).parent / "languages"
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Languages by code, each with its native name."""

ENGLISH = "en"

_chosen = [(ENGLISH, standard.NullTranslations())]
"""The chosen language and its catalogue; one tuple, so that other threads never see one without the other."""


def choose(language: str) -> None:
    """Choose the language of all following texts; a language without a catalogue gives English texts."""
    _chosen[0] = (language, standard.translation("localcrag", FOLDER, [language], fallback=True))


def language() -> str:
    """Return the code of the chosen language."""
    return _chosen[0][0]


def gettext(text: str, /, **values: object) -> str:
    """Return a text in the chosen language, with `values` filled in."""
    message = _chosen[0][1].gettext(text) if text else ""
    return message % values if values else message


def ngettext(one: str, many: str, number: int, /, **values: object) -> str:
    """Return the singular or plural text for `number`, which fills in %(num)s."""
    return _chosen[0][1].ngettext(one, many, number) % {"num": number, **values}


def gettext_noop(text: str) -> str:
    """Return the text unchanged; marks a text for the catalogues that is passed to `gettext` in a variable later."""
    return text


def translate_to(language: str, text: str) -> str:
    """Return a text in a given language, independent of the chosen one."""
    return standard.translation("localcrag", FOLDER, [language], fallback=True).gettext(text)


LARGEST = 2**63 - 1
"""The largest whole number that SQLite can store."""


def format_decimals(number: float) -> str:
    """Return a number with two decimals, or with three or four if two would change its value: 0.13, 0.015."""
    for digits in (2, 3):
        if abs(float(text := f"{number:.{digits}f}") - number) < 5e-5:
            return text
    return f"{number:.4f}"


def whole_number(text: str) -> int | None:
    """Return the whole number that a text denotes; None if it is not one, or is larger than LARGEST.

    The check is `str.isdecimal`: `str.isdigit` is also true for "²", which `int` cannot read.
    """
    # Check the length before the value: Python refuses to convert more than 4,300 digits.
    if not text.isdecimal() or len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        return None
    return int(text)


def counted(number: int, noun: str) -> str:
    """Return a number with its English noun in the singular or plural: "1 chunk", "2 chunks"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
