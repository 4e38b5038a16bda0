from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.documents.readers.open_document import open_document
from localcrag.records.errors import UnreadableDocument
from tests.support import documents


def read(path: Path) -> str:
    return "\f".join(page.text for page in open_document(path, path.name).pages)


# Plain text and Markdown

ENGLISH = "The hotel limit in Hamburg is 140 euros a night."
FRENCH = "Le remboursement des frais d’hôtel est limité à cent vingt euros par nuit, là où c’était déjà prévu."
ITALIAN = "La città è più cara: il caffè costa già due euro, perciò il limite è più alto."
RUSSIAN = "Расходы на гостиницу возмещаются в размере не более шести тысяч рублей за ночь."
POLISH = "Zażółć gęślą jaźń. Koszty podróży są zwracane w ciągu trzydziestu dni od złożenia wniosku."
JAPANESE = "宿泊費は一泊につき一万二千円を上限として精算します。領収書を必ず添付してください。"
CHINESE = "住宿费每晚最高报销六百元人民币，请务必附上发票，并在三十天之内提交。"
KOREAN = "숙박비는 일박당 최대 십오만 원까지 정산됩니다. 영수증을 반드시 첨부하십시오."
ENCODED = [
    (FRENCH, "utf-8"),
    (FRENCH, "utf-8-sig"),
    (JAPANESE, "utf-16"),
    (ENGLISH, "utf-16-le"),
    (ENGLISH, "utf-16-be"),
    (ENGLISH, "utf-32"),
    (FRENCH, "cp1252"),
    (ITALIAN, "latin-1"),
    ("Höchstens 20 °C, sonst “zu warm” – 5 €.", "cp1252"),
    (POLISH, "cp1250"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    (JAPANESE, "shift-jis"),
    (JAPANESE, "euc-jp"),
    (JAPANESE, "iso2022-jp"),
    (CHINESE, "gb18030"),
    (KOREAN, "euc-kr"),
]


@pytest.mark.parametrize(("text", "encoding"), ENCODED, ids=[f"{text[:8]}-{name}" for text, name in ENCODED])
def test_text_is_read_whatever_its_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    path = documents.make_text(tmp_path / "note.txt", f"{text}\n", encoding)
    document = open_document(path, "note.txt")
    assert (document.media_type, document.page_count) == ("text/plain", None)
    assert [(page.number, page.text) for page in document.pages] == [(None, f"{text}\n")]


def test_a_stray_byte_does_not_spoil_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(FRENCH.encode() * 5 + " naïf".encode("cp1252"))
    assert read(path) == FRENCH * 5 + " naïf"


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        pytest.param("a\r\nb\rc\n", "a\nb\nc\n", id="newlines"),
        pytest.param("one\ftwo", "one\ntwo", id="form-feeds-would-end-a-page"),
        pytest.param("a\x00b\x07c\td", "abc\td", id="control-characters"),
        pytest.param("cafe\u0301", "café", id="nfc"),
        pytest.param("# A *b*  c\n\n\n- d\n", "# A *b*  c\n\n\n- d\n", id="markup-stays"),
    ],
)
def test_text_is_tidied_and_otherwise_left_alone(tmp_path: Path, written: str, read_as: str) -> None:
    filler = "Nothing special about these words.\n" * 10
    path = documents.make_text(tmp_path / "note.md", filler + written)
    assert read(path) == filler + read_as


# reStructuredText


@pytest.mark.parametrize(
    ("written", "text"),
    [
        pytest.param(
            "=====\nLease\n=====\n\nRent\n----\nIt is due.\n\nNotice\n------\n\nBy ``post``.",
            "# Lease\n\n## Rent\nIt is due.\n\n## Notice\n\nBy `post`.",
            id="titles, with and without a line above",
        ),
        pytest.param(
            "Run this::\n\n    make x\n\n      y\n\nThen:\n\n"
            ".. code-block:: python\n   :linenos:\n\n   print(1)\n\nEnd.",
            "Run this:\n\n```\nmake x\n\n  y\n```\n\nThen:\n\n```python\nprint(1)\n```\n\nEnd.",
            id="code",
        ),
        pytest.param(
            "=====  ====  =====\nRoom   Fee   Note\n=====  ====  =====\n"
            "Hall   90    a\n             b\nAttic        c\n"
            "=====  ====  =====\n\nEnd.",
            "| Room | Fee | Note |\n| --- | --- | --- |\n| Hall | 90 | a b |\n| Attic | | c |\n\nEnd.",
            id="a simple table",
        ),
        pytest.param("a == b\n\n----\n\nOne\ntwo", "a == b\n\n----\n\nOne\ntwo", id="plain text"),
        pytest.param("See:: there.\nEnds with::\n\nNo code.", "See:: there.\nEnds with:\n\nNo code.", id="no code"),
    ],
)
def test_restructured_text_is_read_as_markdown(tmp_path: Path, written: str, text: str) -> None:
    path = tmp_path / "a.rst"
    path.write_text(written, "utf-8")
    assert [page.text for page in open_document(path, "a.rst").pages] == [text]


