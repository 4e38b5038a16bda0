"""An answer on the page: Markdown, formulas and citations, and nothing that a browser would fetch, follow or run."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser

import pytest

from localcrag.interfaces.page.chat.html import answer_html, mathml
from localcrag.records.enums import Action, Backing
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.wording import SOURCE_WORDS
from localcrag.text.translation import LANGUAGES, translate_to
from tests.support import DATA
from tests.support.made_evaluations import HOSTILE, passage, question, run, sentence

RUN = run(
    question("tank", AnswerLocation.DOCUMENTS, "42"),
    [passage("p1", f"It holds 42 litres. {HOSTILE}", 0.9), passage("p2", "It is round.", 0.8, document="b.md")],
    "",
    action=Action.CORRECT,
)
FETCHING = {"src", "href", "style", "srcset", "poster", "action", "data", "background"}
ALLOWED = frozenset(
    "p a span b strong em code pre ul ol li table thead tbody tr th td blockquote h1 h2 h3 h4 h5 h6 hr br div section "
    "math mrow mi mn mo mtext mfrac msup msub msubsup msqrt mroot munder mover munderover mtable mtr mtd mspace mstyle "
    "mpadded menclose".split()
)


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(answer: str) -> Elements:
    elements = Elements()
    elements.feed(str(answer_html(answer, RUN)))
    return elements


def test_markdown_is_shown_as_what_it_means() -> None:
    text = answer_html("**Sizes**\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nx < 1\n```\n\n- one\n- two", RUN)
    for piece in ("<strong>Sizes</strong>", "<td>1</td>", "<pre><code>x &lt; 1", "<li>one</li>"):
        assert piece in text


def test_formulas_are_mathml_and_prices_are_not() -> None:
    text = answer_html("It costs $5 and $6. Then $x^2$, and\n\n$$\n\\frac{a}{b}\n$$", RUN)
    assert "$5 and $6" in text
    assert text.count("<math") == 2
    assert "<mfrac>" in text


@pytest.mark.parametrize(
    "formula",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\text{&lt;img src=x onerror=alert(1)&gt;}",
        r"\style{background:url(http://192.0.2.1)}{x}",
        r"\class{x\" onclick=\"alert(1)}{x}",
        r"\frac{",
        "{" * 400 + "}" * 400,
        "x" * 5000,
        r"\unknown{<script>}",
    ],
)
def test_no_formula_brings_an_address_a_style_or_a_script(formula: str) -> None:
    for block in (False, True):
        elements = Elements()
        elements.feed(str(mathml(formula, {"display_mode": block})))
        assert {tag for tag, _ in elements.found} <= ALLOWED
        for _, attributes in elements.found:
            assert not set(attributes) & (FETCHING | {"class", "id"})
            assert not any(name.startswith("on") for name in attributes)


def test_a_citation_is_a_chip_that_says_what_it_cites() -> None:
    elements = parsed("It holds 42 litres [1]. It is round [1, 2]. Not there [7].")
    chips = [attributes for tag, attributes in elements.found if tag == "a"]
    assert [chip["data-n"] for chip in chips] == ["1", "1", "2"]
    assert chips[0]["href"] == f"#evidence-{RUN.run_id}-1"
    assert chips[2]["aria-label"] == "Source 2: b.md"
    assert "Not there [7]" in elements.text
    assert "<script>" in elements.text  # of the document, as text


def test_a_citation_says_where_it_stands() -> None:
    pieces = (dataclasses.replace(RUN.evidence[0], section="Care › Tank <b>"), *RUN.evidence[1:])
    sources = tuple(dataclasses.replace(source, title="The KX-40", page=7) for source in RUN.sources)
    elements = Elements()
    elements.feed(
        str(answer_html("It holds 42 litres [1].", dataclasses.replace(RUN, evidence=pieces, sources=sources)))
    )
    labels = [attributes["aria-label"] for tag, attributes in elements.found if tag == "a"]
    assert labels == ["Source 1: a.md, page 7 · Care › Tank <b>"]


def test_a_mark_says_why() -> None:
    why = 'it says "round", not <square>'
    marked = dataclasses.replace(
        RUN, support=(sentence("It is square.", Backing.PARTLY, why=why), sentence("Other.", Backing.PARTLY, why="no"))
    )
    elements = Elements()
    elements.feed(
        str(answer_html("It is **square** [2] (only partly supported). Unknown (only partly supported).", marked))
    )
    assert [attributes["title"] for tag, attributes in elements.found if attributes.get("title") is not None] == [
        why,
        "",
    ]


def hostile() -> list[str]:
    lines = (DATA / "attacks.jsonl").read_text("utf-8").splitlines()
    return [json.dumps(json.loads(line), ensure_ascii=False) for line in lines]


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "![picture](http://192.0.2.1/x.png)",
        "[link](javascript:alert(1)) <http://192.0.2.1> http://192.0.2.1 www.example.org",
        "[1]: http://192.0.2.1\n\n[1] [a][1] ![a][1]",
        "<svg onload=alert(1)>",
        "`<img src=x onerror=alert(1)>`\n\n    <script>alert(1)</script>",
        "[1](http://192.0.2.1) [1]<img src=x>",
        "```html onload=alert(1)\n<script>\n```",
        "# <a href=http://192.0.2.1>x</a>\n\n> <iframe src=x>",
        *hostile()[:40],
    ],
)
def test_nothing_in_an_answer_is_fetched_followed_or_run(text: str) -> None:
    elements = parsed(text)
    assert {tag for tag, _ in elements.found} <= ALLOWED
    for tag, attributes in elements.found:
        addresses = {name: value for name, value in attributes.items() if name in FETCHING}
        assert all(tag == "a" and str(value).startswith("#evidence-") for value in addresses.values()), attributes
        assert not any(name.startswith("on") for name in attributes)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_the_sources_are_folded_below_the_answer(language: str) -> None:
    line = translate_to(language, SOURCE_WORDS)
    page = str(answer_html(f"It is 195 euros.\n\n{line}\n\n“The limit.”", None))
    assert page.startswith("<p>It is 195 euros.</p>")
    assert page.count("<details") == 1
    assert page.index("<summary>") < page.index("“The limit.”") < page.index("</details>")


def test_an_answer_that_is_all_quotation_is_not_folded() -> None:
    assert "<details" not in str(answer_html(f"{SOURCE_WORDS}\n\n“The limit.”", None))
