"""The sources' own lines as an answer: in their form, whole, cited once, and harmless."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from localcrag.crag.answer import layout
from localcrag.crag.answer.layout import evidence_fragments, passage_fragments
from localcrag.crag.refine.refine import recompose
from localcrag.crag.refine.strips import split_into_strips
from localcrag.interfaces.page.chat.html import answer_html
from localcrag.records.enums import StripMode
from localcrag.records.passages import Strip
from tests.support.hostile_texts import HOSTILE
from tests.support.made_records import graded

STEPS = "To clean it:\n\n1. Switch it off.\n2. Open the\n   lid.\n3. Rinse the sieve."


def strips_of(text: str, *dropped: str) -> list[Strip]:
    spans = split_into_strips(text, StripMode.SENTENCE, window_words=10)
    return [
        Strip("p", span.start, span.end, span.text, 0.0, 0.8, not any(part in span.text for part in dropped))
        for span in spans
    ]


def laid(text: str, *dropped: str, citation: str = "[1]", path: tuple[str, ...] = (), **fields: object) -> str:
    passage = graded(0.9, text, id="p", **fields)
    strips = strips_of(text, *dropped)
    evidence, _ = recompose([passage], strips)
    assert len(evidence) == 1, evidence
    kept = [strip for strip in strips if strip.kept]
    return layout.markdown(evidence_fragments(evidence[0], passage, kept), citation, path=path)


@pytest.mark.parametrize(
    ("text", "dropped", "expected"),
    [
        pytest.param("Dogs are\nwelcome. Cats are not.", [], "“Dogs are welcome. Cats are not.” [1]", id="sentences"),
        pytest.param(
            STEPS, [], "“To clean it:”\n\n1. Switch it off.\n2. Open the lid.\n3. Rinse the sieve. [1]", id="steps",
        ),
        pytest.param(
            "Item | Price\nRope | 2\nKnot | 3\n\nDay | From | To\nMonday | 8 | 9\nFriday | 9 | 9", [],
            "| Item | Price |\n| --- | --- |\n| Rope | 2 |\n| Knot | 3 |\n\n"
            "| Day | From | To |\n| --- | --- | --- |\n| Monday | 8 | 9 |\n| Friday | 9 | 9 |\n\n[1]", id="two tables",
        ),
        pytest.param(
            "4. Switch it off.\n5. Open it.", [], "4. Switch it off.\n5. Open it. [1]", id="their own numbers",
        ),
        pytest.param(
            STEPS, ["Open"], "“To clean it:”\n\n1. Switch it off.\n3) Rinse the sieve. [1]", id="a step left out",
        ),
        pytest.param(
            "- a passport\n* two photos\n• the form", [], "- a passport\n- two photos\n- the form [1]", id="bullets",
        ),
        pytest.param(
            "1. Open:\n   - the lid\n   - the sieve\n2. Rinse.", [],
            "1. Open:\n   - the lid\n   - the sieve\n2. Rinse. [1]", id="a list in a list",
        ),
        pytest.param("a) Open it.\nb) Rinse it.", [], "- a) Open it.\n- b) Rinse it. [1]", id="letters"),
        pytest.param(
            "| Room | Fee |\n|---|---|\n| Single | 80 |\n| Double | 110 |", ["Single"],
            "| Room | Fee |\n| --- | --- |\n| Double | 110 |\n\n[1]", id="a header and a row",
        ),
        pytest.param(
            "Room\tFee\nSingle\t80\nDouble\t110", [],
            "| Room | Fee |\n| --- | --- |\n| Single | 80 |\n| Double | 110 |\n\n[1]", id="columns by tabs",
        ),
        pytest.param(
            "| | 2023 | 2022 |\nSales | 5 | 6\n| | | 7 |", [],
            "|  | 2023 | 2022 |\n| --- | --- | --- |\n| Sales | 5 | 6 |\n|  |  | 7 |\n\n[1]", id="empty first cells",
        ),
        pytest.param(
            "Room | Fee | VAT\nHall | | 3\n| 4 | 5", [],
            "| Room | Fee | VAT |\n| --- | --- | --- |\n| Hall |  | 3 |\n|  | 4 | 5 |\n\n[1]",
            id="an empty first cell below a header without a bar in front",
        ),
        pytest.param(
            "| Command | Means |\n|---|---|\n| `a | b` | both |\n| a\\|b | one |", [],
            "| Command | Means |\n| --- | --- |\n| `a \\| b` | both |\n| a\\|b | one |\n\n[1]",
            id="bars within cells",
        ),
        pytest.param("Ann: Hello.\nBob: At eight.", [], "“Ann: Hello.  \nBob: At eight.” [1]", id="lines"),
        pytest.param(
            "## Pets\n\nDogs are welcome.", [], "**Pets**\n\n“Dogs are welcome.” [1]", id="a heading is bold",
        ),
        pytest.param(
            "## May I bring a dog?\n\nYes, on a lead.", [], "**May I bring a dog?** Yes, on a lead. [1]",
            id="a question that is a heading",
        ),
        pytest.param(
            "Q: May I bring a dog?\nA: Yes, on a lead.", [], "**May I bring a dog?** Yes, on a lead. [1]", id="FAQ",
        ),
        pytest.param(
            "Q1: May I bring a dog?\n\nA1: Yes, on a lead.", [], "**May I bring a dog?** Yes, on a lead. [1]",
            id="FAQ in paragraphs, numbered",
        ),
        pytest.param(
            "A: 90 to 100 points\nB: 80 to 89 points", [], "“A: 90 to 100 points  \nB: 80 to 89 points” [1]",
            id="grades are no answers",
        ),
        pytest.param("A4: 210 x 297 mm", [], "“A4: 210 x 297 mm” [1]", id="paper is no answer"),
        pytest.param(
            ">= 65 years: 5 mg\n< 65 years: 10 mg", [], "“>= 65 years: 5 mg  \n< 65 years: 10 mg” [1]",
            id="greater than",
        ),
        pytest.param(
            "Age   Dose\n>65   5 mg\n18-65   10 mg", [],
            "| Age | Dose |\n| --- | --- |\n| >65 | 5 mg |\n| 18-65 | 10 mg |\n\n[1]", id="greater than in a cell",
        ),
        pytest.param(
            "> $500: ask first\n> -5 °C: drain it", [], "“> $500: ask first  \n\\> -5 °C: drain it” [1]",
            id="greater than, twice",
        ),
        pytest.param(
            "- 1.2 l stock\n- -5 °C\n- 1. May", [], "- 1.2 l stock\n- -5 °C\n- 1\\. May [1]",
            id="numbers that mark no list",
        ),
        pytest.param(
            "Ann: 33 90 01\n+49 421 55 80 12\n-5 °C\n--- so", [],
            "“Ann: 33 90 01  \n+49 421 55 80 12  \n-5 °C  \n\\--- so” [1]",
            id="signs that mark no list",
        ),
        pytest.param(
            "| Room | Fee |\n|---|---|\n| Single | 80 |", ["Single"], "| Room | Fee |\n| --- | --- |\n\n[1]",
            id="a header alone",
        ),
        pytest.param(
            "> 65 guests came.\n> They left.", [], "“65 guests came.  \nThey left.” [1]", id="quoted",
        ),
        pytest.param(
            "```pip x``` installs it.", [], r"“\`\`\`pip x\`\`\` installs it.” [1]", id="marks that open no fence",
        ),
        pytest.param(
            "Use the `<div>` tag and `d[k]: int`.", [], "“Use the `<div>` tag and `d[k]: int`.” [1]",
            id="nothing in code is markup",
        ),
        pytest.param(
            "- Keep the door\n  shut in winter and\n  locked at night.\n- Leave", [],
            "- Keep the door shut in winter and locked at night.\n- Leave [1]", id="an item of three lines",
        ),
        pytest.param(
            "Our hours:\n\nmon 9-17\ntue 9-17\nwed closed", ["Our"], "“mon 9-17  \ntue 9-17  \nwed closed” [1]",
            id="short lines in lower case",
        ),
        pytest.param("Run it:\n\n```sh\nmake [1]\n```", [], "“Run it:”\n\n```\nmake [1]\n```\n\n[1]", id="code"),
    ],
)  # fmt: skip
def test_the_form_follows_the_source(text: str, dropped: list[str], expected: str) -> None:
    assert laid(text, *dropped) == expected


def test_what_is_left_out_of_a_paragraph_shows() -> None:
    text = "Dogs are welcome. Bears bark. Cats are not."
    passage = graded(0.9, text, id="p")
    strips = [strip for strip in strips_of(text) if "Bears" not in strip.text]
    evidence, _ = recompose([passage], strips)
    assert (
        layout.markdown(evidence_fragments(evidence[0], passage, strips), "[1]")
        == "“Dogs are welcome. … Cats are not.” [1]"
    )


def test_a_heading_that_stands_above_is_not_said_again() -> None:
    assert laid("## Pets\n\nDogs are welcome.", path=("House", "Pets")) == "“Dogs are welcome.” [1]"


def test_a_header_from_before_the_passage_heads_its_rows() -> None:
    written = laid("| Suite | 190 |\n| Attic | 60 |", lead="| Room | Fee |")
    assert written == "| Room | Fee |\n| --- | --- |\n| Suite | 190 |\n| Attic | 60 |\n\n[1]"


def test_evidence_without_strips_is_laid_out_by_its_own_text() -> None:
    passage = graded(0.9, STEPS, id="p")
    evidence, _ = recompose([passage], strips_of(STEPS))
    assert layout.markdown(evidence_fragments(evidence[0], None, []), "[2]").endswith("3. Rinse the sieve. [2]")


def test_the_likeliest_lines_of_a_passage_are_bold() -> None:
    text = f"Dogs are *welcome*. Cats are not.\n\n{STEPS}\n\n| Room | Fee |\n|---|---|\n| Single | 80 |"
    likely = [strip for strip in strips_of(text) if any(part in strip.text for part in ("Dogs", "Rinse", "Single"))]
    written = layout.markdown(passage_fragments(graded(0.5, text, id="p"), likely, (0, len(text))))
    assert "“**Dogs are welcome.** Cats are not.”" in written
    assert "3. **Rinse the sieve.**" in written
    assert "| **Single** | **80** |" in written
    assert written.count("**") == 8


@pytest.mark.parametrize(
    ("text", "block"),
    [(STEPS, True), ("- a\n- b", True), ("One sentence. Two.", False), ("| a | b |\n|---|---|\n| 1 | 2 |", False),
     ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", True), ("Ann: a.\nBob: b.\nCid: c.", True)],
)  # fmt: skip
def test_lists_tables_and_several_lines_are_told_from_sentences(text: str, block: bool) -> None:
    passage = graded(0.9, text, id="p")
    assert layout.is_block(passage_fragments(passage, [], (0, len(passage.text)))) is block


BAD = (
    "![x](http://192.0.2.1/a.png)", "[x](http://192.0.2.1)", "[x](javascript:alert(1))", "<http://192.0.2.1>",
    "<img src=x onerror=alert(1)>", "<a href=http://192.0.2.1>x</a>", "<script>alert(1)</script>", "[x][y]",
    "[y]: http://192.0.2.1", "<!-- hidden -->", r"\<b>x</b>", "# heading", "## heading", "> quotation", "``` x",
    "--- | x", "<div\nonclick=x>", "[1] [2, 3]", "**[x](http://192.0.2.1)**", r"\[x](http://192.0.2.1)", "`|` <b>",
    r"\`<b>x</b>`", "`a``<b>x</b>`", "`` `<b>x</b>`", "<a `>` <b>x</b>", r"`a\` [x](http://192.0.2.1) `b`",
    "` <b>x</b>`",    "a ` b\n`<b>x</b>`",
)  # fmt: skip
FORMS = (
    "{}", "1. {}\n2. Go on.", "- {}\n- {}", "| {} | b |\n|---|---|\n| {} | {} |\n| c | d |", "Ann: {}\n{}\nBob: {}",
    "## {}\n\nText.", "Q: Is it {}?\nA: {}", "Text:\n\n```\n{}\n```", "a {}\tb\nc {}\td",
)  # fmt: skip


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [*BAD, *(one.values[0] for one in HOSTILE)])
def test_no_source_makes_a_heading_a_link_a_picture_or_html(form: str, bad: object) -> None:
    text = form.replace("{}", str(bad)[:2000])
    passage = graded(0.9, text, id="p")
    strips = strips_of(text)
    for likely in ([], strips[:1]):
        written = (
            layout.markdown(passage_fragments(passage, likely, (0, len(passage.text))), "[1]")
            + "\n\n"
            + layout.label([text, "b"])
        )
        # Also where everything is on that the app's own reader has off.
        elements = Tags()
        elements.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(written))
        allowed = "p strong em code pre ul ol li table thead tbody tr th td br".split()
        assert elements.tags <= set(allowed), (written, elements.tags)
        assert elements.attributes <= {"start", "class"}
        assert "192.0.2.1" not in "".join(re.findall(r'(?:href|src)="[^"]*"', str(answer_html(written, None))))


def test_what_is_bold_ends_where_it_ends() -> None:
    text = "料金は五百円です。子供は無料です。犬は入れません。"
    likely = [strip for strip in strips_of(text) if "無料" in strip.text]
    page = str(answer_html(layout.markdown(passage_fragments(graded(0.5, text, id="p"), likely, (0, len(text)))), None))
    assert "<strong>子供は無料です。</strong>" in page
    assert str(answer_html(layout.label(["Folder C:\\"]), None)).count("<strong>Folder C:\\</strong>") == 1


def test_rows_from_the_middle_of_a_table_keep_its_header() -> None:
    rows = "\n".join(f"| Town{number} | {100 + number} euros |" for number in range(20))
    text = f"| City | Fee |\n|---|---|\n{rows}"
    begin, end = text.index("| Town10"), text.index("| Town12")
    written = layout.markdown(passage_fragments(graded(0.5, text, id="p"), [], (begin, end)))
    assert written == ("| City | Fee |\n| --- | --- |\n| Town10 | 110 euros |\n| Town11 | 111 euros |")


def test_brackets_with_numbers_in_a_source_are_no_citations() -> None:
    assert laid("It was so [2]. It is [3, 4].\n\n- one [5]\n- two", citation="[1]").count("[") == 1


def test_a_row_gets_the_header_of_a_table_that_begins_before_its_passage() -> None:
    text = "Hull | 140 | 12\nYork | 120 | 10"
    passage = graded(0.5, text, id="p", lead="Town | Fee | Places")
    shown = passage_fragments(passage, (), (0, len("Hull | 140 | 12")))
    assert layout.markdown(shown) == "| Town | Fee | Places |\n| --- | --- | --- |\n| Hull | 140 | 12 |"


def test_rows_without_a_header_have_an_empty_one() -> None:
    text = "| Memberships | 181,366.42 | 141,191.67 |\n| --- | --- | --- |\n| Fees | 1,575.10 | 1,280.00 |"
    assert laid(text).startswith("|  |  |  |\n| --- | --- | --- |\n| Memberships | 181,366.42 | 141,191.67 |\n| Fees |")
    years = "| Rate | 2023 | 2024 |\n| --- | --- | --- |\n| Fees | 1.10 | 1.20 |"
    assert laid(years).startswith("| Rate | 2023 | 2024 |\n| --- | --- | --- |")
    passage = graded(0.9, text, id="p")
    shown = passage_fragments(passage, (), (text.index("| Fees"), len(text)))
    assert layout.markdown(shown) == "|  |  |  |\n| --- | --- | --- |\n| Fees | 1,575.10 | 1,280.00 |"
