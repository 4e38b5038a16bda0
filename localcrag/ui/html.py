"""Jinja2 templates with autoescape, and the smallest pieces of HTML.

Everything that came from a document, the web or a model passes through templates, and leaves as text.
"""

from __future__ import annotations

import itertools
import re

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from localcrag.text import translation
from localcrag.text.decimals import decimals
from localcrag.text.places import also_named, page_name, pages_in, place, row_names

TEMPLATES = Environment(
    loader=PackageLoader("localcrag.ui"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=["jinja2.ext.i18n"],
)
MADE = itertools.count(1)
"""Of what is made for the page's script, which hears of it only where it differs from what was there."""
TEMPLATES.filters["decimals"] = decimals
TEMPLATES.globals |= {"_": translation.gettext, "gettext": translation.gettext, "ngettext": translation.ngettext}
TEMPLATES.globals |= {"page_name": page_name, "pages_in": pages_in, "place": place, "row_names": row_names}
TEMPLATES.globals |= {"also_named": also_named}


def title(text: str) -> str:
    """Return a column's title."""
    return Markup("<h2 class='lc-title'>{}</h2>").format(text)


def message(text: str) -> str:
    """Return a text, as of an error, in the place of something else."""
    return Markup('<p class="lc-result" role="status">{}</p>').format(text)


def download(title: str, ending: str, media_type: str, text: str) -> str:
    """Return a file for the page's script to save; its name is made of `title`.

    No two are the same: of what it is given twice running, Gradio says nothing to the script.
    """
    name = re.sub(r"[^\w.-]+", "-", title).strip("-.")[:80] or "chat"
    return Markup('<pre data-name="{}.{}" data-type="{}" data-made="{}">{}</pre>').format(
        name, ending, media_type, next(MADE), text
    )
