"""A text's pages: whole words, marks where the sentences stand, also across the end of a page."""

from __future__ import annotations

import random

import pytest

from localcrag.interfaces.page.source import text_page

TEXT = "\n\n".join(f"Paragraph {number} is about ferries. It ends here." for number in range(1, 60))


def test_the_pages_are_the_text_and_end_with_paragraphs() -> None:
    count = text_page(TEXT, size=500).count
    pages = [
        "".join(part for part, _ in text_page(TEXT, number=number, size=500).parts) for number in range(1, count + 1)
    ]
    assert "".join(pages) == TEXT
    assert all(page.endswith("\n\n") for page in pages[:-1])
    assert all(len(page) <= 500 for page in pages)


def test_what_is_sought_is_marked_on_the_page_where_it_stands() -> None:
    page = text_page(TEXT, sought=["Paragraph 40 is\nabout ferries."], size=500)
    assert page.number > 1
    assert [part for part, marked in page.parts if marked] == ["Paragraph 40 is about ferries."]
    other = text_page(TEXT, sought=["Paragraph 40 is about ferries."], number=1, size=500)
    assert other.number == 1
    assert not any(marked for _, marked in other.parts)


def test_of_equal_texts_the_one_near_the_passage_is_meant() -> None:
    near = TEXT.index("Paragraph 30")
    page = text_page(TEXT, sought=["It ends here."], near=near, size=500)
    (before, _), *_ = [(part, marked) for part, marked in page.parts]
    assert before.rstrip().endswith("Paragraph 30 is about ferries.")


def test_a_sentence_across_the_end_of_a_page_is_marked_on_both() -> None:
    text = "word " * 99 + "The sentence that goes on from one page to the next one and is long. " + "word " * 99
    sought = ["The sentence that goes on from one page to the next one and is long."]
    first = text_page(text, sought=sought, size=520)
    second = text_page(text, sought=sought, number=first.number + 1, size=520)
    marked = "".join(part for page in (first, second) for part, is_marked in page.parts if is_marked)
    assert marked == sought[0]


@pytest.mark.parametrize("text", ["", "x", "x" * 5000, " " * 3000])
def test_any_text_has_pages(text: str) -> None:
    count = text_page(text, size=700).count
    pages = (text_page(text, number=number, size=700) for number in range(1, count + 1))
    assert "".join(part for page in pages for part, _ in page.parts) == text


def test_a_number_beyond_the_pages_is_the_last_one() -> None:
    assert text_page(TEXT, number=999, size=500).number == text_page(TEXT, size=500).count
    assert text_page(TEXT, number=-3, size=500).number == 1


def test_pages_of_a_document_are_apart() -> None:
    page = text_page("Say hello.\f## Your first week", sought=["Say hello."])
    assert page.parts == (("Say hello.", True), ("\n## Your first week", False))


def test_overlapping_marks_come_once() -> None:
    chosen = random.Random(2)
    words = TEXT.split()
    for _ in range(50):
        sought = [" ".join(words[at : at + chosen.randint(1, 9)]) for at in chosen.sample(range(len(words) - 9), 3)]
        page = text_page(TEXT, sought=sought, number=1, size=10_000)
        assert "".join(part for part, _ in page.parts) == TEXT
