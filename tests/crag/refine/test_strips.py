"""A passage to strips, in every mode."""

from __future__ import annotations

import pytest

from localcrag.crag.refine.strips import adaptive_strips, count_words, split_into_strips
from localcrag.records.enums import StripMode
from tests.support.hostile_texts import HOSTILE

LONG = "This sentence goes on and on until it has more words than a short one would ever have."
FOUR_SHORT = "One here. Two there. Three now. Four then."

TEXTS = [
    pytest.param("", id="empty"),
    pytest.param(" \n\t\n ", id="white space"),
    pytest.param("word " * 900, id="one giant sentence"),
    pytest.param("- one\n- two\n  wrapped\n1. three. Four.\na) five", id="lists"),
    pytest.param("| a | b |\n|---|---|\n| 1.5 | x. y |\n\nName\tAge\nBob\t3", id="tables"),
    pytest.param("# Title\n\nText one.\n\nOther\n=====\nBody.", id="headings"),
    pytest.param("Run:\n\n```python\nx = foo.bar()\n\nprint('a. b')\n```\n\nThen go on.", id="code"),
    pytest.param('He said: "I am here. Where are you?" „Halt. Nein.“ Er ging.', id="quotations"),
    pytest.param("Dr. Smith paid $3.5 million, e.g. in Jan. 2020. See Fig. 3.", id="abbreviations and decimals"),
    pytest.param("今天天气很好。我们去公园！好吗？他说：“你好。再见。”", id="chinese"),
    pytest.param("สวัสดีครับ ผมชื่อสมชาย", id="thai"),
    pytest.param("هذه جملة أولى. هل هذه جملة ثانية؟ نعم! السعر 3.14 دولار.", id="arabic"),
    pytest.param("שלום עולם. מה שלומך?\n\nהמחיר 3.5 שקל.", id="hebrew"),
    *HOSTILE,
]


@pytest.mark.parametrize("mode", StripMode)
@pytest.mark.parametrize("text", TEXTS)
def test_every_mode_keeps_all_but_white_space_and_knows_the_places(text: str, mode: StripMode) -> None:
    strips = split_into_strips(text, mode, window_words=10)
    assert all(text[strip.start : strip.end] == strip.text for strip in strips)
    assert "".join("".join(strip.text for strip in strips).split()) == "".join(text.split())
    assert all(strip.text == strip.text.strip() != "" for strip in strips)


@pytest.mark.parametrize(
    ("mode", "text", "expected"),
    [
        pytest.param(StripMode.SENTENCE, "One here. Two there.", ["One here.", "Two there."], id="sentences"),
        pytest.param(
            StripMode.SENTENCE, "# Title\n\nOne here. Two there:\n\n1. Three now. It is.\n2. Four\n   then.",
            ["# Title", "One here.", "Two there:", "1. Three now. It is.", "2. Four\n   then."], id="steps stay whole",
        ),
        pytest.param(
            StripMode.SENTENCE, f"- {LONG} {LONG} {LONG} {LONG}\n- Two.", [f"- {LONG}", LONG, LONG, LONG, "- Two."],
            id="long items do not",
        ),
        pytest.param(
            StripMode.SENTENCE, "| a | b |\n|---|---|\n| 1. Yes. | No. |\n| 2 | 3 |",
            ["| a | b |\n|---|---|", "| 1. Yes. | No. |", "| 2 | 3 |"], id="rows",
        ),
        pytest.param(
            StripMode.SENTENCE, "Ann: Hello. Well?\nBob: Fine. You?", ["Ann: Hello. Well?", "Bob: Fine. You?"],
            id="lines that stand by themselves",
        ),
        pytest.param(
            StripMode.SENTENCE, "```\na = 1\n\nb = 2\n```", ["```\na = 1\n\nb = 2\n```"], id="code",
        ),
        pytest.param(StripMode.SENTENCE, "> Quoted.\n>\n> More.", ["> Quoted.", ">\n> More."], id="quotation marks"),
        pytest.param(
            StripMode.MULTI_SENTENCE, FOUR_SHORT, ["One here. Two there. Three now.", "Four then."],
            id="short sentences by threes",
        ),
        pytest.param(
            StripMode.MULTI_SENTENCE, f"One here. Two there. {LONG} Four then.",
            ["One here. Two there.", LONG, "Four then."], id="a long sentence stays alone",
        ),
        pytest.param(
            StripMode.MULTI_SENTENCE, "One here.\n\nTwo there. Three now.", ["One here.", "Two there. Three now."],
            id="not across paragraphs",
        ),
        pytest.param(
            StripMode.PARAGRAPH, "# Title\n\nOne here. Two\nthere.\n\n- three\n- four",
            ["# Title", "One here. Two\nthere.", "- three\n- four"], id="paragraphs",
        ),
        pytest.param(StripMode.PARAGRAPH, "One.\r\n\r\nTwo.\fThree.", ["One.", "Two.", "Three."], id="CRLF"),
        pytest.param(
            StripMode.WINDOW, "one two, three. four (five) six", ["one two, three.", "four (five) six"], id="windows",
        ),
        pytest.param(StripMode.WINDOW, "one two three  four", ["one two three", "four"], id="the last window"),
        pytest.param(StripMode.WINDOW, "今天天气。", ["今天天", "气。"], id="windows without spaces"),
        pytest.param(
            StripMode.ADAPTIVE, "One here. Two there. Three now.", ["One here. Two there. Three now."],
            id="adaptive: short sentences are joined",
        ),
        pytest.param(StripMode.ADAPTIVE, f"{LONG} {LONG}", [LONG, LONG], id="adaptive: long ones are not"),
    ],
)  # fmt: skip
def test_a_mode_cuts_where_it_says(mode: StripMode, text: str, expected: list[str]) -> None:
    assert [strip.text for strip in split_into_strips(text, mode, window_words=3)] == expected


@pytest.mark.parametrize(("sentences", "strips"), [(8, 4), (9, 8), (20, 8), (30, 16), (200, 16)], ids=str)
def test_adaptive_makes_about_4_8_or_16_strips_of_about_the_same_length(sentences: int, strips: int) -> None:
    made = split_into_strips(" ".join([LONG] * sentences), StripMode.ADAPTIVE, window_words=3)
    assert len(made) == strips
    lengths = [count_words(strip.text) for strip in made]
    assert max(lengths) <= 2 * min(lengths)


@pytest.mark.parametrize(("words", "strips"), [(1, 4), (150, 4), (151, 8), (400, 8), (401, 16)])
def test_the_number_of_strips_grows_with_the_passage(words: int, strips: int) -> None:
    assert adaptive_strips(words) == strips


@pytest.mark.parametrize(
    ("text", "words"), [("", 0), ("one two-three, 4.5.", 3), ("今天好。", 3), ("東京 is big", 4), ("…", 1)]
)
def test_words_are_counted_also_where_no_spaces_are_written(text: str, words: int) -> None:
    assert count_words(text) == words


def test_short_blocks_are_cut_by_the_rules_of_the_passages_language() -> None:
    text = (
        "Die Bibliothek der Stadt ist von Montag bis Freitag offen, und auch am Sonnabend, wenn kein Feiertag ist.\n\n"
        "Am 3. Oktober bleibt sie zu. Bitte beachten."
    )
    strips = split_into_strips(text, StripMode.SENTENCE, window_words=60)
    assert [strip.text for strip in strips][1:] == ["Am 3. Oktober bleibt sie zu.", "Bitte beachten."]
