"""Plain text and Markdown in any encoding; code, data, notebooks and subtitles as Markdown.

The module detects a file's encoding, removes characters that a document's text may not contain, and converts other
kinds of text to Markdown.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import Path, PurePath
from typing import Any

import charset_normalizer

from localcrag.documents.readers import kinds
from localcrag.documents.readers.pictures import without_pictures
from localcrag.records.documents import Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import Heading, markdown_row

DEEPEST = 6
"""Number of title levels in Markdown."""
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*\Z")
_BORDER = re.compile(r"\s*=+(?:[ \t]+=+)+\s*\Z")
_SPAN = re.compile(r"\s*-+(?:[ \t]+-+)*\s*\Z")
_CODE = re.compile(r"(\s*)\.\.[ \t]+(?:code|code-block|sourcecode|parsed-literal|prompt)::[ \t]*([\w+-]*)")
_OPTION = re.compile(r"\s*:[\w-]+:")
_LITERAL = re.compile(r"``([^`\n]+)``")


def rst_to_markdown(text: str) -> str:
    """Return reStructuredText with its titles, code blocks and simple tables in Markdown."""
    return "\n".join(_RstConverter(text.split("\n")).lines())


class _RstConverter:
    """Converts reStructuredText line by line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._styles: list[tuple[str, bool]] = []

    def lines(self) -> Iterator[str]:
        while self._at < len(self._lines):
            line = self._line(0)
            if (code := _CODE.match(line)) and self._code_end(len(code[1])) > self._at + 1:
                yield from self._code(len(code[1]), code[2])
            elif title := self._title():
                yield title
            elif _BORDER.match(line) and (end := self._table_end()):
                yield from self._table(end)
            elif line.rstrip().endswith("::") and not line.lstrip().startswith(".. "):
                indent = len(line) - len(line.lstrip())
                yield _inline(re.sub(r"\s*::\s*\Z", ":" if line.strip() != "::" else "", line))
                if self._code_end(indent) > self._at + 1:
                    yield ""
                    yield from self._code(indent, "")
                else:
                    self._at += 1
            else:
                yield _inline(line)
                self._at += 1

    def _line(self, ahead: int) -> str:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else ""

    def _title(self) -> str:
        """Return the title that begins here; empty if none does. Styles get their levels in order of first use."""
        over = _ADORNMENT.match(self._line(0))
        title = self._line(1 if over else 0).strip()
        under = _ADORNMENT.match(self._line(2 if over else 1))
        if not title or not under or _ADORNMENT.match(title) or (self._at and self._lines[self._at - 1].strip()):
            return ""
        if len(under[0].rstrip()) + 1 < len(title) or (over and over[0].rstrip() != under[0].rstrip()):
            return ""
        style = (under[1], over is not None)
        if style not in self._styles:
            self._styles.append(style)
        self._at += 3 if over else 2
        return f"{'#' * min(self._styles.index(style) + 1, DEEPEST)} {_inline(title)}"

    def _code_end(self, indent: int) -> int:
        """Return the end of the lines that are indented more than `indent`, below a line that introduces code."""
        end = self._at + 1
        for at in range(self._at + 1, len(self._lines)):
            line = self._lines[at]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            end = at + 1 if line.strip() else end
        return end

    def _code(self, indent: int, language: str) -> Iterator[str]:
        end = self._code_end(indent)
        body = list(self._lines[self._at + 1 : end])
        while body and (not body[0].strip() or _OPTION.match(body[0])):
            body.pop(0)
        least = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
        yield f"{' ' * indent}```{language}"
        yield from (" " * indent + line[least:] for line in body)
        yield f"{' ' * indent}```"
        self._at = end

    def _table_end(self) -> int:
        """Return the number of the line with a simple table's lower border; 0 if there is none."""
        borders = []
        for at in range(self._at + 1, len(self._lines)):
            if _BORDER.match(self._lines[at]):
                borders.append(at)
                below = self._lines[at + 1] if at + 1 < len(self._lines) else ""
                if len(borders) > 1 or not below.strip():
                    return at
        return 0

    def _table(self, end: int) -> Iterator[str]:
        """Yield a simple table in Markdown; a row with an empty first column continues the row above."""
        starts = [run.start() for run in re.finditer("=+", self._line(0))]
        rows: list[list[str]] = []
        heads = 0
        for line in self._lines[self._at + 1 : end]:
            if _BORDER.match(line):
                heads = len(rows)
            elif line.strip() and not _SPAN.match(line):
                cells = [line[begin:stop].strip() for begin, stop in zip(starts, [*starts[1:], None], strict=True)]
                if rows and not cells[0] and len(rows) != heads:
                    rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
                else:
                    rows.append(cells)
        self._at = end + 1
        if heads > 1:
            rows[:heads] = [[" ".join(filter(None, texts)) for texts in zip(*rows[:heads], strict=True)]]
        for number, row in enumerate(rows):
            yield markdown_row([_inline(cell) for cell in row])
            if heads and not number:
                yield f"|{' --- |' * len(row)}"


