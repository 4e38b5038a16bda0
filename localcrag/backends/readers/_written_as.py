"""Text files that are no running text, as Markdown: code, data, notebooks, subtitles, LaTeX, AsciiDoc."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from localcrag.backends.readers.restructured_text import as_markdown
from localcrag.text.table_lines import row_of

LEAST_RECORDS, MOST_COLUMNS = 2, 30
"""Of data that reads as a table: records in a row, and names of their values."""
MOST_DATA = 20_000_000
"""Characters of data that are parsed; longer ones are read as they stand."""
CUES_TOGETHER = 300
"""Characters of subtitles up to which they stand in one paragraph; at the end of a sentence, if there is one."""

CODE = frozenset(
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .java .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .kt .kts .scala "
    ".m .r .jl .lua .pl .pm .sh .bash .zsh .fish .ps1 .bat .cmd .sql .css .scss .less .vue .svelte .tf .gradle "
    ".groovy .dart .ex .exs .erl .hs .clj .lisp .el .vim .asm .cmake .mk .dockerfile .proto .graphql .yaml .yml "
    ".toml .ini .cfg .conf .properties .xml .xsd .xsl .bib".split()
)
"""Name endings of source code and settings: what is code to a reader of text."""
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


def as_it_reads(text: str, name: str) -> str:
    """Return a file's text as Markdown, by the ending of its name. Of most kinds it is that as it stands."""
    return WRITTEN_AS.get(PurePath(name).suffix.lower(), str)(text)


def _code(text: str) -> str:
    """Return code in fences, what stands apart in it in one each."""
    return "\n\n".join(map(_fenced, filter(str.strip, _GROUPS.split(text.strip("\n")))))


def _fenced(code: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(code)), default=0))
    return f"{fence}\n{code}\n{fence}"


def _data(text: str) -> str:
    """Return JSON as a table, where it is a list of records, else as code; whatever is none, as it stands."""
    try:
        data = json.loads(text) if len(text) <= MOST_DATA else None
    except (ValueError, RecursionError):
        data = None
    if data is None:
        return _code(text)
    if isinstance(data, dict):
        return "\n\n".join(_entries(data))
    return _table(data) or "\n\n".join(map(_fenced, map(_shown, data if isinstance(data, list) else [data])))


def _entries(data: dict[str, Any]) -> Iterator[str]:
    """Yield the entries of an object: tables below their names, single values together."""
    for nested, some in groupby(data.items(), key=lambda entry: _is_nested(entry[1])):
        entries = list(some)
        if not nested:
            yield _fenced("\n".join(f"{json.dumps(key)}: {_shown(value)}" for key, value in entries))
            continue
        for key, value in entries:
            table = _table(value)
            yield f"## {key}\n\n{table}" if table else _fenced(f"{json.dumps(key)}: {_shown(value)}")


def _lines_of_data(text: str) -> str:
    """Return JSON lines as one of a list of records."""
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        records = [json.loads(line) for line in lines] if len(text) <= MOST_DATA else []
    except (ValueError, RecursionError):
        records = []
    return _table(records) or "\n\n".join(map(_fenced, lines))


def _table(records: Any) -> str:
    """Return records of single values as a table; empty where they are something else."""
    if not isinstance(records, list) or len(records) < LEAST_RECORDS:
        return ""
    if not all(isinstance(record, dict) and not any(map(_is_nested, record.values())) for record in records):
        return ""
    names = list(dict.fromkeys(name for record in records for name in record))
    if not 1 < len(names) <= MOST_COLUMNS:
        return ""
    rule = row_of(["---"] * len(names))
    rows = (row_of([_value(record.get(name)) for name in names]) for record in records)
    return "\n".join([row_of(list(map(_value, names))), rule, *rows])


def _is_nested(value: object) -> bool:
    return isinstance(value, dict | list)


def _value(value: object) -> str:
    written = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return " ".join(written.split())


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _notebook(text: str) -> str:
    """Return a Jupyter notebook: its texts, its code, and what that printed."""
    try:
        cells = json.loads(text)["cells"]
        return "\n\n".join(part for cell in cells for part in _cell(cell) if part.strip())
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
    """Return what is said, paragraph by paragraph, each with the time that it begins at."""
    paragraphs: list[str] = []
    start, said = "", ""
    for cue in _CUE.finditer(f"{text}\n"):
        start = start or f"{int(cue['hours'] or 0)}:{cue['minutes']}:{cue['seconds']}"
        said = f"{said} {' '.join(_TAG.sub('', cue['said']).split())}".strip()
        if len(said) >= CUES_TOGETHER or (len(said) >= CUES_TOGETHER / 2 and _SENTENCE_END.search(said)):
            paragraphs.append(f"[{start}] {said}")
            start, said = "", ""
    if said:
        paragraphs.append(f"[{start}] {said}")
    return "\n\n".join(paragraphs) or text


def _asciidoc(text: str) -> str:
    """Return AsciiDoc with its titles and listings as Markdown has them; its attributes are left out."""
    told, done = [], 0
    for listing in _LISTING.finditer(text):
        told += [_titled(text[done : listing.start()]), _fenced(listing[2].rstrip("\n"))]
        done = listing.end()
    return "".join([*told, _titled(text[done:])])


def _titled(text: str) -> str:
    return _TITLE.sub(lambda found: f"{'#' * len(found[1])} {found[2]}", _ATTRIBUTE.sub("", text))


def _latex(text: str) -> str:
    """Return LaTeX without its commands: titles, items and rows as Markdown has them; formulas as they stand."""
    body = _TEX_BODY.search(text)
    title = _TEX_TITLE.search(text)
    told = _TEX_COMMENT.sub("", body[1] if body else text)
    told = _TEX_SECTION.sub(lambda found: f"\n{'#' * (2 + found[1].count('sub'))} {found[2]}\n", told)
    told = re.sub(r"^[ \t]*\\item(?:\[([^\]\n]*)\])?[ \t]*", r"- \1 ", told, flags=re.MULTILINE)
    told = _TEX_ROW.sub(lambda row: row_of([cell.strip() for cell in row[1].split("&")]), told)
    told = _TEX_LEFT_OUT.sub("", told)
    for _ in range(_DEEPEST_TEX):  # What stands within others comes out with them.
        told = _TEX_AROUND.sub(r"\1", told)
    told = re.sub(r"(?<!\\)~", " ", re.sub(r"\\([&%$#_{}])", r"\1", told))
    head = f"# {title[1].strip()}\n" if title else ""
    return head + re.sub(r"\n{3,}", "\n\n", re.sub(r"-  +", "- ", told)).strip("\n") + "\n"


WRITTEN_AS: MappingProxyType[str, Callable[[str], str]] = MappingProxyType(
    {
        ".rst": as_markdown,
        **dict.fromkeys((".adoc", ".asciidoc"), _asciidoc),
        **dict.fromkeys((".tex", ".latex"), _latex),
        ".ipynb": _notebook,
        ".json": _data,
        **dict.fromkeys((".jsonl", ".ndjson"), _lines_of_data),
        **dict.fromkeys((".srt", ".vtt"), _subtitles),
        **dict.fromkeys(CODE, _code),
    }
)
"""By name endings in lower case."""
