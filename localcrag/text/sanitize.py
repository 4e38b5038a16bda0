"""Sanitizing text by others: one line that a language model can read but is not steered by.

Takes away what a reader of the page would not see, and what a prompt or a model's chat template is built of: tokens of
any family, role labels, brackets that look like citations, images. Knows nothing of what a text says: that is
prompt_injection.py's part. The backend keeps the vocabulary's own control tokens text in any case; here are those of
all others.
"""

from __future__ import annotations

import re

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