def _inline(text: str) -> str:
    return _LITERAL.sub(r"`\1`", text)


LEAST_RECORDS, MOST_COLUMNS = 2, 30
"""Minimum records and maximum columns of data shown as a table."""
MOST_DATA = 20_000_000
"""Maximum characters of data that are parsed; longer data is shown as code."""
PARAGRAPH_CHARACTERS = 300
"""Characters of subtitles that fill a paragraph; from half of that on, a sentence end also ends it."""

CODE = frozenset(
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .java .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .kt .kts .scala "
    ".m .r .jl .lua .pl .pm .sh .bash .zsh .fish .ps1 .bat .cmd .sql .css .scss .less .vue .svelte .tf .gradle "
    ".groovy .dart .ex .exs .erl .hs .clj .lisp .el .vim .asm .cmake .mk .dockerfile .proto .graphql .yaml .yml "
    ".toml .ini .cfg .conf .properties .xml .xsd .xsl .bib".split()
)
"""File extensions of source code and settings, which are shown as code."""
_GROUPS = re.compile(r"\n(?:[ \t]*\n)+(?=\S)")
_TICKS = re.compile(r"`{3,}")
_CUE = re.compile(
    r"^(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d\d):(?P<seconds>\d\d)[.,]\d{1,3}[ \t]*-->[^\n]*\n(?P<said>(?:[^\n]+\n?)*)",
    re.MULTILINE,
)
_TAG = re.compile(r"</?[^<>\n]*>|\{\\[^{}\n]*\}")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)]*\Z")
_TITLE = re.compile(r"^(={1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?[ \t]*$", re.MULTILINE)
_LISTING = re.compile(r"^(-{4,}|\.{4,})[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_ATTRIBUTE = re.compile(r"^(?::[\w-]+!?:.*|\[[^\]\n]*\]|//(?!//).*)\n", re.MULTILINE)

_DEEPEST_TEX = 4
_TEX_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.DOTALL)
_TEX_TITLE = re.compile(r"\\title\{([^{}\n]+)\}")
_TEX_COMMENT = re.compile(r"(?<!\\)%.*")
_TEX_SECTION = re.compile(r"\\(chapter|section|subsection|subsubsection)\*?\{([^{}\n]+)\}")
_TEX_ROW = re.compile(r"^[ \t]*+([^\n]*?[^\\\n]&[^\n]*?)[ \t]*(?:\\\\(?:\[[^\]\n]*\])?)?[ \t]*$", re.MULTILINE)
_TEX_LEFT_OUT = re.compile(
    r"\\(?:begin|end)\{(?!equation|align|math|displaymath)[^{}\n]*\}(?:\[[^\]\n]*\])?(?:\{[^{}\n]*\})?"
    r"|\\(?:label|cite[a-z]*|ref|pageref|includegraphics|bibliography|bibliographystyle|vspace|hspace)\*?"
    r"(?:\[[^\]\n]*\])?\{[^{}\n]*\}"
    r"|\\(?:hline|toprule|midrule|bottomrule|maketitle|tableofcontents|centering|noindent|newpage|clearpage|\\)(?![a-zA-Z])"
)
_TEX_AROUND = re.compile(r"\\(?:text[a-z]+|emph|underline|footnote|caption|url|paragraph|mbox)\*?\{([^{}]*)\}")


