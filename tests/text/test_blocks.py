"""Blocks of plain texts, by kind: Markdown, typed letters, posters, chat logs, tables."""

from __future__ import annotations

import textwrap

import pytest

from localcrag.text.blocks import BlockKind, Heading, find_width, split_blocks, split_lines

CHAT_LINE = (
    "[11/05 19:02] Oda: who is coming? I need a number by thursday for the cabin. " + "Please be honest. " * 9 + "Oda"
)


def test_long_front_matter_is_no_text() -> None:
    text = "---\nnote: |\n" + "  word word word\n" * 300 + "---\n# Minutes\n\nText."
    assert {kind for kind, _ in kinds(text)[:302]} == {"line"}
    assert kinds(text)[303:] == [("heading1", "# Minutes"), ("paragraph", "Text.")]


def kinds(text: str, *headings: Heading) -> list[tuple[str, str]]:
    """Return each block's kind and its text, white space as one space."""
    return [
        (block.kind.value + (str(block.level) if block.kind is BlockKind.HEADING else ""), one_line(text, block))
        for block in split_blocks(text, headings)
    ]


def one_line(text: str, block: object) -> str:
    return " ".join(text[block.start : block.end].split())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "# Lease\n\nBetween two parties.\n\n## 1. Rent\nIt is due monthly.\n",
            [("heading1", "# Lease"), ("paragraph", "Between two parties."), ("heading2", "## 1. Rent"),
             ("paragraph", "It is due monthly.")],
            id="marked headings",
        ),
        pytest.param(
            "Lease\n=====\n\nRent\n----\nIt is due.",
            [("heading1", "Lease ====="), ("heading2", "Rent ----"), ("paragraph", "It is due.")],
            id="underlined headings",
        ),
        pytest.param(
            "I.  WINDING\n\nWind on Tuesdays.\n\nSETTING\n\nNever back.",
            [("heading7", "I. WINDING"), ("paragraph", "Wind on Tuesdays."), ("heading7", "SETTING"),
             ("paragraph", "Never back.")],
            id="capital letters",
        ),
        pytest.param(
            "§ 3 Notice\n\nEither side may end it.\n\n3.2 Form of notice\n\nIn writing.",
            [("heading7", "§ 3 Notice"), ("paragraph", "Either side may end it."),
             ("heading8", "3.2 Form of notice"), ("paragraph", "In writing.")],
            id="numbered headings",
        ),
        pytest.param(
            "Membership\n\nAnyone who has worked here for six months may apply.",
            [("heading9", "Membership"),
             ("paragraph", "Anyone who has worked here for six months may apply.")],
            id="a line over running text",
        ),
        pytest.param(
            "**Night shift**\nStarts at ten.",
            [("heading10", "**Night shift**"), ("paragraph", "Starts at ten.")],
            id="bold line",
        ),
        pytest.param(
            "**May I smoke?** Not in the hall.",
            [("paragraph", "**May I smoke?** Not in the hall.")],
            id="a question in bold with its answer is no heading",
        ),
        pytest.param(
            "Do this:\n1. Open it.\n2. Read it.\n   Twice.\n- And close it.",
            [("paragraph", "Do this:"), ("item", "1. Open it."), ("item", "2. Read it. Twice."),
             ("item", "- And close it.")],
            id="list",
        ),
        pytest.param(
            "In this order:\n\n1. Open the left valve\n   by hand\n2. Wait.\n",
            [("paragraph", "In this order:"), ("item", "1. Open the left valve by hand"), ("item", "2. Wait.")],
            id="a list whose first item goes over two lines",
        ),
        pytest.param(
            "| Zone | Price |\n|---|---|\n| A | 2 |\n| B | 3 |\n\nFares hold for a year.",
            [("header", "| Zone | Price | |---|---|"), ("row", "| A | 2 |"), ("row", "| B | 3 |"),
             ("paragraph", "Fares hold for a year.")],
            id="table",
        ),
        pytest.param(
            "Fees:\n\n+------+-----+\n| Room | Fee |\n+======+=====+\n| Hall | 90  |\n+------+-----+\n| Attic | 30 |\n"
            "+------+-----+\n\nIn euros.",
            [("paragraph", "Fees:"), ("paragraph", "+------+-----+"), ("header", "| Room | Fee | +======+=====+"),
             ("row", "| Hall | 90 | +------+-----+"), ("row", "| Attic | 30 | +------+-----+"),
             ("paragraph", "In euros.")],
            id="a table drawn with lines",
        ),
        pytest.param(
            "Room|Fee\n-|-\nHall|90\n\nEnd.",
            [("header", "Room|Fee -|-"), ("row", "Hall|90"), ("paragraph", "End.")],
            id="a table without white space around its bars",
        ),
        pytest.param(
            "To start it:\n\n1. Open the inlet\n\n2. Press the button\n\n3. Wait\n\nThen call the man on duty at once.",
            [("paragraph", "To start it:"), ("item", "1. Open the inlet"), ("item", "2. Press the button"),
             ("item", "3. Wait"), ("paragraph", "Then call the man on duty at once.")],
            id="steps with blank lines between them",
        ),
        pytest.param(
            "1. Rent\n\n(1) It is 500 euros.\n\n(2) It is due monthly.\n\n2. Deposit\n\n(1) Three rents.",
            [("heading7", "1. Rent"), ("item", "(1) It is 500 euros."), ("item", "(2) It is due monthly."),
             ("heading7", "2. Deposit"), ("item", "(1) Three rents.")],
            id="numbered headings over numbered paragraphs",
        ),
        pytest.param(
            "1.  Introduction\n\n   This is about the protocol.\n\n2.  Terms\n\n   These are its key words.",
            [("heading7", "1. Introduction"), ("paragraph", "This is about the protocol."), ("heading7", "2. Terms"),
             ("paragraph", "These are its key words.")],
            id="numbered headings over a text set in",
        ),
        pytest.param(
            "1. Words\nIn here these words mean:\n(a) Goods means all.\n(b) Price means it.\n\n2. Goods\nIt is free.",
            [("heading7", "1. Words"), ("paragraph", "In here these words mean:"), ("item", "(a) Goods means all."),
             ("item", "(b) Price means it."), ("heading7", "2. Goods"), ("paragraph", "It is free.")],
            id="numbered headings over lettered items",
        ),
        pytest.param(
            "1. Words\nIn here:\n(a) Goods means all.\n\n2. Duties\n(a) The seller pays.\n(b) The buyer fetches.\n\n"
            "3. Law\nIt is ours.",
            [("heading7", "1. Words"), ("paragraph", "In here:"), ("item", "(a) Goods means all."),
             ("heading7", "2. Duties"), ("item", "(a) The seller pays."), ("item", "(b) The buyer fetches."),
             ("heading7", "3. Law"), ("paragraph", "It is ours.")],
            id="a numbered heading right above lettered items",
        ),
        pytest.param(
            "1. Overview\n\nThis is how it is cleaned by everyone.\n\n1. Open the lid\na) by hand\nb) slowly\n\n"
            "2. Take out the filter\na) with care",
            [("heading7", "1. Overview"), ("paragraph", "This is how it is cleaned by everyone."),
             ("item", "1. Open the lid"), ("item", "a) by hand"), ("item", "b) slowly"),
             ("item", "2. Take out the filter"), ("item", "a) with care")],
            id="steps with lettered items, below a numbered heading",
        ),
        pytest.param(
            "Item    Price\n-------------\nApples  1.20\nPears   2.30\n-------------\nTotal   3.50",
            [("header", "Item Price -------------"), ("row", "Apples 1.20"), ("row", "Pears 2.30 -------------"),
             ("row", "Total 3.50")],
            id="columns with rules",
        ),
        pytest.param(
            "Run this command now:\n~~~\n# install it\npip install foo\n~~~\nMore text.",
            [("paragraph", "Run this command now:"), ("code", "~~~ # install it pip install foo ~~~"),
             ("paragraph", "More text.")],
            id="code between tildes right below a line",
        ),
        pytest.param(
            "~~~\n# one\n~~~\n\nDo:\n\n~~~~\n# two\n~~~~\n",
            [("code", "~~~ # one ~~~"), ("paragraph", "Do:"), ("code", "~~~~ # two ~~~~")],
            id="code between tildes below nothing",
        ),
        pytest.param(
            "---\n\n# Agreement\n\n---\n\nThis is the text of it.",
            [("paragraph", "---"), ("heading1", "# Agreement"), ("paragraph", "---"),
             ("paragraph", "This is the text of it.")],
            id="a title between two rules",
        ),
        pytest.param(
            "# Use\n\nRun this:\n\n    # Install it\n    pip install x\n\nIt listens on a port.",
            [("heading1", "# Use"), ("paragraph", "Run this:"), ("line", "# Install it"), ("line", "pip install x"),
             ("paragraph", "It listens on a port.")],
            id="a comment in code is no heading",
        ),
        pytest.param(
            "Manual\n======\n\nInstall\n~~~~~~~\n\nRun it.\n\nUsage\n-----\n\nCall it.\n\nRemoval\n~~~~~~~\n\nDrop it.",
            [("heading1", "Manual ======"), ("heading3", "Install ~~~~~~~"), ("paragraph", "Run it."),
             ("heading2", "Usage -----"), ("paragraph", "Call it."), ("heading3", "Removal ~~~~~~~"),
             ("paragraph", "Drop it.")],
            id="headings underlined with tildes",
        ),
        pytest.param(
            "---\ntitle: Guide\ntags:\n  - a\ndate: 2024\n---\n\nThe tank holds 3 litres.",
            [("line", "---"), ("line", "title: Guide"), ("line", "tags:"), ("line", "- a"), ("line", "date: 2024"),
             ("line", "---"), ("paragraph", "The tank holds 3 litres.")],
            id="front matter",
        ),
        pytest.param(
            "Room | Fee\n---|---\nHall | 90\n",
            [("header", "Room | Fee ---|---"), ("row", "Hall | 90")],
            id="a table without bars at its sides",
        ),
        pytest.param(
            "Train       Weight      Turns\nGoing        55 kg        46\nHour        145 kg        62",
            [("header", "Train Weight Turns"), ("row", "Going 55 kg 46"), ("row", "Hour 145 kg 62")],
            id="columns",
        ),
        pytest.param(
            "City  Hotel  Meals\nLondon  195 euros  62 euros\n\nIt has three  trains, that is:\nthe going  train.",
            [("header", "City Hotel Meals"), ("row", "London 195 euros 62 euros"),
             ("line", "It has three trains, that is:"), ("line", "the going train.")],
            id="columns two spaces apart, and sentences typed so",
        ),
        pytest.param(
            "City  Hotel\nLondon  195 euros",
            [("header", "City Hotel"), ("row", "London 195 euros")],
            id="a header of two words",
        ),
        pytest.param(
            f"{CHAT_LINE}\n[11/05 19:04] Matej: in",
            [("line", CHAT_LINE), ("line", "[11/05 19:04] Matej: in")],
            id="chat log",
        ),
        pytest.param(
            "Plumber Hartmann: 0421 55 80 12, emergency service until 22:00\nVet clinic: 0421 60 60 60, day and night",
            [("line", "Plumber Hartmann: 0421 55 80 12, emergency service until 22:00"),
             ("line", "Vet clinic: 0421 60 60 60, day and night")],
            id="list of names without a mark",
        ),
        pytest.param(
            "2026-03-01 five km in 31 minutes, knee felt fine\n2026-03-04 seven km along the river, rain all day",
            [("line", "2026-03-01 five km in 31 minutes, knee felt fine"),
             ("line", "2026-03-04 seven km along the river, rain all day")],
            id="diary",
        ),
        pytest.param(
            "The contract ends in June. Note: it may go on by\nconsent. The rent: it is due at once.",
            [("paragraph", "The contract ends in June. Note: it may go on by consent. The rent: it is due at once.")],
            id="wrapped sentences with colons",
        ),
        pytest.param(
            "The ferry leaves every day of the week at 8:15 and at\n12:30 and comes back from there in the evening at\n"
            "18:45 unless the wind is too strong.",
            [("paragraph", ("The ferry leaves every day of the week at 8:15 and at 12:30 and comes back from "
              "there in the evening at 18:45 unless the wind is too strong."))],
            id="times that lines of a sentence happen to begin with",
        ),
        pytest.param(
            "Run it:\n\n```sh\nmake\n\nmake install\n```\nThen test.",
            [("paragraph", "Run it:"), ("code", "```sh make make install ```"), ("paragraph", "Then test.")],
            id="code",
        ),
        pytest.param(
            "```pip install x``` installs it.\n\nThe fee is 5.\n\n```\ncode()\n```\n\nEnd.",
            [("paragraph", "```pip install x``` installs it."), ("paragraph", "The fee is 5."),
             ("code", "``` code() ```"), ("paragraph", "End.")],
            id="code in a line opens no fence",
        ),
        pytest.param(
            "````md\n```\ninner\n```\n````\nThen test.",
            [("code", "````md ``` inner ``` ````"), ("paragraph", "Then test.")],
            id="a fence of four is not closed by three",
        ),
        pytest.param(
            "A\t1\nB\t2\n## 3.2\tFees\nThey are due.",
            [("header", "A 1"), ("row", "B 2"), ("heading2", "## 3.2 Fees"), ("paragraph", "They are due.")],
            id="a heading right below a table",
        ),
        pytest.param(
            "> **From:** Henning\n>\n> Water is charged on.\n> - 60 flat",
            [("paragraph", "**From:** Henning"), ("paragraph", "Water is charged on."), ("item", "- 60 flat")],
            id="quoted mail",
        ),
    ],
)  # fmt: skip
def test_a_text_is_read_in_blocks(text: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(text) == expected


def test_nothing_but_white_space_is_outside_of_blocks() -> None:
    text = "# A\n\ntext\n- one\n  two\n\n| a | b |\n| c | d |\n\n> quoted\n\n``` \nno end\n\nrest"
    covered = "".join(text[block.start : block.end] for block in split_blocks(text))
    assert "".join(covered.split()).replace(">", "") == "".join(text.split()).replace(">", "")


def test_a_heading_that_the_file_tells_needs_no_mark_in_the_text() -> None:
    text = "Fees of all kinds, payable in advance.\nYou pay 40 euros a year."
    end = text.index("\n")
    assert kinds(text, Heading(0, end, 2)) == [("heading2", text[:end]), ("paragraph", text[end + 1 :])]


def test_numbered_items_keep_their_order_in_mind_and_bullets_do_not() -> None:
    blocks = split_blocks("1. One\n2. Two\n\n- a\n- b")
    assert [block.steps for block in blocks] == [True, True, False, False]


WRAPPED = """The clock was made by Hoflinger in 1893 and has three trains, that is: the
GOING train (hands), the QUARTER train (two small bells) and the HOUR train
(great bell). Each train has its own weight and its own crank square. Whoever
winds must be able to tell them apart."""


def test_a_wrapped_text_is_a_paragraph_and_one_of_short_lines_is_not() -> None:
    assert find_width(split_lines(WRAPPED)) is not None
    assert [kind for kind, _ in kinds(WRAPPED)] == ["paragraph"]
    lines = WRAPPED + "\n\nPhone 0117 555 0193.\nSundays closed.\nKey at the pub."
    assert [kind for kind, _ in kinds(lines)] == ["paragraph", "line", "line", "line"]


WIDE = textwrap.fill(
    "Fahrräder gehören in den Keller, nicht in den Hausflur. Wer sein Rad länger als acht Wochen nicht bewegt, hängt "
    "einen Zettel mit Namen daran; sonst wird es am 1. März und am 1. Oktober vom Hausmeister in den Hof gestellt, und "
    "im Frühling darauf an die Werkstatt am Bahnhof gegeben.",
    width=119,
)
"""Lines that begin with nouns."""


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        pytest.param(WIDE, True, id="full lines"),
        pytest.param(WIDE.rpartition("\n")[0], True, id="two lines"),
        pytest.param("\n".join(f"Visit {n}: {'seen to ' * n}the pump" for n in range(1, 15)), False, id="notes"),
        pytest.param(
            f"The first of {'very ' * 15}many sentences stands on a line of its own.\n"
            f"The second one has {'just ' * 15}as much to say, and ends there.",
            False,
            id="a sentence a line",
        ),
    ],
)
def test_lines_beyond_the_usual_width_are_wrapped_where_most_are_full(text: str, wrapped: bool) -> None:
    assert (find_width(split_lines(text)) is not None) is wrapped
    assert (len(kinds(text)) == 1) is wrapped


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            "1. Software using this MUST declare a public API. This API\ncould be declared in the code itself.\n\n"
            "1. A normal version number MUST take the form X.Y.Z.",
            "1. Software using this MUST declare a public API. This API", id="a wrapped sentence with a number",
        ),
        pytest.param(
            "Fees\n\nMOWING GRASS IN THE STREETS $15.00 $18.75\n\nA second offence within a year costs more than that.",
            "MOWING GRASS IN THE STREETS $15.00 $18.75", id="amounts",
        ),
        pytest.param(
            "§ 13 Organisation und Ablauf . . . . . 4\n\n§ 14 Wahlen . . . . 5\n\nDer Vorstand wird neu gewählt.",
            "§ 13 Organisation und Ablauf . . . . . 4", id="a line of a contents page",
        ),
        pytest.param(
            "Real size:\n\nResize it: {{wiki:logo.png?50}}\n\nThe picture keeps its proportions if only one is given.",
            "Resize it: {{wiki:logo.png?50}}", id="markup",
        ),
        pytest.param(
            "> [!WARNING]\n> The API of plug-ins has changed, so check yours before you update it.\n\nMore below.",
            "[!WARNING]", id="the mark of a note",
        ),
        pytest.param(
            "Lines are aligned like this:\n\n.. code-block::\n   :class: bad\n\n   # Indentation is not clear.\n"
            "   def long_name(\n       one, two):\n\n   # More of it.\n\nIndent further.",
            "# Indentation is not clear.", id="a comment in code of reStructuredText",
        ),
        pytest.param(
            "The options are::\n\n   # Both of them.\n   run --fast\n\nThat is all.", "# Both of them.",
            id="a comment in a literal block",
        ),
    ],
)  # fmt: skip
def test_lines_that_only_look_like_headings_are_none(text: str, line: str) -> None:
    assert line in text
    assert [found for kind, found in kinds(text) if kind.startswith("heading") and line in found] == []


def test_wiki_headings_are_headings() -> None:
    text = "====== Syntax ======\n\nIt is simple.\n\n===== Text =====\n\nBold and italic."
    assert kinds(text) == [
        ("heading1", "====== Syntax ======"), ("paragraph", "It is simple."),
        ("heading2", "===== Text ====="), ("paragraph", "Bold and italic."),
    ]  # fmt: skip
