"""What stands around the columns, as HTML: the bar on top, and the head of the settings."""

from __future__ import annotations

from localcrag.text import translation
from localcrag.text.translation import gettext as _
from localcrag.ui.html import TEMPLATES

KEYS = ("?", "/", "n", "f", "[", "]", ",", "d", "Esc")


def top() -> str:
    """Return the bar on top of the page, with the list of shortcuts."""
    does = (
        _("Show this list"),
        _("Go to the box for the question"),
        _("Begin a new chat"),
        _("Search the chats"),
        _("Show or hide documents and chats"),
        _("Show or hide how it was answered"),
        _("Open or close the settings"),
        _("Change the colours: system, light, dark"),
        _("Close what is open"),
    )
    regions = {"lc-left": _("Documents and chats"), "lc-middle": _("Chat"), "lc-right": _("How this was answered"),
               "lc-settings": _("Settings")}  # fmt: skip
    return TEMPLATES.get_template("top.html").render(
        keys=list(zip(KEYS, does, strict=True)), regions=regions, language=translation.language()
    )


def settings_head(*, anew: bool = False) -> str:
    """Return the head of the settings' screen, with its tabs by the ids of what they show.

    `anew`: the page has to be loaded again, since all of it speaks another language.
    """
    tabs = {"answers": _("Answers"), "web": _("Web"), "models": _("Models"), "data": _("Data"),
            "questions": _("Questions"), "labels": _("Labels")}  # fmt: skip
    return TEMPLATES.get_template("settings_head.html").render(
        tabs=tabs, languages=translation.LANGUAGES, language=translation.language(), anew=anew
    )
