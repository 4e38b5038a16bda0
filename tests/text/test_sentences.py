"""Text to sentences: what ends one, what does not, in several scripts; nothing is lost."""

from __future__ import annotations

import pytest

from localcrag.text.lexicon import comparing_in_language
from localcrag.text.sentences import split_sentences
from tests.support.hostile_texts import HOSTILE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("One here. Two there.", ["One here.", "Two there."], id="plain"),
        pytest.param(
            "Dr. Smith paid $3.5 million. Fine.", ["Dr. Smith paid $3.5 million.", "Fine."], id="abbreviation"
        ),
        pytest.param("It wraps\nhere. Next.", ["It wraps\nhere.", "Next."], id="hard-wrapped line"),
        pytest.param("# Title\nText.", ["# Title", "Text."], id="heading"),
        pytest.param("1. Wait. 2. Go. (3) Stop.", ["1. Wait.", "2. Go.", "(3) Stop."], id="items within a line"),
        pytest.param("- one\n- two", ["- one", "- two"], id="bullets"),
        pytest.param("1. First. More.\n2. Second", ["1. First.", "More.", "2. Second"], id="numbered list"),
        pytest.param("| a | b |\n| 1 | 2 |\nAfter.", ["| a | b |", "| 1 | 2 |", "After."], id="table rows"),
        pytest.param("Above.\n-----\nBelow.", ["Above.\n-----", "Below."], id="ruler joins the sentence before"),
        pytest.param("这是第一句。这是第二句！", ["这是第一句。", "这是第二句！"], id="chinese"),
        pytest.param("مرحبا. كيف حالك؟", ["مرحبا.", "كيف حالك؟"], id="arabic"),
        pytest.param("他说：“你好。再见。”然后走了。", ["他说：“你好。再见。”", "然后走了。"], id="chinese quotation"),
        pytest.param("「はい。そうです。」と言った。", ["「はい。そうです。」", "と言った。"], id="japanese quotation"),
        pytest.param("안녕하세요. 반갑습니다!", ["안녕하세요.", "반갑습니다!"], id="korean"),
        pytest.param("السعر 3.14 دولار. نعم!", ["السعر 3.14 دولار.", "نعم!"], id="arabic decimal"),
        pytest.param("ד״ר כהן כאן. המחיר 3.5 שקל.", ["ד״ר כהן כאן.", "המחיר 3.5 שקל."], id="hebrew"),
        pytest.param("\u200fשלום.\u200f מה?\u202c", ["\u200fשלום.", "\u200f מה?\u202c"], id="marks of direction"),
        pytest.param("यह पहला वाक्य है। यह दूसरा है।", ["यह पहला वाक्य है।", "यह दूसरा है।"], id="hindi"),
        pytest.param(
            "See Fig. 3 and Eq. 4 in vol. 2, pp. 12-14. Yes.",
            ["See Fig. 3 and Eq. 4 in vol. 2, pp. 12-14.", "Yes."],
            id="references",
        ),
        pytest.param(
            "He left at 5 p.m. They ate, e.g. fish.", ["He left at 5 p.m.", "They ate, e.g. fish."], id="p.m."
        ),
        pytest.param("J. R. R. Tolkien wrote it. Yes.", ["J. R. R. Tolkien wrote it.", "Yes."], id="initials"),
        pytest.param(
            "It is by\nJ. Smith. Yes.", ["It is by\nJ. Smith.", "Yes."], id="initial at the beginning of a line"
        ),
        pytest.param("Kinds:\nA. cats\nB. dogs", ["Kinds:", "A. cats", "B. dogs"], id="list with letters"),
        pytest.param("(a) cats\n(2) dogs\n● hens", ["(a) cats", "(2) dogs", "● hens"], id="other markers"),
        pytest.param(
            "Version 2.0.1 is out. See 10.0.0.1 now.", ["Version 2.0.1 is out.", "See 10.0.0.1 now."], id="dots"
        ),
        pytest.param('He said: "Go. Now." She went.', ['He said: "Go. Now."', "She went."], id="quotation"),
        pytest.param(
            "> A long\n> quoted line. More\n> of it.\nAfter.",
            ["> A long\n> quoted line.", "More\n> of it.", "After."],
            id="quoted lines",
        ),
        pytest.param("> - one\n> - two", ["> - one", "> - two"], id="quoted list"),
        pytest.param("Name\tAge\nBob\t3.5\nAfter.", ["Name\tAge", "Bob\t3.5", "After."], id="table with tabs"),
        pytest.param(
            "Run:\n```\na. B. c\n\n# d\n```\nThen. Go.",
            ["Run:", "```\na. B. c", "# d\n```", "Then.", "Go."],
            id="code",
        ),
        pytest.param("```\nNever closed. Two.", ["```", "Never closed.", "Two."], id="code that never ends"),
        pytest.param("One line\r\nwraps. Two.\r\n\r\nThree.", ["One line\r\nwraps.", "Two.", "Three."], id="CRLF"),
        pytest.param("a\ud800b. \ud83d\ude00 smiles.", ["a\ud800b.", "\ud83d\ude00 smiles."], id="surrogates"),
        pytest.param("no end", ["no end"], id="no full stop"),
        pytest.param(" \n\t ", [], id="white space"),
        ("**Emergency switch.** It is left. *Wait.* Go.", ["**Emergency switch.**", "It is left.", "*Wait.*", "Go."]),
        ("It is over. * Without tax.", ["It is over.", "* Without tax."]),
    ],
)
def test_text_is_split_into_sentences_with_their_places(text: str, expected: list[str]) -> None:
    spans = split_sentences(text)
    assert [span.text for span in spans] == expected
    assert all(text[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize(
    "sentences",
    [
        pytest.param(
            [
                "Die Miete beträgt ca. 850 Euro inkl. Nebenkosten.",
                "Das gilt z. B. ab dem 1. Januar 2024.",
                "Siehe Nr. 4 bzw. Abs. 2 der Satzung.",
                "Frau Dr. Müller wohnt in der Hauptstr. 5 in Köln.",
                "Am 3. Oktober ist geschlossen.",
            ],
            id="German",
        ),
        pytest.param(
            [
                "La Sra. García vive en la Avda. Sol núm. 5.",
                "El precio es de aprox. 30 euros.",
                "¿Cuánto cuesta?",
                "Unos 20 euros.",
            ],
            id="Spanish",
        ),
        pytest.param(
            ["M. Dupont habite au no 5.", "Le prix est d'env. 30 euros.", "Voir p. ex. l'art. 4 du règlement."],
            id="French",
        ),
        pytest.param(
            ["O Sr. Silva mora na Av. Brasil, n.º 5.", "O preço é de aprox. 30 euros.", "Ver art. 4 do regulamento."],
            id="Portuguese",
        ),
        pytest.param(
            ["Il sig. Rossi abita in via Roma n. 5.", "Il prezzo è di ca. 30 euro.", "Cfr. art. 4 del regolamento."],
            id="Italian",
        ),
        pytest.param(
            ["Цена прибл. 30 руб. за кв. м площади.", "А. С. Иванов живёт на ул. Ленина, д. 5.", "Это всё о нём."],
            id="Russian",
        ),
    ],
)
def test_a_text_is_split_by_the_rules_of_its_own_language(sentences: list[str]) -> None:
    assert [span.text for span in split_sentences(" ".join(sentences))] == sentences


def test_a_short_text_is_split_by_the_rules_of_the_language_that_is_read() -> None:
    text = "Am 3. Oktober bleibt zu."
    assert [span.text for span in split_sentences(text)] == ["Am 3.", "Oktober bleibt zu."]
    with comparing_in_language("de"):
        assert [span.text for span in split_sentences(text)] == [text]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_but_white_space_is_lost_of_any_text(text: str) -> None:
    spans = split_sentences(text)
    assert "".join("".join(span.text for span in spans).split()) == "".join(text.split())
    assert all(text[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u2028", "\u3000"])
def test_a_wide_space_behind_a_capital_letter_is_a_space(space: str) -> None:
    text = f"It is for hepatitis A{space}. And for B{space}too."
    assert [span.text for span in split_sentences(text)] == [f"It is for hepatitis A{space}.", f"And for B{space}too."]


@pytest.mark.parametrize("line", ["Eq. 4 ", "> a\n", "A. b\n", "a\t", "~~~\n", " \n"])
def test_a_text_of_many_lines_is_split_in_one_go(line: str) -> None:
    """Each would take minutes if a rule looked back or ahead over the whole text."""
    text = line * 50_000
    assert "".join("".join(span.text for span in split_sentences(text)).split()) == "".join(text.split())


def test_a_line_without_end_is_split_a_part_at_a_time() -> None:
    """It would take minutes if all of it was looked at together."""
    text = "`" * 300_000 + " It ends. " + "Berth 7 is free. " * 5_000
    spans = [span.text for span in split_sentences(text)]
    assert spans[-1] == "Berth 7 is free."
    assert spans.count("Berth 7 is free.") == 5_000
