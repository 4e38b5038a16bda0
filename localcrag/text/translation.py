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
