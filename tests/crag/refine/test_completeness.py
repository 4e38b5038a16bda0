"""What is kept with a kept strip: headings, headers, lead-ins, whole lists, the sentences that it hangs on."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from localcrag.crag.refine.completeness import complete
from localcrag.crag.refine.refine import recompose
from localcrag.crag.refine.strips import split_into_strips
from localcrag.records.enums import StripMode, StripReason
from localcrag.records.passages import Strip
from tests.support.fakes import FakeEmbedder
from tests.support.made_records import graded

FACT = "What is the fee?"
TABLE = "Fees of 2026\n\n| Room | Fee |\n|---|---|\n| Single | 80 |\n| Double | 110 |\n| Suite | 190 |\n| Attic | 60 |"
STEPS = (
    "The pump is loud.\n\nTo clean the filter:\n\n1. Switch it off.\n2. Open the lid.\n3. Rinse the sieve.\n"
    "4. Close the lid.\n5. Wait ten minutes.\n6. Switch it on.\n\nCall us with questions."
)
BULLETS = "Please bring:\n\n- a passport\n- two photos\n- the form\n- 20 euros\n\nWe open at nine."
RULE = "Dogs are welcome. They must be on a lead. The pool is warm. But dogs may not swim there. Cats are not allowed."


def strips_of(text: str, kept: Collection[str], relevance: float = 0.8) -> list[Strip]:
    spans = split_into_strips(text, StripMode.SENTENCE, window_words=10)
    found = [any(piece in span.text for piece in kept) for span in spans]
    assert sum(found) >= len(kept), [span.text for span in spans]
    return [
        Strip("p", span.start, span.end, span.text, 0.0, relevance if said else 0.1, said,
              StripReason.KEPT if said else StripReason.BELOW)
        for span, said in zip(spans, found, strict=True)
    ]  # fmt: skip


def completed(text: str, *kept: str, question: str = FACT, tokens: int = 500) -> list[str]:
    """Return what is added."""
    strips = strips_of(text, kept)
    done = complete(
        question, [graded(0.9, text, id="p")], strips, tokens=tokens, count_tokens=FakeEmbedder().count_tokens
    )
    assert [strip.text for strip in done] == [strip.text for strip in strips]
    assert all(after.kept for before, after in zip(strips, done, strict=True) if before.kept)
    added = [after for before, after in zip(strips, done, strict=True) if after.kept and not before.kept]
    assert all(strip.reason is StripReason.CONTEXT for strip in added)
    return [" ".join(strip.text.split()) for strip in added]


HEADER = "| Room | Fee | |---|---|"


@pytest.mark.parametrize(
    ("text", "kept", "question", "added"),
    [
        pytest.param(TABLE, ["Single"], FACT, [HEADER], id="a row keeps its header"),
        pytest.param(
            TABLE, ["Single", "Attic"], FACT, [HEADER, "| Double | 110 |", "| Suite | 190 |"],
            id="half of its rows keep a table",
        ),
        pytest.param(
            TABLE, ["| Room"], FACT, ["| Single | 80 |", "| Double | 110 |", "| Suite | 190 |", "| Attic | 60 |"],
            id="a header keeps its rows",
        ),
        pytest.param(
            TABLE, ["Suite"], "What is the fee for the attic?", [HEADER, "| Attic | 60 |"],
            id="a row that the question names is kept",
        ),
        pytest.param(
            "**Emergency switch.** It is left of the dial. It costs three times as much. It has 6 kW.", ["6 kW"],
            FACT, ["**Emergency switch.**", "It is left of the dial.", "It costs three times as much."],
            id="a paragraph keeps what it is called",
        ),
        pytest.param(STEPS, ["Rinse"], FACT, ["To clean the filter:"], id="a step keeps what leads into the list"),
        pytest.param(
            STEPS, ["Rinse", "Open"], FACT,
            ["To clean the filter:", "1. Switch it off.", "4. Close the lid.", "5. Wait ten minutes.",
             "6. Switch it on."],
            id="two steps keep the procedure",
        ),
        pytest.param(
            STEPS, ["Rinse"], "How do I clean it?",
            ["To clean the filter:", "1. Switch it off.", "2. Open the lid.", "4. Close the lid.",
             "5. Wait ten minutes.", "6. Switch it on."],
            id="the question asks how",
        ),
        pytest.param(
            STEPS, ["To clean"], FACT,
            ["1. Switch it off.", "2. Open the lid.", "3. Rinse the sieve.", "4. Close the lid.",
             "5. Wait ten minutes.", "6. Switch it on."],
            id="what leads into a list keeps it",
        ),
        pytest.param(STEPS, ["The pump"], "How do I clean it?", [], id="nothing of the list is kept"),
        pytest.param(BULLETS, ["passport"], FACT, ["Please bring:"], id="one bullet of four"),
        pytest.param(
            BULLETS, ["passport", "the form"], FACT, ["Please bring:", "- two photos", "- 20 euros"],
            id="half of the bullets",
        ),
        pytest.param(
            BULLETS, ["passport"], "Which documents do I need?",
            ["Please bring:", "- two photos", "- the form", "- 20 euros"], id="the question asks for a list",
        ),
        pytest.param(RULE, ["on a lead"], FACT, ["Dogs are welcome."], id="a pronoun keeps what it stands for"),
        pytest.param(
            RULE, ["pool"], FACT, ["But dogs may not swim there."], id="a rule keeps its exception",
        ),
        pytest.param(
            RULE, ["swim"], FACT, ["The pool is warm."], id="an exception keeps its rule",
        ),
        pytest.param(RULE, ["Cats"], FACT, [], id="nothing is needed"),
        pytest.param(
            "# House\n\n## Pets\n\nDogs are welcome.\n\n## Pool\n\nIt is warm.", ["Dogs"], FACT,
            ["# House", "## Pets"], id="a sentence keeps its headings",
        ),
        pytest.param(
            "# House\n\n## Pets\n\nDogs are welcome.\n\n## Pool\n\nIt is warm.", ["## Pool"], FACT,
            ["# House", "It is warm."], id="a heading keeps what it says",
        ),
        pytest.param(
            "## The filter\n\nClean it so:\n\n1. Open it.\n2. Rinse it.", ["## The filter"], FACT,
            ["Clean it so:", "1. Open it.", "2. Rinse it."], id="a heading keeps the list that it is of",
        ),
        pytest.param(
            "Q: May I bring a dog?\nA: Yes, on a lead.\nQ: May I smoke?\nA: No.", ["bring a dog"], FACT,
            ["A: Yes, on a lead."], id="a question keeps its answer",
        ),
        pytest.param(
            "Q: May I bring a dog?\nA: Yes, on a lead.\nQ: May I smoke?\nA: No.", ["on a lead"], FACT,
            ["Q: May I bring a dog?"], id="an answer keeps its question",
        ),
        pytest.param(
            "1. Switch it off.\n2. Open the lid.\n\nNote: the lid is hot.\n\n3. Rinse the sieve.", ["Switch", "Rinse"],
            FACT, ["2. Open the lid.", "Note: the lid is hot."], id="a note within a procedure",
        ),
        pytest.param(
            "1. Switch it off.\n2. Go.\n\nTo start again:\n\n1. Plug it in.\n2. Wait.\n3. Start.", ["Plug", "Start."],
            FACT, ["To start again:", "2. Wait."], id="two procedures",
        ),
    ],
)  # fmt: skip
def test_what_belongs_to_a_kept_strip_is_kept(text: str, kept: list[str], question: str, added: list[str]) -> None:
    assert completed(text, *kept, question=question) == added


def test_a_passage_that_is_nearly_all_kept_is_kept_whole() -> None:
    text = " ".join(f"Sentence number {number} says one more thing." for number in range(10))
    kept = [f"number {number} " for number in range(7)]
    assert completed(text, *kept) == [f"Sentence number {number} says one more thing." for number in (7, 8, 9)]
    assert completed(text, *kept[:6]) == []


def test_a_short_passage_is_no_section() -> None:
    assert completed("Dogs are welcome here. Cats purr a lot. Fish swim.", "Dogs", "Cats") == []


def test_of_a_list_the_rest_is_kept_as_a_whole_or_not_at_all() -> None:
    assert completed(STEPS, "Rinse", "Open", tokens=20) == ["To clean the filter:"]
    assert completed(STEPS, "Rinse", "Open", tokens=8) == []


def test_what_belongs_to_the_most_relevant_strip_goes_first() -> None:
    passages = [graded(0.9, BULLETS, id="p"), graded(0.8, BULLETS.replace("bring", "show"), id="q")]
    strips = [
        *strips_of(passages[0].text, ["passport"], 0.5),
        *(Strip("q", s.start, s.end, s.text, s.logit, s.relevance, s.kept, s.reason)
          for s in strips_of(passages[1].text, ["passport"], 0.9)),
    ]  # fmt: skip
    done = complete(FACT, passages, strips, tokens=9, count_tokens=FakeEmbedder().count_tokens)
    assert [strip.text for strip in done if strip.reason is StripReason.CONTEXT] == ["Please show:"]


def test_a_planted_instruction_is_never_context() -> None:
    strips = strips_of(STEPS, ["Rinse", "Open"])
    strips[2] = Strip("p", *(strips[2].start, strips[2].end), strips[2].text, 0, 0, False, StripReason.INSTRUCTION)
    done = complete(FACT, [graded(0.9, STEPS, id="p")], strips, tokens=500, count_tokens=FakeEmbedder().count_tokens)
    assert not done[2].kept


@pytest.mark.parametrize(
    ("text", "kept", "pieces"),
    [
        pytest.param(
            TABLE, ["| Room", "Suite"], ["| Room | Fee |\n|---|---|\n| Suite | 190 |"], id="a header and a distant row"
        ),
        pytest.param(BULLETS, ["Please", "the form"], ["Please bring:\n- the form"], id="a lead-in and a bullet"),
        pytest.param(BULLETS, ["passport", "two"], ["- a passport\n- two photos"], id="neighbours as they stand"),
        pytest.param(RULE, ["welcome", "warm"], ["Dogs are welcome.", "The pool is warm."], id="sentences apart"),
        pytest.param(
            "## Pets\n\nDogs are welcome. They bark. Cats are not.\n\n## Pool\n\nIt is warm.",
            ["## Pets", "Dogs", "Cats", "## Pool", "warm"],
            ["## Pets\n\nDogs are welcome.\nCats are not.", "## Pool\n\nIt is warm."], id="a section each",
        ),
    ],
)  # fmt: skip
def test_strips_that_belong_together_are_one_piece_of_evidence(text: str, kept: list[str], pieces: list[str]) -> None:
    strips = strips_of(text, kept)
    evidence, _ = recompose([graded(0.9, text, id="p")], strips)
    assert [piece.text for piece in evidence] == pieces


def test_evidence_knows_the_path_that_it_stands_under() -> None:
    text = "## Pets\n\nDogs are welcome.\n\n## Pool\n\nIt is warm."
    passage = graded(0.9, text, id="p", section="House")
    evidence, _ = recompose([passage], strips_of(text, ["Dogs", "warm"]))
    assert [piece.section for piece in evidence] == ["House › Pets", "House › Pool"]


def test_a_table_that_begins_before_the_passage_has_its_header_in_front() -> None:
    text = "| Suite | 190 |\n| Attic | 60 |\n\nAll fees are for a night."
    passage = graded(0.9, text, id="p", lead="| Room | Fee |")
    evidence, _ = recompose([passage], strips_of(text, ["Attic"]))
    assert [piece.text for piece in evidence] == ["| Room | Fee |\n| Attic | 60 |"]
    evidence, _ = recompose([passage], strips_of(text, ["All fees"]))
    assert [piece.text for piece in evidence] == ["All fees are for a night."]