def _code(text: str) -> str:
    """Return code in fences, one for each block between empty lines."""
    return "\n\n".join(map(_fenced, filter(str.strip, _GROUPS.split(text.strip("\n")))))


def _fenced(code: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(code)), default=0))
    return f"{fence}\n{code}\n{fence}"


def _json(text: str) -> str:
    """Return JSON as Markdown: lists of records as tables, everything else as code."""
    try:
        data = json.loads(text) if len(text) <= MOST_DATA else None
    except (ValueError, RecursionError):
        data = None
    if data is None or isinstance(data, dict):
        return _code(text) if data is None else "\n\n".join(_entries(data))
    return _table(data) or "\n\n".join(map(_fenced, map(_pretty_json, data if isinstance(data, list) else [data])))


def _entries(data: dict[str, Any]) -> Iterator[str]:
    """Yield the entries of an object: tables below their names, consecutive single values together."""
    for nested, some in groupby(data.items(), key=lambda entry: _is_nested(entry[1])):
        entries = list(some)
        if not nested:
            yield _fenced("\n".join(f"{json.dumps(key)}: {_pretty_json(value)}" for key, value in entries))
            continue
        for key, value in entries:
            table = _table(value)
            yield f"## {key}\n\n{table}" if table else _fenced(f"{json.dumps(key)}: {_pretty_json(value)}")


def _json_lines(text: str) -> str:
    """Return JSON Lines as Markdown, like a JSON list of these records."""
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        records = [json.loads(line) for line in lines] if len(text) <= MOST_DATA else []
    except (ValueError, RecursionError):
        records = []
    return _table(records) or "\n\n".join(map(_fenced, lines))


def _table(records: Any) -> str:
    """Return records of single values as a table; empty for any other data."""
    if not isinstance(records, list) or len(records) < LEAST_RECORDS:
        return ""
    if not all(isinstance(record, dict) and not any(map(_is_nested, record.values())) for record in records):
        return ""
    names = list(dict.fromkeys(name for record in records for name in record))
    if not 1 < len(names) <= MOST_COLUMNS:
        return ""
    rule = markdown_row(["---"] * len(names))
    rows = (markdown_row([_value(record.get(name)) for name in names]) for record in records)
    return "\n".join([markdown_row(list(map(_value, names))), rule, *rows])


def _is_nested(value: object) -> bool:
    return isinstance(value, dict | list)


def _value(value: object) -> str:
    written = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return " ".join(written.split())


def _pretty_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _notebook(text: str) -> str:
    """Return a Jupyter notebook as Markdown: its texts, its code, and the code's output."""
    try:
        return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _cell(cell) if part.strip())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return _code(text)


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = _joined(cell.get("source"))
    if cell.get("cell_type") != "code":
        yield source
        return
    if source.strip():
        yield _fenced(source.strip("\n"))
    for output in cell.get("outputs") or ():
        held = output.get("text") or (output.get("data") or {}).get("text/plain")
        if printed := _joined(held).strip("\n"):
            yield _fenced(printed)


def _joined(source: str | Iterable[str] | None) -> str:
    return source if isinstance(source, str) else "".join(source or ())


def _subtitles(text: str) -> str:
    """Return the spoken text in paragraphs, each with the time at which it begins."""
    paragraphs: list[str] = []
    start, spoken = "", ""
    for cue in _CUE.finditer(f"{text}\n"):
        start = start or f"{int(cue['hours'] or 0)}:{cue['minutes']}:{cue['seconds']}"
        spoken = f"{spoken} {' '.join(_TAG.sub('', cue['said']).split())}".strip()
        if len(spoken) >= PARAGRAPH_CHARACTERS / (2 if _SENTENCE_END.search(spoken) else 1):
            paragraphs.append(f"[{start}] {spoken}")
            start, spoken = "", ""
    paragraphs += [f"[{start}] {spoken}"] if spoken else []
    return "\n\n".join(paragraphs) or text


def _asciidoc(text: str) -> str:
    """Return AsciiDoc with its titles and listings in Markdown, without its attributes."""
    parts, done = [], 0
    for listing in _LISTING.finditer(text):
        parts += [_convert_titles(text[done : listing.start()]), _fenced(listing[2].rstrip("\n"))]
        done = listing.end()
    return "".join([*parts, _convert_titles(text[done:])])


