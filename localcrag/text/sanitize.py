"""Sanitize untrusted text for prompts and Markdown, and find terms that must never be sent.

For prompts, the module removes text that readers would not see, and the building blocks of prompts and chat templates:
control tokens of any model family, role labels, brackets that look like citations, and images. It does not judge what a
text says; crag/screen does. The model's own control tokens are harmless in any case, because the backend tokenizes them
as plain text.

Terms that must never be sent are compared by letters, digits, marks and symbols, after NFKC normalisation and case
folding. White space, punctuation (hyphens, quotes, …) and invisible characters are ignored, so "Blue-Heron", "BLUE
HERON" and "blueherons" all contain "blue heron". A short term therefore matches many words. That is intended: blocking
a harmless query is better than sending a forbidden term.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from localcrag.text.words import one_line, replace_surrogates

_UNSEEN = re.compile(
    # Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt, 16.0) without joiners and single variation
    # selectors, and the control characters that are not white space.
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
    # Joiners belong between letters of Arabic and Indic scripts, and in emoji, but never next to a Latin letter.
    "|(?<=[\x00-\u024f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\x00-\u024f])|[\u200c\u200d]{2,}"
    # A single variation selector after an emoji selects its look; a sequence of them can hide a message.
    "|[\ufe00-\ufe0f]{2,}"
)
HIDDEN_MARKUP = re.compile(
    # Markup between backticks is shown as code, so it is not hidden.
    r"(?<!`)<!--.*?-->|^\s*<!--(?!.*-->).*\Z"
    r"|(?<!`)<(\w+)\b[^<>]*?(?:\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d])"
    r"|font-size\s*:\s*[01](?:px|pt|em)?\b|\bcolor\s*:\s*(?:white|transparent|#fff(?:fff)?)\b)[^<>]*>.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""Parts of a text that HTML markup hides from readers; Markdown and plain text files may contain such markup."""

_TEMPLATE_NAMES = (
    r"s|bos|eos|unk|pad|system|user|assistant|human|model|bot|developer|evidence|context|question|answer|instructions?"
    r"|system[-_]prompt|start_of_turn|end_of_turn|tool_call|tool_response|function_call|think|SYS"
)
_TOKENS = (
    # Control tokens of most model families, and DeepSeek's with full-width bars: <|im_start|>, <|eot_id|>, <｜User｜>.
    (re.compile(r"<\s*[|｜]([^|｜<>]{0,40})[|｜]\s*>"), r"‹\1›"),
    (re.compile(r"<[|｜]|[|｜]>"), "|"),
    (re.compile(rf"<{{1,2}}\s*(/?\s*(?:{_TEMPLATE_NAMES}))\s*>{{1,2}}", re.IGNORECASE), r"‹\1›"),
    (re.compile(r"\[\s*(/?\s*(?:INST|SYS|AVAILABLE_TOOLS|TOOL_CALLS|gMASK|MASK|CLS|SEP))\s*\]"), r"(\1)"),
    (re.compile(r"#{2,}\s*"), ""),
    (re.compile(r"`{3,}\w*|\"{3,}"), " "),
)
_LABELS = re.compile(
    r"\b(system|user|assistant|human|developer|question|answer|evidence|context|instructions?|response|input|output)"
    r"\s*:(?=\s|$)",
    re.IGNORECASE,
)
_LIKE_CITATION = re.compile(r"(?<![\w\])])\[(\s*\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\s*)\]")
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\s*\([^)\n]*\)")
_HTML_IMAGE = re.compile(r"<(?:img|iframe|script|object|embed|link|meta)\b[^>]*>", re.IGNORECASE)
_LINK = re.compile(r"\[([^\]\n]+)\]\s*\(\s*<?(https?://[^)\s>]+)>?[^)\n]*\)")


def sanitize(text: str) -> str:
    """Return the text in one line and safe for a prompt: control tokens and role labels lose their effect."""
    text = quotable(text)
    for token, harmless in _TOKENS:
        text = token.sub(harmless, text)
    return one_line(_LABELS.sub(r"\1 –", text))


def quotable(text: str, *, citations: bool = False) -> str:
    """Return the text in one line as readers see it: without hidden text and images, links with visible addresses.

    Numbers in square brackets look like citations, so they get round brackets, unless `citations` is True.
    """
    text = HIDDEN_MARKUP.sub(" ", remove_invisible(text))
    text = _HTML_IMAGE.sub(" ", _IMAGE.sub(r"\1", text))
    # Show the text and the address of a link, so that readers see where a click leads.
    text = _LINK.sub(r"\1 (\2)", text)
    return one_line(text if citations else _LIKE_CITATION.sub(r"(\1)", text))


def remove_invisible(text: str) -> str:
    """Return the text without invisible characters and without those that change the direction of writing."""
    return _UNSEEN.sub("", replace_surrogates(text))


# Includes the marks by which bare addresses become links (://, www., @), and the & of character references.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>!#|~$&:@]|\bwww(?=\.))")
_SIGN = re.compile(r"^([-+])(?= )")
_LIST_ITEM = re.compile(r"^(\s*)\\?[-+*] ", re.MULTILINE)


def escape_markdown(text: str) -> str:
    """Return Markdown that displays exactly this text, without producing HTML, images or links; lists stay lists."""
    lines = _MARKDOWN.sub(_escaped, text)
    return _LIST_ITEM.sub(r"\1- ", lines)


def escape_markdown_line(text: str) -> str:
    """Return Markdown that displays exactly this line, even if it begins like a list item."""
    return _SIGN.sub(r"\\\1", _MARKDOWN.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    # Markdown cannot escape letters with a backslash, so "www" becomes character references.
    return "".join(f"&#{ord(letter)};" for letter in found[1]) if found[1] == "www" else f"\\{found[1]}"


SHORTEST_TERM = 2
"""Minimum letters or digits of a term; a single one would occur in almost every query."""


def is_term(text: str) -> bool:
    """Return whether `text` is a usable term: it has at least two letters or digits."""
    return sum(letter.isalnum() for letter in _letters(text)) >= SHORTEST_TERM


def contains_term(text: str, terms: Sequence[str]) -> bool:
    """Return whether `text` contains one of the terms."""
    letters = _letters(text)
    return any(term in letters for term in map(_letters, terms) if term)


def remove_terms(query: str, terms: Sequence[str]) -> str:
    """Return `query` without the words that contain a term, or a part of a term that spans several words."""
    words = query.split()
    # Repeat until nothing is found: removing words can bring others together that form a term.
    while found := _words_with_terms(words, terms):
        words = [word for number, word in enumerate(words) if number not in found]
    return query if len(words) == len(query.split()) else " ".join(words)


def _words_with_terms(words: Sequence[str], terms: Sequence[str]) -> set[int]:
    """Return the indices of the words that contain a term or a part of one."""
    spelled = [_letters(word) for word in words]
    letters = "".join(spelled)
    word_of = [number for number, word in enumerate(spelled) for _ in word]
    found: set[int] = set()
    for term in filter(None, map(_letters, terms)):
        for place in re.finditer(f"(?={re.escape(term)})", letters):  # A look-ahead also finds places that overlap.
            found.update(word_of[place.start() : place.start() + len(term)])
    return found


def _letters(text: str) -> str:
    # Normalise again after case folding, which can produce sequences that NFKC composes.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LNMS")