# Web pages

PAGES = {
    "blocks are lines": (
        "<h1>Title</h1><p>One <b>bo</b>ld.</p><div>Two</div><div>Three</div>",
        "Title\n\nOne bold.\n\nTwo\nThree",
    ),
    "lists keep bullets and numbers": (
        "<ul><li>a<ul><li>b</ul></ul><ol start=4><li>four<li>five</ol>",
        "* a\n  * b\n\n4. four\n5. five",
    ),
    "the paragraphs of an item stay with it": (
        "<ol><li><p>Open it.</p><p>It is heavy.</p><li><p>Wait</p><ul><li>long</ul><pre>ok</pre><li><p>Go</ol><p>End",
        "1. Open it.\n   It is heavy.\n2. Wait\n   * long\n\n       ok\n3. Go\n\nEnd",
    ),
    "terms and their meanings are apart": ("<dl><dt>Tide</dt><dd>Rise of the sea</dd></dl>", "Tide\nRise of the sea"),
    "line breaks are kept": ("<p>a<br>b<br><br>c</p>", "a\nb\n\nc"),
    "scripts, styles and comments are not text": (
        "<script>var x</script><style>p{}</style><!-- no --><noscript>no</noscript><template>no</template><p>yes</p>",
        "yes",
    ),
    "hidden parts are not text": (
        "<p hidden>no</p><p style='top:0; display: none'>no</p><p>yes<span style='visibility:hidden'>no</span>!</p>",
        "yes!",
    ),
    "a table has a line per row": (
        "<table><caption>Limits</caption><tr><th>City<th>Night</tr><tr><td>Hamburg<td><p>140</p><p>euros</p></tr></table>",
        "Limits\nCity | Night\nHamburg | 140 euros",
    ),
    "a cell that reaches down is in each of its rows": (
        "<table><tr><td rowspan=2>Hamburg<td>2025<td>130<tr><td>2026<td>140</table>",
        "Hamburg | 2025 | 130\nHamburg | 2026 | 140",
    ),
    "a cell that reaches across keeps the columns in line": (
        "<table><tr><td colspan=2>Both<td>c<tr><td>1<td>2<td>3</table>",
        "Both | | c\n1 | 2 | 3",
    ),
    "a table that arranges the page is not taken for data": (
        "<table><tr><td><h2>Menu</h2><p>Home</p><td><h2>News</h2><p>Today</p></table>",
        "Menu\n\nHome\n\nNews\n\nToday",
    ),
    "a row of one cell within a table is one of its rows": (
        "<table><tr><th>Item<th>Price</tr><tr><td colspan=2>Fruit</tr><tr><td>Pear<td>2</tr></table>",
        "Item | Price\nFruit | |\nPear | 2",
    ),
    "an empty first cell is in its place": (
        "<table><tr><th><th>2023<th>2022</tr><tr><td>Sales<td>5<td>6</tr><tr><td><td><td>7</tr></table>",
        "| | 2023 | 2022 |\nSales | 5 | 6\n| | | 7 |",
    ),
    "a bar within a cell is none between cells": (
        "<table><tr><th>Option<th>Means</tr><tr><td>a|b<td>one of them</tr></table>",
        "Option | Means\na\\|b | one of them",
    ),
    "a header of two rows is one": (
        "<table><tr><th rowspan=2>City<th colspan=2>2025<tr><th>Night<th>Day<tr><td>Hull<td>80<td>20</table>",
        "City | 2025 Night | 2025 Day\nHull | 80 | 20",
    ),
    "a header's row of one cell is its caption": (
        "<table><thead><tr><th colspan=2>Prices<tr><th>City<th>Night</thead><tr><td>Hull<td>80</table>",
        "Prices\nCity | Night\nHull | 80",
    ),
    "a header of one cell is its caption": (
        "<table><tr><th colspan=2>Prices<tr><td>Hull<td>80<tr><td>Cork<td>90</table>",
        "Prices\nHull | 80\nCork | 90",
    ),
    "a long cell under a header is a cell": (
        f"<table><tr><th>Term<th>Means<tr><td>Tide<td>{'Rise. ' * 150}<tr><td>Ebb<td>Fall</table>",
        f"Term | Means\nTide | {'Rise. ' * 149}Rise.\nEbb | Fall",
    ),
    "a long cell without a header arranges the page": (
        f"<table><tr><td>Menu<td>{'Rise. ' * 150}<tr><td>Ebb<td>Fall</table>",
        f"Menu\n{'Rise. ' * 149}Rise.\nEbb\nFall",
    ),
    "a row of one cell above a table is its caption": (
        "<table><tr><td colspan=2>Prices of 2026</tr><tr><th>Item<th>Price</tr><tr><td>Pear<td>2</tr></table>",
        "Prices of 2026\nItem | Price\nPear | 2",
    ),
    "programs keep their spaces": (
        "<pre># a\nif a:\n    b()\n\n\n\nc()</pre>",
        "    # a\n    if a:\n        b()\n\n    c()",
    ),
    "what is escaped stays escaped": ("<p>Write &amp;lt;b&amp;gt; for &lt;b&gt;</p>", "Write &lt;b&gt; for <b>"),
    "soft hyphens go": ("<p>Reise&shy;kosten</p>", "Reisekosten"),
    "depth of nesting loses nothing": ("<p>a</p>" + "<div>" * 900 + "b" + "</div>" * 900 + "<p>c</p>", "a\n\nb\n\nc"),
    "odd numbers do no harm": ("<ol start=x><li value='²'>a</ol><table><tr><td colspan=-1>b</table>", "1. a\n\nb"),
}