def _convert_titles(text: str) -> str:
    return _TITLE.sub(lambda found: f"{'#' * len(found[1])} {found[2]}", _ATTRIBUTE.sub("", text))


def _latex(text: str) -> str:
    """Return LaTeX without its commands: titles, items and rows in Markdown, formulas unchanged."""
    body = _TEX_BODY.search(text)
    title = _TEX_TITLE.search(text)
    result = _TEX_COMMENT.sub("", body[1] if body else text)
    result = _TEX_SECTION.sub(lambda found: f"\n{'#' * (2 + found[1].count('sub'))} {found[2]}\n", result)
    result = re.sub(r"^[ \t]*\\item(?:\[([^\]\n]*)\])?[ \t]*", r"- \1 ", result, flags=re.MULTILINE)
    result = _TEX_ROW.sub(lambda row: markdown_row([cell.strip() for cell in row[1].split("&")]), result)
    result = _TEX_LEFT_OUT.sub("", result)
    for _ in range(_DEEPEST_TEX):  # One pass for each level of nested commands.
        result = _TEX_AROUND.sub(r"\1", result)
    result = re.sub(r"(?<!\\)~", " ", re.sub(r"\\([&%$#_{}])", r"\1", result))
    head = f"# {title[1].strip()}\n" if title else ""
    return head + re.sub(r"\n{3,}", "\n\n", re.sub(r"-  +", "- ", result)).strip("\n") + "\n"


CONVERTERS: Mapping[str, Callable[[str], str]] = {
    ".rst": rst_to_markdown,
    **dict.fromkeys((".adoc", ".asciidoc"), _asciidoc),
    **dict.fromkeys((".tex", ".latex"), _latex),
    ".ipynb": _notebook,
    ".json": _json,
    **dict.fromkeys((".jsonl", ".ndjson"), _json_lines),
    **dict.fromkeys((".srt", ".vtt"), _subtitles),
    **dict.fromkeys(CODE, _code),
}
"""Conversions to Markdown, by file extension in lower case."""


# UTF-32's mark begins with UTF-16's, so it has to be tested first.
UTF = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
BYTE_ORDER_MARKS = {"\ufeff".encode(encoding): encoding for encoding in UTF}
# If two encodings fit a text equally well, the one named first is more likely.
WESTERN = ("cp1252", "cp1250", "iso8859_2", "cp1254")
OTHER_ENCODINGS = """
cp1252 cp932 gb18030 cp949 big5 euc_jp cp1251 cp1250 cp1254 cp1253 cp1255 cp1256 koi8_r iso8859_2 iso8859_5 cp866
""".split()
# In Latin scripts, accented letters are single bytes between ASCII letters; in other scripts nearly every byte is above
# 127. In 30 short samples in 16 languages, a run has at most 1.7 bytes (Polish) in Latin scripts, and at least 2.2
# (Japanese) in others.
WESTERN_RUN = 2.0
# charset-normalizer compares every candidate over the whole sample; a larger sample does not change its result.
SAMPLE_BYTES = 100_000
# A text file has almost no control characters; machine code and media have several per cent.
CONTROL_SHARE = 0.01
# Maximum share of damaged or pasted characters for a declared encoding to count as correct.
STRAY_SHARE = 0.005
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")

