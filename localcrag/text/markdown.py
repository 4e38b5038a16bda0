"""Escaping for Markdown: any text comes out as text, never as markup."""

from __future__ import annotations

import re

# Also what makes links of bare addresses (://, www., @), and the & of character references.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>!#|~$&:@]|\bwww(?=\.))")
_SIGN = re.compile(r"^([-+])(?= )")
_LIST_ITEM = re.compile(r"^(\s*)\\?[-+*] ", re.MULTILINE)


def literal(text: str) -> str:
    """Return a text as Markdown that shows just that text: no HTML, no image, no link can come of it."""
    lines = _MARKDOWN.sub(_escaped, text)
    return _LIST_ITEM.sub(r"\1- ", lines)


def literal_line(text: str) -> str:
    """Return a line as Markdown that shows just that text, and no list item, even where it begins like one."""
    return _SIGN.sub(r"\\\1", _MARKDOWN.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    # "www." has no character that Markdown lets be escaped but its dot: the letters become references.
    return "".join(f"&#{ord(letter)};" for letter in found[1]) if found[1] == "www" else f"\\{found[1]}"
