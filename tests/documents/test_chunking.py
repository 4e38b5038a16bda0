"""Chunks and where they stand: sections, tables and lists in plain texts, cut by the stand-in embedder's words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localcrag.documents import chunking
from localcrag.documents.chunking import PORTION_CHARACTERS, PORTION_UNITS
from localcrag.records.documents import Chunk, Page
from localcrag.records.ingest import IngestProgress
from localcrag.text.blocks import Heading
from localcrag.text.titles import with_context
from tests.support.chunks import split_into_chunks
from tests.support.fakes import FakeEmbedder


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def chunks_of(*pages: str, title: str = "", target: int = 30, limit: int = 40) -> list[Chunk]:
    numbered = [Page(number, text) for number, text in enumerate(pages, start=1)]
    return split_into_chunks(numbered, words, title=title, target=target, limit=limit)


LEASE = """# Lease

## Rent

### When it is due

The rent is due on the third working day of each month, on the account that is named in the annex to this contract.

### Late payment

Five euros for each reminder, and interest from the thirtieth day on, at five points above the bank's own base rate.

## Keys

Three keys are handed over with the flat, and all of them are to be given back on the last day, with copies made."""


def test_a_chunk_stands_within_a_section_and_knows_its_path() -> None:
    found = chunks_of(LEASE, title="Lease")
    assert [chunk.section for chunk in found] == ["Rent › When it is due", "Rent › Late payment", "Keys"]
    assert [chunk.text.split("\n")[0] for chunk in found] == ["# Lease", "### Late payment", "## Keys"]


def test_sections_too_short_to_be_found_are_joined_under_the_heading_that_they_share() -> None:
    (found,) = chunks_of("# Lease\n\n## Rent\n\n### Due\n\nMonthly.\n\n### Late\n\nFive euros.", title="Lease")
    assert found.section == "Rent"


def test_the_path_goes_on_from_page_to_page() -> None:
    first, second = chunks_of("## Rent\n\n" + "Rent is due monthly. " * 8, "It is paid by transfer. " * 6)
    assert (first.section, second.section) == ("Rent", "Rent")
    assert (first.page, second.page) == (1, 2)


def test_headings_that_the_file_tells_make_the_path() -> None:
    text = "Fees\nA visitor pays four euros a day, a member nothing, and a child under six years nothing at all."
    (found,) = split_into_chunks([Page(1, text, headings=(Heading(0, 4, 1),))], words, target=30, limit=40)
    assert found.section == "Fees"


TABLE = "The ceilings a night are:\n\n| Group | Sunday | Friday |\n|---|---|---|\n" + "\n".join(
    f"| town {number} | {number} euros | {number + 1} euros |" for number in range(12)
)


def test_the_rest_of_a_long_table_has_its_header_in_front() -> None:
    first, *rest = chunks_of(TABLE)
    assert "The ceilings" in first.text
    assert first.lead is None
    assert {chunk.lead for chunk in rest} == {"| Group | Sunday | Friday |"}
    assert "".join("".join(chunk.text for chunk in [first, *rest]).split()) == "".join(TABLE.split())


def test_a_table_that_fits_stays_whole() -> None:
    rows = "\n".join(TABLE.split("\n")[:6])
    before = "Meals are part of the price, and so is the tax of the town, for every night that is booked. "
    assert [chunk.text for chunk in chunks_of(f"{before}\n\n{rows}")][-1] == rows


STEPS = "How a member books:\n" + "\n".join(f"{n}. Do the thing number {n} with care and wait." for n in range(1, 9))


def test_the_rest_of_a_long_procedure_has_the_sentence_in_front_that_leads_into_it() -> None:
    first, *rest = chunks_of(f"We open at nine. {STEPS}")
    assert first.lead is None
    assert {chunk.lead for chunk in rest} == {"How a member books:"}


def test_a_procedure_that_fits_is_not_torn_apart() -> None:
    before = "The booking code is in the mail, and the boarding slip is printed at the counter of the harbour. "
    steps = "\n".join(STEPS.split("\n")[:4])
    assert steps in {chunk.text for chunk in chunks_of(f"{before}\n\n{steps}")}


def test_a_passage_is_read_with_what_it_is_part_of_but_for_what_it_says_itself() -> None:
    assert with_context("Tariff", "Zone A: 2.", section="Fares › Day", lead="Zone, price") == (
        "Tariff › Fares › Day\nZone, price\n\nZone A: 2."
    )
    assert with_context("Tariff", "Tariff\n\nZone A: 2.") == "Tariff\n\nZone A: 2."
    assert with_context(None, "Zone A: 2.") == "Zone A: 2."


def cut_on_the_way(pages: Sequence[Page]) -> tuple[list[Chunk], list[tuple[str, int, int]]]:
    """Return the chunks of these pages, and what is told until they are there."""
    told: list[tuple[str, int, int]] = []

    def at(phase: str, done: int, total: int) -> IngestProgress:
        told.append((phase, done, total))
        return IngestProgress("a.txt", 1, 1, phase, done, total, None)

    cutting = chunking.cut_pages(pages, "", FakeEmbedder(), 180, at)
    while True:
        try:
            next(cutting)
        except StopIteration as end:
            return end.value, told


@pytest.mark.parametrize(
    ("piece", "behind"),
    [
        pytest.param("The lamp of the harbour is lit at six. ", ".", id="sentences"),
        pytest.param("lamp and harbour and ", " and", id="words without an end"),
        pytest.param("lamp,harbour,", ",", id="nothing but letters"),
        pytest.param(
            "the lamp of the harbour is lit at six and put out at seven\n", " seven", id="lines of a paragraph"
        ),
    ],
)
def test_how_far_one_giant_block_is_cut_is_told_within_it(piece: str, behind: str) -> None:
    text = (piece * (5 * PORTION_CHARACTERS // len(piece))).strip()
    chunks, told = cut_on_the_way([Page(None, text)])
    done = [one for _, one, _ in told]
    assert len(done) >= 4
    assert done == sorted(set(done))
    assert max(b - a for a, b in zip([0, *done], done, strict=False)) <= 2 * PORTION_CHARACTERS
    # Nothing is lost, and no word is torn where there are words.
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(text.split())
    assert " " not in piece or all(chunk.text.endswith((behind, *piece.split())) for chunk in chunks)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_how_far_a_long_text_is_cut_is_told_on_the_way() -> None:
    text = "\n\n".join(f"Line {number}." for number in range(PORTION_UNITS * 2 + 10))
    embedder, pages = FakeEmbedder(), [Page(None, text), Page(None, "The end.")]
    chunks, told = cut_on_the_way(pages)
    half, whole = (
        text.index(f"Line {PORTION_UNITS * part - 1}.") + len(f"Line {PORTION_UNITS * part - 1}.") for part in (1, 2)
    )
    assert told == [("cutting", done, len(text) + 8) for done in (half, whole)]
    assert chunks == split_into_chunks(pages, embedder.count_tokens, target=180, limit=embedder.max_tokens - 24)


def test_much_that_is_nothing_to_the_embedder_goes_with_the_text_before_it() -> None:
    text = "Text here.\n\n" + "\ue000\n\n" * 10_000

    def count_tokens(texts: Sequence[str]) -> list[int]:
        return [0 if one == "\ue000" else 3 for one in texts]

    (chunk,) = split_into_chunks([Page(None, text)], count_tokens, target=180, limit=230)
    assert chunk.text == text.rstrip()
