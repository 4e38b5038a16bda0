"""Evidence of both sides: what is compared, what each rule does with a contradiction, what the answer then says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from localcrag.crag import reconcile
from localcrag.crag.context import Clock
from localcrag.crag.contradiction import Difference
from localcrag.records.enums import ConflictJudge, ConflictRule, Origin
from localcrag.records.events import Event, StepStarted, Warned
from localcrag.records.passages import Evidence, Source, Strip
from localcrag.records.run import Claim, Conflict
from localcrag.text.places import SheetRow
from localcrag.text.sentences import split_sentences
from tests.support.fakes import FakeEmbedder, FakeLanguageModel

LONDON, DEARER = "The hotel limit in London is 195 euros.", "The hotel limit in London is 210 euros."
CONTRADICT, AGREE = (f'{{"reasoning": "x", "verdict": "{verdict}"}}' for verdict in ("contradict", "agree"))


def claim(n: int, dated: str | None = None, relevance: float = 0.5) -> Claim:
    return Claim(f"Statement {n}.", "", n, f"source-{n}", dated, relevance)


def conflict(local: Claim, web: Claim) -> Conflict:
    return Conflict(local, web, ConflictJudge.FACTS)


def source(n: int, dated: str | None = None) -> Source:
    """Return the nth source; the odd ones are documents."""
    if n % 2:
        return Source(f"source-{n}", Origin.LOCAL, f"{n}.pdf", 3, None, None, dated)
    return Source(f"source-{n}", Origin.WEB, None, None, f"http://example.org/{n}", f"Page {n}", dated)


def pieces(*texts: str) -> list[Evidence]:
    return [Evidence(n, text, f"passage-{n}", f"source-{n}", n / 10) for n, text in enumerate(texts, start=1)]


def run(
    evidence: Sequence[Evidence], *said: str, judge: str = "facts", rule: str = "show-both", fails: str | None = None
) -> tuple[list[Event], reconcile.Reconciliation, Clock]:
    events: list[Event] = []
    clock = Clock("reconcile")
    sources = [source(piece.n, f"20{10 + piece.n}-01-01") for piece in evidence]
    pairs = reconcile.near_pairs(evidence, sources, embedder=FakeEmbedder())
    llm = FakeLanguageModel(*said, fails=fails)
    steps = reconcile.find_contradictions(pairs, ConflictJudge(judge), llm, clock)
    while True:
        try:
            events.append(next(steps))
        except StopIteration as end:
            return events, reconcile.resolve(end.value, sources, evidence, ConflictRule(rule)), clock


@pytest.mark.parametrize(
    ("rule", "local", "web", "winner", "why"),
    [
        (
            "documents",
            claim(1),
            claim(2),
            "local",
            "your documents take precedence: what the web page says was left out",
        ),
        ("web", claim(1), claim(2), "web", "the web takes precedence: what the document says was left out"),
        (
            "newer",
            claim(1, "2019-05-02"),
            claim(2, "2026-01-01"),
            "web",
            "newer source takes precedence, 2026-01-01 against 2019-05-02",
        ),
        (
            "newer",
            claim(1, "2026-05-02"),
            claim(2, "2026-05-01"),
            "local",
            "newer source takes precedence, 2026-05-02 against",
        ),
        ("newer", claim(1), claim(2, "2026-01-01"), None, "the document has no date: both sides are shown"),
        ("newer", claim(1, "2026-01-01"), claim(2), None, "the web page has no date: both sides are shown"),
        ("newer", claim(1), claim(2), None, "neither source has a date"),
        ("newer", claim(1, "2026-01-01"), claim(2, "2026-01-01"), None, "both are dated 2026-01-01"),
        (
            "more-relevant",
            claim(1, None, 0.9),
            claim(2, None, 0.2),
            "local",
            "more relevant source takes precedence, 0.90 against 0.20",
        ),
        (
            "more-relevant",
            claim(1, None, 0.1),
            claim(2, None, 0.2),
            "web",
            "more relevant source takes precedence, 0.20 against 0.10",
        ),
        ("more-relevant", claim(1), claim(2), None, "both are equally relevant: both sides are shown"),
        ("show-both", claim(1, "2019-05-02", 0.9), claim(2, "2026-01-01"), None, "not decided: both sides are shown"),
    ],
)
def test_each_rule_decides_or_says_why_it_cannot(
    rule: str, local: Claim, web: Claim, winner: str | None, why: str
) -> None:
    decided = reconcile.decide_conflict(conflict(local, web), ConflictRule(rule))
    assert decided.winner == winner
    assert why in decided.resolution
    assert decided.loser == {None: None, "local": web, "web": local}[winner]


@pytest.mark.parametrize(
    ("rule", "left"), [("show-both", [1, 2, 3]), ("documents", [1, 3]), ("web", [2, 3]), ("newer", [2, 3])]
)
def test_what_lost_is_left_out_and_the_numbers_stay(rule: str, left: list[int]) -> None:
    _, result, _ = run(pieces(f"{LONDON} Breakfast is free.", DEARER, "Bicycles are free."), rule=rule)
    assert [piece.n for piece in result.evidence] == left
    (found,) = result.conflicts
    assert (found.local.text, found.local.differs, found.local.n) == (LONDON, "195 euros", 1)
    assert (found.web.text, found.web.differs, found.web.n) == (DEARER, "210 euros", 2)
    assert (found.found_by, found.local.dated) == (ConflictJudge.FACTS, "2011-01-01")


def test_a_statement_that_lost_elsewhere_is_not_shown_as_undecided() -> None:
    first, second = conflict(claim(1, "2019-01-01"), claim(2, "2026-01-01")), conflict(claim(1, "2019-01-01"), claim(4))
    pairs = [(one.local.n, one.web.n) for one in (first, second)]
    evidence = pieces(LONDON, DEARER, "Else.", DEARER.replace("210", "220"))
    sources = [source(1, "2019-01-01"), source(2, "2026-01-01"), source(3), source(4)]
    found = [
        (reconcile.StatementPair(evidence[a - 1], evidence[b - 1], LONDON, DEARER, 0.9), Difference("", ""),
         ConflictJudge.FACTS)
        for a, b in pairs
    ]  # fmt: skip
    result = reconcile.resolve(found, sources, evidence, ConflictRule.NEWER)
    assert [one.winner for one in result.conflicts] == [Origin.WEB, Origin.WEB]
    assert [piece.n for piece in result.evidence] == [2, 3, 4]
    assert reconcile.disagreement(result.conflicts, sources) == ""


@pytest.mark.parametrize("rule", list(ConflictRule))
def test_some_evidence_is_always_left(rule: ConflictRule) -> None:
    _, result, _ = run(pieces(LONDON, DEARER, LONDON.replace("195", "200"), LONDON.replace("195", "90")), rule=rule)
    assert len(result.conflicts) == 4
    assert result.evidence


def test_only_sentences_that_are_near_each_other_are_compared() -> None:
    evidence = pieces(f"{LONDON} The moon is far.", f"Cats purr. {DEARER}")
    sources = [source(1), source(2)]
    assert [(pair.local_text, pair.web_text) for pair in
            reconcile.near_pairs(evidence, sources, embedder=FakeEmbedder())] == [(LONDON, DEARER)]  # fmt: skip
    assert reconcile.near_pairs(evidence[:1], sources, embedder=FakeEmbedder()) == []


def test_alike_sentences_of_pieces_that_are_of_other_things_are_not_compared() -> None:
    evidence = pieces(
        "Cats purr softly at night, whiskers twitching. It costs 5 euros.",
        "Bread dough rises overnight. It costs 6 euros.",
    )
    strips = [
        Strip(piece.passage, span.start, span.end, span.text, 0.0, 0.01 if "costs" in span.text else 0.9, kept=True)
        for piece in evidence
        for span in split_sentences(piece.text)
    ]
    sources = [source(1), source(2)]
    alone = pieces("It costs 5 euros.", "It costs 6 euros.")
    assert len(reconcile.near_pairs(alone, sources, embedder=FakeEmbedder())) == 1
    assert reconcile.near_pairs(evidence, sources, strips, embedder=FakeEmbedder()) == []


@pytest.mark.parametrize(
    ("numbers", "expected"), [((1,), False), ((2,), False), ((1, 3), False), ((1, 2), True), ((), False)]
)
def test_there_is_something_to_compare_when_both_sides_have_evidence(numbers: tuple[int, ...], expected: bool) -> None:
    evidence = [piece for piece in pieces("a", "b", "c") if piece.n in numbers]
    assert reconcile.has_both_sides(evidence, [source(n) for n in (1, 2, 3)]) is expected


SAME = "The hotel limit in London is generous."
"""Nothing that facts could judge."""


@pytest.mark.parametrize(
    ("judge", "texts", "said", "found", "calls"),
    [
        ("facts", (LONDON, DEARER), (), ["facts"], 0),
        ("llm", (LONDON, DEARER), (AGREE,), [], 1),
        ("llm", (SAME, SAME), (CONTRADICT,), ["llm"], 1),
        ("both", (LONDON, DEARER), (), ["facts"], 0),
        ("both", (SAME, SAME), (CONTRADICT,), ["llm"], 1),
        ("llm", (SAME,) * 6, (AGREE,) * 9, [], 3),
    ],
)
def test_the_judge_is_the_one_that_was_chosen(
    judge: str, texts: tuple[str, ...], said: tuple[str, ...], found: list[str], calls: int
) -> None:
    events, result, clock = run(pieces(*texts), *said, judge=judge)
    assert [one.found_by for one in result.conflicts] == found
    assert clock.cost().llm_calls == calls == sum(isinstance(event, StepStarted) for event in events)


def test_a_language_model_that_fails_is_said_and_the_facts_stand() -> None:
    evidence = [*pieces(LONDON, DEARER), *(Evidence(n, SAME, "p", f"source-{n}", 0.1) for n in (3, 4))]
    events, result, _ = run(evidence, "nonsense", judge="both")
    assert [one.found_by for one in result.conflicts] == [ConflictJudge.FACTS]
    assert any(isinstance(event, Warned) and "no verdict" in event.message for event in events)


def test_the_answer_says_that_sources_disagree_with_both_quoted_cited_and_dated() -> None:
    undecided = conflict(claim(1, "2019-05-02"), claim(2))
    sources = [source(1, "2019-05-02"), source(2)]
    text = reconcile.add_source_notes("It is 195 euros [1].", "What is it?", [undecided], pieces("a", "b"), sources)
    assert text == (
        "Your documents and the web disagree here.\n\n"
        "- Your document 1.pdf, page 3 (2019-05-02) says: “Statement 1.” [1]\n"
        "- The web page “Page 2” (no date) says: “Statement 2.” [2]\n\n"
        "It is 195 euros [1]."
    )
    settled = reconcile.decide_conflict(undecided, ConflictRule.WEB)
    assert (
        reconcile.add_source_notes("It is 210 [2].", "What is it?", [settled], pieces("a", "b"), sources)
        == "It is 210 [2]."
    )


def test_the_place_of_a_statement_that_is_disputed_is_said_as_citations_say_it() -> None:
    rows = (SheetRow(0, "Prices", 14), SheetRow(20, "Prices", 15))
    sheet = Source("source-1", Origin.LOCAL, "prices.xlsx", None, None, None)
    piece = dataclasses.replace(pieces("a")[0], rows=rows)
    pair = reconcile.StatementPair(piece, pieces("a", "b")[1], LONDON, DEARER, 1.0)
    (found,) = reconcile.resolve(
        [(pair, Difference("195", "210"), ConflictJudge.FACTS)],
        [sheet, source(2)],
        [piece, pair.web],
        ConflictRule.SHOW_BOTH,
    ).conflicts
    said = reconcile.disagreement([found], [sheet, source(2)])
    assert "- Your document prices.xlsx, sheet Prices, rows 14–15 (no date) says: “" in said
    slide = dataclasses.replace(sheet, document="talk.pptx", page=3)
    assert "Your document talk.pptx, slide 3 (no date)" in reconcile.disagreement(
        [conflict(claim(1), claim(2))], [slide, source(2)]
    )


@pytest.mark.parametrize(
    ("question", "local", "web", "expected"),
    [
        (
            "What is it now?",
            "2019-05-02",
            "2026-01-01",
            "your document 1.pdf is from 2019; the web page “Page 2” is from 2026.",
        ),
        (
            "What is it today?",
            "2026-01-02",
            "2026-03-01",
            "is from 2026-01-02; the web page “Page 2” is from 2026-03-01.",
        ),
        ("What is it?", "2019-05-02", "2026-01-01", ""),
        ("What is it now?", "2026-05-02", "2026-01-01", ""),
        ("What is it now?", "2026-01-01", "2026-01-01", ""),
        ("What is it now?", None, "2026-01-01", ""),
        ("What is it now?", "2019-05-02", None, ""),
    ],
)
def test_the_age_of_documents_is_said_where_it_matters(
    question: str, local: str | None, web: str | None, expected: str
) -> None:
    sources = [source(1, local), source(2, web)]
    said = reconcile.age(question, pieces("a", "b"), sources)
    assert said.endswith(expected)
    assert bool(said) is bool(expected)
    assert reconcile.age(question, pieces("a"), sources) == "", "documents alone"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the hotel limit now?", True),
        ("What is the current hotel limit?", True),
        ("Who currently keeps the handbook?", True),
        ("What does it cost today?", True),
        ("What is our latest price list?", True),
        ("How many people came this year?", True),
        ("Is the limit still 195 euros?", True),
        ("Who is the head of finance?", False),
        ("What is the hotel limit?", False),
        ("How is the current measured?", False),
        ("What is the current in a cable?", False),
        ("Where are current meters calibrated?", False),
        ("Is a flight booked fourteen days before at the latest?", False),
        ("What changed now that edition 7 is in force?", False),
        ("How long did he know her?", False),
    ],
)
def test_questions_of_the_present_are_told_by_their_words(question: str, expected: bool) -> None:
    assert reconcile.about_the_present(question) is expected