@pytest.mark.parametrize(("body", "text"), PAGES.values(), ids=PAGES.keys())
def test_a_web_page_reads_as_a_browser_shows_it(tmp_path: Path, body: str, text: str) -> None:
    document = open_document(documents.make_html(tmp_path / "page.html", body), "page.html")
    assert (document.media_type, document.page_count) == ("text/html", None)
    assert [(page.number, page.text) for page in document.pages] == [(None, text)]


@pytest.mark.parametrize(
    ("head", "text", "encoding"),
    [
        pytest.param("<meta charset=windows-1251>", "Цена", "cp1251", id="meta"),
        pytest.param(
            '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "Цена", "koi8-r", id="http-equiv"
        ),
        pytest.param("<meta charset=iso-8859-1>", "5 € – “gut”", "cp1252", id="latin-1-means-cp1252"),
        pytest.param("<meta charset=gb2312>", "住宿费𠮷", "gb18030", id="gb2312-means-gb18030"),
        pytest.param("<meta charset=utf-8>", FRENCH, "cp1252", id="claims-utf-8-and-is-not"),
        pytest.param("<meta charset=iso-8859-1>", FRENCH, "utf-8", id="claims-latin-1-and-is-utf-8"),
        pytest.param("<meta charset=utf-16>", FRENCH, "utf-8", id="claims-utf-16-in-ascii"),
        pytest.param("<meta charset=klingon>", FRENCH, "cp1252", id="claims-nonsense"),
        pytest.param("<!-- <meta charset=koi8-r> --><meta charset=cp1251>", "Цена", "cp1251", id="claim-in-a-comment"),
        pytest.param("<meta charset=shift_jis>", FRENCH, "utf-16", id="byte-order-mark-wins"),
    ],
)
def test_a_web_pages_own_charset_is_honoured_when_it_can_be_true(
    tmp_path: Path, head: str, text: str, encoding: str
) -> None:
    assert read(documents.make_html(tmp_path / "page.htm", f"<p>{text}</p>", head=head, encoding=encoding)) == text


def test_xhtml_with_a_declaration_is_read(tmp_path: Path) -> None:
    markup = '<?xml version="1.0" encoding="iso-8859-1"?><html xmlns="http://www.w3.org/1999/xhtml"><p>é</p></html>'
    assert read(documents.make_text(tmp_path / "page.xhtml", markup, "latin-1")) == "é"


def test_plain_text_named_html_keeps_its_lines(tmp_path: Path) -> None:
    assert read(documents.make_text(tmp_path / "note.html", "one\ntwo\n")) == "one\ntwo\n"


def test_a_web_page_nested_beyond_measure_is_unreadable_rather_than_cut_short(tmp_path: Path) -> None:
    path = documents.make_html(tmp_path / "deep.html", "<p>a</p>" + "<div>" * 5000 + "b")
    with pytest.raises(UnreadableDocument, match=r"deep\.html .*nested"):
        read(path)
