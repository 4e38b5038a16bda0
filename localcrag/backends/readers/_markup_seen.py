"""What of a web page is seen: not scripts, controls and hidden parts. Style sheets are not read."""

from __future__ import annotations

import re
from typing import Any

Element = Any  # lxml has no type hints
UNSEEN = frozenset(
    "script style template noscript head title meta link svg canvas iframe object embed applet audio video map "
    "datalist textarea input frame".split()
)
HIDDEN_STYLE = re.compile(r"(?<![\w-])(display\s*:\s*none|visibility\s*:\s*(hidden|collapse))", re.IGNORECASE)


def seen(element: Element) -> bool:
    """Whether a browser shows an element."""
    if not isinstance(element.tag, str):  # a comment or processing instruction
        return False
    closed = element.tag == "dialog" and "open" not in element.attrib
    hidden = "hidden" in element.attrib or HIDDEN_STYLE.search(element.get("style", ""))
    return not (element.tag in UNSEEN or closed or hidden)