NEWLINES = re.compile(r"\r\n?|[\f\v\x85]")
# Controls except tab and newline; lone surrogates and non-characters, which no database or model accepts.
UNWANTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return a generator of its one page, which has no number.

    Raises UnreadableDocument, both here and while the page is read.
    """
    kinds.expect_text(path, name, "a text file", head)
    return _pages(path, name)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    content = without_pictures(normalise(decode(path.read_bytes(), name)))
    # Text of most other kinds stays unchanged.
    yield Page(None, CONVERTERS.get(PurePath(name).suffix.lower(), str)(content))


def normalise(text: str) -> str:
    """Return `text` in NFC, with newlines as line ends, and without control characters except newline and tab."""
    return unicodedata.normalize("NFC", UNWANTED.sub("", NEWLINES.sub("\n", text)))


def place_headings(
    lines: Sequence[str], marked: Iterable[tuple[int, int, int]]
) -> tuple[list[int], tuple[Heading, ...]]:
    """Return the offset of each line in the text that the lines make up, and the headings in it.

    In `marked`, each heading has its first line, the line behind its last, and its level.
    """
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    headings = []
    for first, behind, level in marked:
        indent = len(lines[first]) - len(lines[first].lstrip())
        headings.append(Heading(starts[first] + indent, starts[behind] - 1, level))
    return starts, tuple(found for found in headings if found.start < found.end)


def decode(data: bytes, name: str, declared: str | None = None) -> str:
    """Return `data` decoded by its byte order mark, as UTF-8, by `declared`, or by a guess from its bytes.

    `declared` is an encoding that the file claims for itself; it is used unless it is clearly wrong. Raises
    UnreadableDocument if the bytes are not text.
    """
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return _text(data[len(mark) :].decode(encoding, "replace"), name)
    # ISO 2022 is ASCII with escape sequences.
    if b"\x1b$" in data and data.isascii():
        return _text(data.decode("iso2022_jp", "replace"), name)
    # Bytes above 127 that happen to be valid UTF-8 are UTF-8, whatever the file claims.
    for text in (_utf16(data), _decode_strictly(data, "utf-8")):
        if text is not None:
            return _text(text, name)
    text = None if declared is None else _decode_nearly(data, declared)
    text = _mostly_utf8(data) if text is None else text
    return _text(_guess(data, name) if text is None else text, name)


def _text(text: str, name: str) -> str:
    if len(CONTROLS.findall(text)) > CONTROL_SHARE * len(text):
        raise _not_text_error(name)
    return text


def _not_text_error(name: str) -> UnreadableDocument:
    remedy = "Open it in the program it comes from, save it as UTF-8 text or as PDF, and add that."
    return UnreadableDocument(f"{name} is not a text file: its bytes are not in any known text encoding. {remedy}")


def _decode_strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _decode_nearly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError):  # unknown, or not a text encoding
        return None
    return text if text.count("\ufffd") <= STRAY_SHARE * len(text) else None


def _utf16(data: bytes) -> str | None:
    """Return the text of UTF-16 without a byte order mark, in which every other byte of ASCII characters is NUL."""
    even, odd = data[0:SAMPLE_BYTES:2].count(0), data[1:SAMPLE_BYTES:2].count(0)
    # A fifth of the bytes must be NUL, nearly all of them in the same half of each pair.
    if even + odd < min(len(data), SAMPLE_BYTES) * 0.2 or min(even, odd) * 20 > max(even, odd):
        return None
    return _decode_strictly(data[: len(data) // 2 * 2], "utf-16-le" if odd > even else "utf-16-be")


def _mostly_utf8(data: bytes) -> str | None:
    """Return the text of UTF-8 with a few stray bytes, which are decoded as cp1252."""
    text = data.decode("utf-8", "surrogateescape")
    strays = len(re.findall(r"[\udc80-\udcff]", text))
    beyond_ascii = len(re.findall(r"[^\x00-\x7f\udc80-\udcff]", text))
    # If there are more stray bytes than a tenth of the valid characters beyond ASCII, the text is in another encoding.
    if strays * 10 > beyond_ascii:
        return None
    return re.sub("[\udc80-\udcff]", lambda one: bytes([ord(one[0]) - 0xDC00]).decode("cp1252", "replace"), text)


def _guess(data: bytes, name: str) -> str:
    # Lines in ASCII do not depend on the encoding.
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:SAMPLE_BYTES]
    runs = re.findall(rb"[\x80-\xff]+", lines)
    western = sum(map(len, runs)) < WESTERN_RUN * len(runs)
    candidates = WESTERN if western else OTHER_ENCODINGS
    matches = charset_normalizer.from_bytes(lines, cp_isolation=list(candidates))
    best = matches.best()
    if best is None and not western:
        raise _not_text_error(name)
    # If several candidates fit equally well, the first in the list is chosen.
    equals = [m.encoding for m in matches if best and m.chaos <= best.chaos and m.coherence >= best.coherence]
    return data.decode(min(equals, key=candidates.index, default="cp1252"), "replace")
