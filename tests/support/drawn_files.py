"""Charts, diagrams and text boxes as parts of office files, made from scratch."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tests.support.documents import make_docx, replace_part
from tests.support.office_files import make_pptx, make_xlsx

_OOXML = "http://schemas.openxmlformats.org"
RELATION = f"{_OOXML}/officeDocument/2006/relationships"
A, C = f'xmlns:a="{_OOXML}/drawingml/2006/main"', f'xmlns:c="{_OOXML}/drawingml/2006/chart"'
DGM, R = f'xmlns:dgm="{_OOXML}/drawingml/2006/diagram"', f'xmlns:r="{RELATION}"'
_CX = 'xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"'
_WORD = " ".join(
    (
        f'xmlns:w="{_OOXML}/wordprocessingml/2006/main" xmlns:mc="{_OOXML}/markup-compatibility/2006"',
        *(A, C, DGM, R),
        f'xmlns:wp="{_OOXML}/drawingml/2006/wordprocessingDrawing" xmlns:v="urn:schemas-microsoft-com:vml"',
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"',
    )
)


def chart(
    title: str, series: Mapping[str, Sequence[float]], categories: Sequence[str | float], *, code: str = "General",
    kind: str = "bar", of_categories: str = "", cells: str = "", from_1904: bool = False,
) -> bytes:  # fmt: skip
    """Return a chart's part; `code` is the format of its values, `of_categories` that of its categories.

    `cells` says where its values stand. Categories that are texts are kept as such.
    """
    across, up = ("xVal", "yVal") if kind == "scatter" else ("cat", "val")
    cached = f"<c:formatCode>{of_categories}</c:formatCode>{_points(categories)}"
    of = "str" if any(isinstance(one, str) for one in categories) else "num"
    named = f"<c:{of}Ref><c:{of}Cache>{cached}</c:{of}Cache></c:{of}Ref>"
    written = "".join(
        f"<c:ser><c:tx><c:strRef><c:strCache>{_points([name])}</c:strCache></c:strRef></c:tx><c:{across}>{named}"
        f"</c:{across}><c:{up}><c:numRef>{cells}<c:numCache><c:formatCode>{code}</c:formatCode>{_points(values)}</c:numCache>"
        f"</c:numRef></c:{up}></c:ser>"
        for name, values in series.items()
    )
    axis = f"<c:valAx>{_title('Number of berths')}</c:valAx>" if kind == "bar" else ""
    return (
        f'<c:chartSpace {C} {A}><c:date1904 val="{from_1904:d}"/>'
        f"<c:chart>{_title(title)}<c:plotArea><c:{kind}Chart>{written}</c:{kind}Chart>{axis}"
        "</c:plotArea></c:chart></c:chartSpace>"
    ).encode()


def new_chart(title: str, name: str, values: Mapping[str, float]) -> bytes:
    """Return the part of a chart of the kinds since 2016, as a waterfall."""
    names, numbers = (
        "".join(f'<cx:pt idx="{at}">{one}</cx:pt>' for at, one in enumerate(some)) for some in (values, values.values())
    )
    return (
        f'<cx:chartSpace {_CX} {A}><cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:lvl>{names}</cx:lvl>'
        f'</cx:strDim><cx:numDim type="val"><cx:lvl>{numbers}</cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart>'
        f"<cx:title><cx:tx><cx:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></cx:rich></cx:tx></cx:title><cx:plotArea>"
        f"<cx:plotAreaRegion><cx:series><cx:tx><cx:txData><cx:v>{name}</cx:v></cx:txData></cx:tx>"
        '<cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart></cx:chartSpace>'
    ).encode()


def _points(values: Sequence[str | float]) -> str:
    return "".join(f'<c:pt idx="{at}"><c:v>{escape(str(one))}</c:v></c:pt>' for at, one in enumerate(values))


def _title(text: str) -> str:
    return f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></c:rich></c:tx></c:title>"


def diagram(texts: Sequence[str], within: Sequence[tuple[int, int]]) -> bytes:
    """Return a diagram's part; `within` are numbers of texts from 1, each with one below it. 0 is the top."""
    points = "".join(
        f'<dgm:pt modelId="{at}"><dgm:t><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for at, text in enumerate(texts, start=1)
    )
    lines = "".join(
        f'<dgm:cxn modelId="9{at}" srcId="{above}" destId="{below}" srcOrd="{at}"/>'
        for at, (above, below) in enumerate(within)
    )
    return (
        f'<dgm:dataModel {DGM} {A}><dgm:ptLst><dgm:pt modelId="0" type="doc"/>{points}</dgm:ptLst><dgm:cxnLst>{lines}'
        "</dgm:cxnLst></dgm:dataModel>"
    ).encode()


def text_box(text: str) -> str:
    """Return a text box of Word, within a paragraph's run."""
    inner = f"<w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent>"
    return graphic(f"<wps:wsp><wps:txbx>{inner}</wps:txbx></wps:wsp>")


def old_text_box(text: str) -> str:
    """Return a text box of Word before 2010."""
    inner = f"<w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent>"
    return f"<w:pict><v:shape><v:textbox>{inner}</v:textbox></v:shape></w:pict>"


def either(new: str, old: str) -> str:
    """Return a drawing, and what old programs show in its place."""
    choice = f'<mc:Choice Requires="wps">{new}</mc:Choice>'
    return f"<mc:AlternateContent>{choice}<mc:Fallback>{old}</mc:Fallback></mc:AlternateContent>"


def margin(kind: str, drawings: str) -> bytes:
    """Return the part of a header (`hdr`) or footer (`ftr`) of Word that shows drawings beside a word."""
    return f"<w:{kind} {_WORD}><w:p><w:r><w:t>Draft</w:t>{drawings}</w:r></w:p></w:{kind}>".encode()


