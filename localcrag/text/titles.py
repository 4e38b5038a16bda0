"""Titles of documents, found in plain text or Markdown, and the context line put before a passage.

“The tank holds 3.5 litres” answers a question about the KX-40 only if the reader knows which manual it is from. So a
passage is embedded and scored with its document's title before it (docs/lab/evaluation.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import PurePath

from localcrag.text.words import one_line, split_words

BEGINNING = 2000
"""Number of characters, after the front matter, that are searched for a document's title."""
LONGEST_MATTER = 20_000
"""Maximum characters of front matter."""
LONGEST = 120
"""Maximum characters of a title; it must leave room for the passage in the models' context windows."""
HEADING_WORDS = 15
"""Number of words from which a line is too long to be a heading."""

MOST_WORDS = 25
"""Maximum words of a title in a document's properties; a longer text is a summary."""

SEPARATOR = " › "
"""Separator between the headings of a path."""

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
"""Front matter of Markdown, as static site generators read it."""
_FRONT_MATTER_LINES = re.compile(r"(?:[^\s:][^:\n]{0,30}:.*|[ \t].*|-[ \t].*|#.*|)\Z")
_FRONT_MATTER_TITLE = re.compile(r"^title:(?:[ \t]*[|>][+-]?[ \t]*\n[ \t]+)?([^\n]+)$", re.MULTILINE)
_MAIL_FIELD = re.compile(
    r"^(from|to|cc|sent|date|subject|von|an|gesendet|datum|betreff|de|à|envoyé|objet|para|fecha|asunto)[ \t]*:(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SUBJECTS = ("subject", "betreff", "objet", "asunto")
_FIELD = re.compile(r"([^\W\d_][\w -]{1,20}):(?:[ \t]+(.*))?\Z")
_TITLE_FIELDS = frozenset(("title", "titel", "titre", "título", "titolo"))
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_H1 = re.compile(r"<h1\b[^>]*>(.*?)</h1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_ANCHOR = re.compile(r"(?:\{#[\w:.-]+\}|¶|\[(?:¶|#)?\]\(#[^()]*\))\Z")
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_IMAGE_ALT = re.compile(r"<img\b[^<>]*?\balt=[\"']([^\"'<>]*)", re.IGNORECASE)
_SITE = re.compile(r"\s+(?:[|·•–—:-]|::|»|«)\s+\S")
_IN_SENTENCE = re.compile(r"[.!?…,。！？，؟।][\"'”’»)\]]*$")
_DATA = frozenset(".csv .tsv .json .jsonl .ndjson .yaml .yml .toml .mbox .xlsx .xlsm .xlsb .xls .ods".split())
_BETWEEN_WORDS = re.compile(r"[-_.\s]+")
_UNDERLINE = re.compile(r"\n[ \t]*(?:=+|-+|~+)[ \t]*\Z")

# Texts at the top of a document or in its properties that do not say what the document is, in the most common
# languages of word processors; they are compared without case and punctuation.
_NO_TITLES = frozenset(
    title.strip()
    for title in """
    contents|table of contents|index|inhalt|inhaltsverzeichnis|inhaltsübersicht|sommaire|table des matières|índice|
    indice|sommario|contenido|tabla de contenido|inhoud|inhoudsopgave|spis treści|содержание|оглавление|目录|目次|
    confidential|strictly confidential|private and confidential|company confidential|proprietary and confidential|
    internal|internal use only|for internal use only|for official use only|vertraulich|streng vertraulich|confidentiel|
    confidencial|riservato|draft|entwurf|brouillon|for immediate release|immediate release|press release|news release|
    pressemitteilung|communiqué de presse|copy|original|sample|
    untitled|untitled document|untitled page|unbenannt|sans titre|sin título|senza titolo|no title|title|new page|
    document|new document|microsoft word document|powerpoint presentation|presentation|präsentation|slide|home|
    home page|homepage|welcome|cover|cover page|title page|logo|print|scan|scanned document|pdf|null|none|
    anonymous|powerpoint-präsentation|présentation powerpoint|presentación de powerpoint|document title|about:blank|
    filed|received|approved|paid|void|cancelled|certified copy|
    notitle|default|template|normal|unknown|united states|securities and exchange commission|
    united states securities and exchange commission
    """.split("|")
)
_NUMBERED_NAME = re.compile(
    r"(?:document|dokument|layout|book|slide|folie|diapositive|untitled|scan|img|image|page|seite)\W?\d+"
)
"""Default names that programs give ("Document 1"), and page numbers with their word ("page 3")."""
PAGE_NUMBER = re.compile(r"(?:page|seite|página|pagina|p\.?)\s*\d+(?:\s*(?:of|von|sur|de|di|/)\s*\d+)?", re.IGNORECASE)
_PROGRAM_PREFIX = re.compile(r"\Amicrosoft (?:office )?(?:word|powerpoint|excel|publisher)\s*-", re.IGNORECASE)
_EXHIBIT = re.compile(r"\bexhibit\s+\d", re.IGNORECASE)
"""Label that filers give a file, such as "Exhibit 10"; the file's own heading is more specific."""
_FILE_NAME = re.compile(
    r"\A.*[\w)]\.(?:docx?|docm|dotx?|pdf|xls[xmb]?|pptx?|odt|odp|rtf|txt|md|html?|xhtml|xml|tex|dvi|e?ps|ai|indd|qxd|fm|p65|pub|"
    r"pages|wpd|cdr|jpe?g|png|tiff?|dita|ditamap|book)\Z",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\A(?:(?:https?://|www\.)\S*|\S+@\S+)\Z", re.IGNORECASE)
_ZIP_CODE = re.compile(r" (?:[A-Z]{2}|[A-Z]\.[A-Z]\.) \d{5}(?:-\d{4})?\Z")
"""End of an American postal address."""
_LETTERS = re.compile(r"[^\W\d_].*[^\W\d_]|[\u2e80-\u9fff\uac00-\ud7a3]")
_DATE_WORDS = frozenset(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun date dated the of on day st nd rd th as last updated revised revision effective version at am pm utc gmt cet
    januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag den
    vom stand datum uhr
    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi
    samedi dimanche le du
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles
    jueves viernes sábado domingo de del el fecha
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    """.split()
)


def find_title(beginning: str, name: str) -> str:
    """Return a document's title: from its front matter, else its first line if that is a heading, else its file name.

    `beginning` is the beginning of the text. An e-mail's subject and an HTML heading come before the first line. Lines
    that cannot be a title, such as dates, are skipped. The title is one line of at most LONGEST characters, without
    Markdown.
    """
    whole = FRONT_MATTER.match(beginning)
    written = _FRONT_MATTER_TITLE.search(whole[1]) if whole else None
    matter = whole if written else _front_matter(beginning)
    if written and (stated := _line(written[1].strip().strip("\"'"))):
        return stated
    text = _COMMENT.sub("", beginning[matter.end() :] if matter else beginning)[:BEGINNING].lstrip()
    subject, text = _mail(text)
    if stated := subject or _title_field(text) or _marked_up(text):
        return _line(stated)
    text = _TAG.sub("", text)
    # A table row describes its own content and not the document, so rows are skipped.
    lines = (line for line in text.splitlines() if split_words(line) and " | " not in line)
    first = next((line for line in lines if may_be_title(_without_marks(line))), "")
    if is_heading(first):
        return _line(_without_marks(first))
    return title_from_name(name)


def end_of_front_matter(text: str) -> int:
    """Return the offset at which Markdown's front matter ends; 0 if there is none (a lone rule does not count)."""
    matter = _front_matter(text[:LONGEST_MATTER])
    return matter.end() if matter else 0


def _mail(text: str) -> tuple[str, str]:
    """Return the subject and the body if the text is an e-mail; otherwise "" and the whole text."""
    head, _, written = text.partition("\n\n")
    fields = {found[1].casefold(): found[2].strip() for found in _MAIL_FIELD.finditer(head)}
    # A single line such as "Date: …" may begin any text; an e-mail has at least two header fields.
    if not _MAIL_FIELD.match(head) or len(fields) == 1:
        return "", text
    return next((fields[name] for name in _SUBJECTS if fields.get(name)), ""), written


def _title_field(text: str) -> str:
    """Return the title in the fields that a text begins with, such as "Version: 2" and "Title: …"; "" without one."""
    fields: dict[str, str] = {}
    for line in text.partition("\n\n")[0].splitlines():
        found = _FIELD.match(line)
        if found:
            fields.setdefault(found[1].casefold(), found[2] or "")
        elif not line.startswith((" ", "\t")):
            return ""
    return next((value for name, value in fields.items() if name in _TITLE_FIELDS), "") if len(fields) > 1 else ""


def _marked_up(text: str) -> str:
    """Return the text of an HTML <h1> in a Markdown text; "" if there is none, or a "#" heading comes before it."""
    found = _H1.search(text)
    if not found or re.search(r"^#{1,6}[ \t]", text[: found.start()], re.MULTILINE):
        return ""
    return unescape(one_line(_TAG.sub(" ", found[1]))) or one_line(" ".join(_IMAGE_ALT.findall(found[1])))


def _front_matter(beginning: str) -> re.Match[str] | None:
    matter = FRONT_MATTER.match(beginning)
    lines = matter[1].splitlines() if matter else []
    keyed = any(re.match(r"[\w\"'][\w .:\"'-]{0,30}:(?:\s|\Z)", line) for line in lines)
    return matter if keyed and all(map(_FRONT_MATTER_LINES.match, lines)) else None


def is_named_by_file(name: str) -> bool:
    """Return whether a file of this name holds data or many e-mails, so that no line of it is its title."""
    return PurePath(name).suffix.casefold() in _DATA


def title_from_name(name: str) -> str:
    """Return the title made from a file's name."""
    return _line(_BETWEEN_WORDS.sub(" ", PurePath(name).stem))


def stated_title(written: str | None) -> str | None:
    """Return the title from a document's properties, or None if it cannot be one (`may_be_title`)."""
    title = one_line(written or "")
    return _line(title) if title and len(split_words(title)) <= MOST_WORDS and may_be_title(title) else None


def may_be_title(line: str) -> bool:
    """Return whether a line can be a title: it is not a date, number, file name, address, "Contents" or the like."""
    line = one_line(line)
    bare = line.strip(" .:*#-–—|[](){}<>\"'").casefold()
    named = not (bare in _NO_TITLES or _NUMBERED_NAME.fullmatch(bare) or PAGE_NUMBER.fullmatch(bare) or is_date(bare))
    marks = (_PROGRAM_PREFIX, _EXHIBIT, _FILE_NAME, _ADDRESS, _ZIP_CODE)
    return named and _LETTERS.search(line) is not None and not any(mark.search(line) for mark in marks)


def is_date(line: str) -> bool:
    """Return whether a line is a date: it has a digit, and all its words occur in dates."""
    words = re.findall(r"[^\W\d_]+", line.casefold())
    return any(letter.isdigit() for letter in line) and all(word in _DATE_WORDS for word in words)


def strip_site_name(title: str, headings: Sequence[str]) -> str:
    """Return a page's title without the site's name at its end, if the part before it is a heading of the page."""
    for heading in headings:
        rest = title[len(heading) :]
        if heading and title.casefold().startswith(heading.casefold()) and _SITE.match(rest):
            return title[: len(heading)]
    return title


def is_heading(line: str) -> bool:
    """Return whether a line is short and ends neither a sentence nor a clause, unlike "Dear Mr Roe,"."""
    return 0 < len(split_words(line)) < HEADING_WORDS and not _IN_SENTENCE.search(line.rstrip())


def heading_text(line: str) -> str:
    """Return the text of a heading, without Markdown's and HTML's marks, anchors and a final colon."""
    bare = _LINK.sub(r"\1", _ANCHOR.sub("", _TAG.sub("", _UNDERLINE.sub("", line)).rstrip()))
    return _line(_without_marks(bare).rstrip(" :"))


def with_context(title: str | None, text: str, *, section: str | None = None, lead: str | None = None) -> str:
    """Return a passage with its context before it (see `passage_context`)."""
    front = passage_context(title, text, section=section, lead=lead)
    return f"{front}\n\n{text}" if front else text


def passage_context(title: str | None, text: str, *, section: str | None = None, lead: str | None = None) -> str:
    """Return the context of a passage: title and path of headings in one line, then the text that introduces it.

    Title and headings that occur in the passage itself are left out.
    """
    path = SEPARATOR.join(part for part in (title, section) if part and part not in text)
    return "\n".join(part for part in (path, lead) if part)


def _without_marks(line: str) -> str:
    return one_line(line).lstrip("#>*=_ ").rstrip("#*=_ ")


def _line(title: str) -> str:
    return one_line(title)[:LONGEST].strip()
