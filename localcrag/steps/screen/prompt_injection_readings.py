"""Readings of prompt injection: a sentence as it is meant to be read, however it is spelt or coded.

What is decoded is put behind the sentence, so that rules find it there; nothing of the sentence itself is lost.
"""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from localcrag.text.sanitize import without_unseen
from localcrag.text.words import one_line

_BASE64 = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{24,}={0,2}")
_HEX = re.compile(r"(?<!\w)(?:[0-9A-Fa-f]{2}[ :]?){12,}(?!\w)")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){2,}")
# Letters one by one with the same sign between them; with spaces four, since "a b c" is a list.
_LETTERS_APART = re.compile(r"(?<!\w)[^\W_](?:( )[^\W_](?:\1[^\W_]){2,}|([.\u00b7_-])[^\W_](?:\2[^\W_])+)(?!\w)")
_LOOKALIKES = str.maketrans("аеорсухіјѕһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕКМНОРСТХ", "aeopcyxijshdqwABEZHIKMNOPTYXoABEKMHOPCTX")
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_DIGITS_AS_LETTERS = str.maketrans("013457@$", "oieastas")
_WORD_WITH_DIGITS = re.compile(r"(?<![\w-])(?=\S*[a-z])[a-z013457@$]{3,}(?![\w-])")
_DIGIT_WITHIN = re.compile(r"(?<![\w-])[013457@$]?[a-z]+[013457@$]{1,2}[a-z][a-z013457@$]*(?![\w-])")
_COMMON = frozenset(
    "the and you your with that not what this only from say write answer reply ignore forget question instructions "
    "previous above instead word tell user model output".split()
)
_RUN = 4
"""So many words without a common one may be common ones in disguise, where two of them are."""


def readable(text: str) -> str:
    """Return a text as its writer means it to be read: nothing unseen, no lookalike letters, what is coded decoded."""
    text = html.unescape(text) if "&" in text else text
    text = _PERCENT.sub(lambda coded: unquote(coded[0]), text) if "%" in text else text
    text = without_unseen(text if text.isascii() else text.translate(_TAGS))
    if not text.isascii():
        text = re.sub(r"\w+", lambda word: _one_script(word[0]), unicodedata.normalize("NFKC", text))
    text = _LETTERS_APART.sub(lambda row: _together(row[0]), text)
    return one_line(" ".join([text, *_decoded(text)]))


def _one_script(word: str) -> str:
    """Return a word of Latin letters without the Greek and Cyrillic ones that look like some."""
    return word.translate(_LOOKALIKES) if re.search(r"[A-Za-z]", word) else word


def _together(row: str) -> str:
    """Return a row of letters as a word; of digits, like the number of a version, as it is."""
    word = re.sub(r"[\W_]", "", row)
    return word if sum(map(str.isalpha, word)) > len(word) / 2 else row


def _decoded(text: str) -> Iterator[str]:
    """Yield the words that base64, hexadecimal numbers, digits in place of letters, rot13 and backward writing hide."""
    yield from (_words(blob, _from_base64) for blob in _BASE64.findall(text))
    yield from (_words(blob, _from_hex) for blob in _HEX.findall(text))
    if len(_DIGIT_WITHIN.findall(text.casefold())) > 1:
        yield _WORD_WITH_DIGITS.sub(lambda word: word[0].translate(_DIGITS_AS_LETTERS), text.casefold())
    for run in _runs_without_common_words(text):
        yield from (said for said in (codecs.encode(run, "rot13"), run[::-1]) if _common(said) > 1)


def _from_base64(blob: str) -> bytes:
    return base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True)


def _from_hex(blob: str) -> bytes:
    return bytes.fromhex(re.sub(r"\W", "", blob))


def _words(blob: str, decode: Callable[[str], bytes]) -> str:
    """Return what a blob hides where that is words, else nothing."""
    try:
        words = decode(blob).decode("ascii")
    except ValueError:
        return ""
    return words if words.isprintable() and " " in words else ""


def _runs_without_common_words(text: str) -> list[str]:
    """Return the stretches of at least _RUN words in a row of which none is a common one."""
    runs: list[list[str]] = [[]]
    for word in text.split():
        if word.casefold().strip(".,;:!?()“”\"'") in _COMMON:
            runs.append([])
        else:
            runs[-1].append(word)
    return [" ".join(run) for run in runs if len(run) >= _RUN]


def _common(text: str) -> int:
    return sum(word in _COMMON for word in re.findall(r"\w+", text.casefold()))