def graphic(inner: str) -> str:
    """Return a drawing of Word."""
    return (
        f"<w:drawing><wp:inline><a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></wp:inline></w:drawing>"
    )


def drawn_docx(path: Path, drawings: Sequence[str], parts: Mapping[str, bytes] | None = None) -> Path:
    """Write a text of Word: a drawing each between words. `parts` can be referred to by their names."""
    body = "".join(
        f"<w:p><w:r><w:t>Before {at}, </w:t></w:r><w:r>{one}</w:r><w:r><w:t>behind.</w:t></w:r></w:p>"
        for at, one in enumerate(drawings, start=1)
    )
    replace_part(
        make_docx(path, ["x"]),
        "word/document.xml",
        f"<w:document {_WORD}><w:body>{body}</w:body></w:document>".encode(),
    )
    put_parts(path, "word/_rels/document.xml.rels", {name: f"word/{name}" for name in parts or {}})
    for name, data in (parts or {}).items():
        replace_part(path, f"word/{name}", data)
    return path


FEES: Mapping[str, Sequence[Sequence[str | float]]] = {
    "Fees": [["Berth", "Fee"], ["A", 3.0]],
    "Other": [["Who", "What"], ["B", "c"]],
}


def commented_xlsx(
    path: Path, chart_part: bytes, notes: Mapping[str, str], *, threaded: str = "",
    sheets: Mapping[str, Sequence[Sequence[str | float]]] = FEES, on: int = 1,
) -> Path:  # fmt: skip
    """Write a workbook of `sheets`: `on` the first a text box, a chart, and notes of Bo by their cells.

    `threaded` is what a comment of the kind since 2018 says on the first of these cells.
    """
    make_xlsx(path, sheets)
    space = f'xmlns="{_OOXML}/spreadsheetml/2006/main"'
    listed = "".join(
        f'<comment ref="{at}" authorId="0"><text><t>Bo: {one}</t></text></comment>' for at, one in notes.items()
    )
    by = "<authors><author>Bo</author></authors>"
    box = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>Prices of 2026</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    frame = '<a:graphic><a:graphicData><c:chart r:id="chart1"/></a:graphicData></a:graphic>'
    own = f'xmlns:xdr="{_OOXML}/drawingml/2006/spreadsheetDrawing" {A} {C} {R}'
    parts = {
        "xl/comments1.xml": f"<comments {space}>{by}<commentList>{listed}</commentList></comments>",
        "xl/drawings/drawing1.xml": f"<xdr:wsDr {own}>{box}<xdr:graphicFrame>{frame}</xdr:graphicFrame></xdr:wsDr>",
    }
    if threaded:
        kind = 'xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"'
        one = f'<threadedComment ref="{next(iter(notes))}" personId="p1"><text>{threaded}</text></threadedComment>'
        parts["xl/threadedComments/threadedComment1.xml"] = f"<ThreadedComments {kind}>{one}</ThreadedComments>"
        parts["xl/persons/person.xml"] = f'<personList {kind}><person id="p1" displayName="Ada"/></personList>'
    put_parts(path, f"xl/worksheets/_rels/sheet{on}.xml.rels", {f"r{at}": name for at, name in enumerate(parts)})
    put_parts(path, "xl/drawings/_rels/drawing1.xml.rels", {"chart1": "xl/charts/chart1.xml"})
    for name, text in parts.items():
        replace_part(path, name, text.encode())
    return replace_part(path, "xl/charts/chart1.xml", chart_part)


def commented_pptx(path: Path, chart_part: bytes, said: str, *, modern: bool = False) -> Path:
    """Write two slides; on the second are a chart and a comment of Bo's, with Ada's reply where it is `modern`."""
    make_pptx(path, [("Berths", ["Let in 2026"], "Be short"), ("Winter", ["All of them"], "Speak up")])
    name, authors, space = "comment1", "commentAuthors", f'xmlns:p="{_OOXML}/presentationml/2006/main"'
    comment, author = f'<p:cm authorId="0"><p:text>{said}</p:text></p:cm>', "cmAuthor"
    if modern:
        name, authors, author = "modernComment_100_0", "authors", "author"
        space = f'xmlns:p="http://schemas.microsoft.com/office/powerpoint/2018/8/main" {A}'
        body = "<p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody>"
        reply = f'<p:replyLst><p:reply authorId="1">{body.format("I will")}</p:reply></p:replyLst>'
        comment = f'<p:cm authorId="0">{reply}{body.format(said)}</p:cm>'
    people = "".join(f'<p:{author} id="{at}" name="{one}"/>' for at, one in enumerate(("Bo", "Ada")))
    replace_part(path, f"ppt/comments/{name}.xml", f"<p:cmLst {space}>{comment}</p:cmLst>".encode())
    replace_part(path, f"ppt/{authors}.xml", f"<p:{author}Lst {space}>{people}</p:{author}Lst>".encode())
    replace_part(path, "ppt/charts/chart1.xml", chart_part)
    targets = {"r8": f"ppt/comments/{name}.xml", "r9": "ppt/charts/chart1.xml"}
    put_parts(path, "ppt/slides/_rels/slide2.xml.rels", targets)
    return path


def put_parts(path: Path, relations: str, targets: Mapping[str, str]) -> None:
    """Have a part refer to others, each by a name; `relations` is where it lists them."""
    with zipfile.ZipFile(path) as archive:
        known = archive.read(relations).decode() if relations in archive.namelist() else ""
    empty = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>'
    lines = "".join(
        f'<Relationship Id="{name}" Type="{RELATION}/{name}" Target="/{target}"/>' for name, target in targets.items()
    )
    written = (known or empty).replace("</Relationships>", f"{lines}</Relationships>")
    replace_part(path, relations, written.encode())
