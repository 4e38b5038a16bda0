"""Sanitize foreign text for prompts and Markdown, and remove terms that must never be sent.

Takes away what a reader of the page would not see, and what a prompt or a model's chat template is built of: tokens of
any family, role labels, brackets that look like citations, images. Knows nothing of what a text says: that is
prompt_injection.py's part. The backend keeps the vocabulary's own control tokens text in any case; here are those of
all others.

Compared are letters, digits, marks and symbols, after Unicode's NFKC and case folding. White space, punctuation
(hyphens, quotes, …) and invisible characters do not count, so that "Blue-Heron", "BLUE HERON" and "blueherons" all
hold "blue heron". A short term is therefore found in many a word: better a search too few than one too many.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from localcrag.text.words import one_line, valid

_UNSEEN = re.compile(
    # Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt, 16.0) without joiners and single variation
    # selectors, and the control characters that are no white space.
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
    # Joiners belong between the letters of Arabic and Indic scripts, and in emoji; nowhere beside a Latin letter.
    "|(?<=[\x00-\u024f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\x00-\u024f])|[\u200c\u200d]{2,}"
    # One after an emoji says how it is drawn; a row of them is a message.
    "|[\ufe00-\ufe0f]{2,}"
)
HIDDEN_MARKUP = re.compile(
    # Between backticks, markup is written about and shown.
    r"(?<!`)<!--.*?-->|^\s*<!--(?!.*-->).*\Z"
    r"|(?<!`)<(\w+)\b[^<>]*?(?:\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d])"
    r"|font-size\s*:\s*[01](?:px|pt|em)?\b|\bcolor\s*:\s*(?:white|transparent|#fff(?:fff)?)\b)[^<>]*>.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""What a document's markup hides from its readers; Markdown and plain text files are read with it."""

_TEMPLATE_NAMES = (
    r"s|bos|eos|unk|pad|system|user|assistant|human|model|bot|developer|evidence|context|question|answer|instructions?"
    r"|system[-_]prompt|start_of_turn|end_of_turn|tool_call|tool_response|function_call|think|SYS"
)
_TOKENS = (
    # Of most families, and DeepSeek's with full-width bars: <|im_start|>, <|eot_id|>, <｜User｜>.
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
    """Return the text in one line, fit to stand in a prompt: what it says stays, what it could do goes."""
    text = quotable(text)
    for token, harmless in _TOKENS:
        text = token.sub(harmless, text)
    return one_line(_LABELS.sub(r"\1 –", text))


def quotable(text: str, *, citations: bool = False) -> str:
    """Return the text in one line as its readers see it: nothing hidden, no image, no link other than it reads.

    Numbers in brackets, which would look like citations, are put in round ones, unless they are `citations`.
    """
    text = HIDDEN_MARKUP.sub(" ", without_unseen(text))
    text = _HTML_IMAGE.sub(" ", _IMAGE.sub(r"\1", text))
    # Words and address: what a click leads to is then what is read.
    text = _LINK.sub(r"\1 (\2)", text)
    return one_line(text if citations else _LIKE_CITATION.sub(r"(\1)", text))


def without_unseen(text: str) -> str:
    """Return the text without characters that are not shown, or that change the order in which others are."""
    return _UNSEEN.sub("", valid(text))


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


SHORTEST = 2
"""Letters or digits that a term needs: of one alone, every query would be full."""


def is_term(text: str) -> bool:
    """Return whether `text` can be looked for: it has at least two letters or digits."""
    return sum(letter.isalnum() for letter in _letters(text)) >= SHORTEST


def holds(text: str, terms: Sequence[str]) -> bool:
    """Return whether `text` holds one of the terms."""
    letters = _letters(text)
    return any(term in letters for term in map(_letters, terms) if term)


def without(query: str, terms: Sequence[str]) -> str:
    """Return `query` without the words that hold a term, or a part of one that runs over several words."""
    words = query.split()
    # Once more after each round: words that come together when others go may make a term between them.
    while found := _touched(words, terms):
        words = [word for number, word in enumerate(words) if number not in found]
    return query if len(words) == len(query.split()) else " ".join(words)


def _touched(words: Sequence[str], terms: Sequence[str]) -> set[int]:
    """Return the numbers of the words that a term lies in, wholly or in part."""
    spelled = [_letters(word) for word in words]
    letters = "".join(spelled)
    word_of = [number for number, word in enumerate(spelled) for _ in word]
    found: set[int] = set()
    for term in filter(None, map(_letters, terms)):
        at = letters.find(term)
        while at >= 0:
            found.update(word_of[at : at + len(term)])
            at = letters.find(term, at + 1)
    return found


def _letters(text: str) -> str:
    # Normalised twice: folding can leave characters that NFKC would have composed.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LNMS")
