"""The page's texts, in the language chosen: English in the code, other languages in `languages/` (gettext catalogues).

One person uses the page: the language is the process's, and what is on the page is written anew when it changes.
"""

from __future__ import annotations

import gettext as standard
from pathlib import Path

FOLDER = Path(__file__).parent / "languages"
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Of each language its own name."""

_chosen: list[standard.NullTranslations] = [standard.NullTranslations()]


def choose(language: str) -> None:
    """Go on in this language; one that there is no catalogue of is English."""
    _chosen[0] = standard.translation("localcrag", FOLDER, [language], fallback=True)


def gettext(text: str, /, **values: object) -> str:
    """Return a text in the language chosen, with `values` in it."""
    said = _chosen[0].gettext(text)
    return said % values if values else said


def ngettext(one: str, many: str, number: int, /, **values: object) -> str:
    """Return one of two texts, by a number that it speaks of; `num` stands for it."""
    return _chosen[0].ngettext(one, many, number) % {"num": number, **values}
