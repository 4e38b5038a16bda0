"""What a run came to, how runs go in general, a run asked again, a report of it: all from runs as they are stored."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from localcrag.crag.answer.generate import plain_prompt
from localcrag.interfaces.cli.terminal import answer_text
from localcrag.records.enums import Action, Grade, WebMode
from localcrag.records.passages import Thresholds
from localcrag.records.run import RetrievalAttempt, Run, StepCost, Turn, WebUse
from localcrag.records.wording import compare_with_thresholds
from localcrag.runs import export, recording, replay
from localcrag.runs.recording import describe_totals, totals
from localcrag.runs.statistics import RunLine, aggregate
from localcrag.settings import RUN_SETTINGS, load, with_changes
from localcrag.storage.database import Database
from localcrag.storage.run_store import RunStore
from tests.support.desk import ANSWERABLE, DOCUMENT, HALF, UNANSWERABLE, WEB, Desk, with_web
from tests.support.fakes import FakeLanguageModel, FakeWeb
from tests.support.made_records import some_run


@pytest.fixture
def asked(tmp_path: Path) -> Run:
    """A run over three passages, of which one is irrelevant."""
    return Desk(tmp_path, *DOCUMENT, retry=False).ask(HALF)[1]


@pytest.mark.parametrize(
    ("relevance", "reason"),
    [
        pytest.param(0.83, "0.83 ≥ 0.70", id="correct"),
        pytest.param(0.698, "0.698, between 0.30 and 0.70", id="ambiguous, just"),
        pytest.param(0.02, "0.02 < 0.30", id="incorrect"),
    ],
)
def test_a_grade_has_its_reason_in_words(relevance: float, reason: str) -> None:
    assert compare_with_thresholds(relevance, Thresholds(0.7, 0.3, 0.5)) == reason


def test_totals_count_passages_strips_calls_and_the_prompt_against_plain_rags(tmp_path: Path) -> None:
    asked = Desk(tmp_path, *DOCUMENT, retry=False).ask(ANSWERABLE)[1]
    sums = totals(asked)
    assert (sums.retrieved, sums.relevant, sums.irrelevant) == (3, 2, 1)
    assert (sums.strips, sums.kept_strips) == (3, 2)
    assert sums.retention == pytest.approx(2 / 3)
    assert not sums.web_used
    assert sums.llm_calls == 1
    assert sums.plain_prompt_tokens == sum(
        len(message.content.split()) for message in plain_prompt(ANSWERABLE, ANSWERABLE, asked.passages, whole=True)
    )
    assert sums.plain_prompt_tokens > sums.answer_prompt_tokens > 0
    assert "3 passages retrieved: 2 relevant, 1 not" in describe_totals(sums)


def test_a_run_that_answers_without_the_model_still_says_what_plain_rag_would_have_cost(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *DOCUMENT, retry=False)
    _, run = desk.ask(UNANSWERABLE)
    assert desk.llm.prompts == []
    assert totals(run).answer_prompt_tokens == 0
    assert (run.plain_prompt_tokens or 0) > 0
    assert describe_totals(totals(run))[-1].startswith("no prompt for an answer")


def test_nothing_retrieved_has_no_shares(tmp_path: Path) -> None:
    sums = totals(Desk(tmp_path).ask(ANSWERABLE)[1])
    assert (sums.retrieved, sums.relevance_ratio, sums.retention) == (0, None, None)


def test_json_has_the_totals_and_a_reason_beside_every_grade(asked: Run) -> None:
    printed = recording.to_json(asked)
    assert printed["totals"]["retrieved"] == 3
    assert [passage["grade_reason"] for passage in printed["passages"]] == [
        compare_with_thresholds(passage.relevance, asked.thresholds) for passage in asked.passages
    ]


# Aggregates.


def saved(folder: Path, *runs: Run) -> RunStore:
    store = RunStore(Database(folder / "runs.sqlite3"))
    for run in runs:
        store.save(run)
    return store


def test_the_store_counts_stored_runs_like_the_runs_themselves(tmp_path: Path) -> None:
    steps = (StepCost("retrieve", 0.5), StepCost("generate", 1.5, 1, 100, 10))
    runs = [
        some_run(1, steps=steps, web=WebUse(used=True)),
        some_run(2, action=Action.INCORRECT, abstained=True, standalone_question="as understood?"),
        some_run(3, action=None, stopped=True),
        some_run(4, collection="other", action=Action.AMBIGUOUS),
        some_run(5, replays="run-1", steps=steps),
    ]
    store = saved(tmp_path, *runs)
    lines = store.lines()
    assert [line.run_id for line in lines] == ["run-1", "run-2", "run-3", "run-4"], "a replay does not count"
    assert (lines[0].web_used, lines[1].abstained, lines[1].question) == (True, True, "as understood?")
    assert lines[0].steps == (StepCost("retrieve", 0.5), StepCost("generate", 1.5, 1))
    assert [line.run_id for line in store.lines("other")] == ["run-4"]


def line(
    number: int,
    question: str,
    action: Action | None,
    *steps: StepCost,
    web: bool = False,
    where: str = "default",
) -> RunLine:
    abstained = action is Action.INCORRECT
    return RunLine(f"run-{number}", f"2026-11-{number:02}", where, question, action, abstained, web, steps)


def test_aggregates_count_actions_shares_calls_and_medians() -> None:
    found = aggregate(
        [
            line(1, "a?", Action.CORRECT, StepCost("generate", 1.0, 1)),
            line(2, "b?", Action.CORRECT, StepCost("generate", 4.0, 2)),
            line(3, "c?", Action.INCORRECT, StepCost("search", 0.5, 1), StepCost("generate", 2.0, 1),
                 web=True, where="other"),
            line(4, "d?", None),
        ]
    )  # fmt: skip
    assert (found.runs, found.decided) == (4, 3)
    assert found.actions == {Action.CORRECT: 2, Action.AMBIGUOUS: 0, Action.INCORRECT: 1}
    assert found.web_rate == found.abstention_rate == pytest.approx(1 / 3)
    assert found.seconds == {"generate": 2.0, "search": 0.5}
    assert found.usual_seconds == 2.5
    assert found.llm_calls == {Action.CORRECT: 1.5, Action.INCORRECT: 2.0}
    assert found.collections["other"] == {Action.CORRECT: 0, Action.AMBIGUOUS: 0, Action.INCORRECT: 1}


def test_nothing_asked_has_no_shares() -> None:
    found = aggregate([])
    assert (found.runs, found.web_rate, found.abstention_rate, found.usual_seconds) == (0, None, None, None)
    assert found.warning is None


@pytest.mark.parametrize(
    ("asked", "of_the_web", "warned"),
    [
        pytest.param(4, 4, False, id="too few questions to tell"),
        pytest.param(5, 1, False, id="a fifth"),
        pytest.param(5, 2, True, id="more than a fifth"),
        pytest.param(50, 10, False, id="a fifth of many"),
        pytest.param(50, 11, True, id="more than a fifth of many"),
    ],
)
def test_a_high_web_rate_is_warned_of(asked: int, of_the_web: int, warned: bool) -> None:
    runs = [line(1, f"{n}?", Action.INCORRECT, web=n < of_the_web) for n in range(asked)]
    warning = aggregate(runs).warning
    assert (warning is not None) is warned
    assert not warned or "the documents have gaps" in str(warning)


@pytest.mark.parametrize(
    ("runs", "gaps"),
    [
        pytest.param([("a?", Action.CORRECT)], [], id="answered"),
        pytest.param([("a?", Action.INCORRECT), ("b?", Action.AMBIGUOUS)], ["b?", "a?"], id="newest first"),
        pytest.param([("a?", Action.INCORRECT), ("A?", Action.INCORRECT)], ["A?"], id="asked twice"),
        pytest.param([("a?", Action.INCORRECT), ("a?", Action.CORRECT)], [], id="filled since"),
        pytest.param([("a?", Action.CORRECT), ("a?", Action.INCORRECT)], ["a?"], id="opened since"),
        pytest.param([("a?", None)], [], id="stopped"),
    ],
)
def test_gaps_are_the_questions_that_last_ended_without_the_documents_being_enough(
    runs: list[tuple[str, Action | None]], gaps: list[str]
) -> None:
    lines = [line(number, *one) for number, one in enumerate(runs, start=1)]
    assert [gap.question for gap in aggregate(lines).gaps] == gaps


def test_runs_are_listed_by_collection_and_action(tmp_path: Path) -> None:
    store = saved(
        tmp_path,
        some_run(1),
        some_run(2, action=Action.INCORRECT),
        some_run(3, action=Action.INCORRECT, collection="other"),
        some_run(4, action=None),
    )

    def listed(**which: Any) -> list[str]:
        return [run.run_id for run in store.newest(**which)]

    assert listed() == ["run-4", "run-3", "run-2", "run-1"]
    assert listed(number=1) == ["run-4"]
    assert listed(action=Action.INCORRECT) == ["run-3", "run-2"]
    assert listed(action=Action.INCORRECT, collection="other") == ["run-3"]
    assert listed(collection="none") == []


# Replays.


def replayed(desk: Desk, before: Run, **chosen: Any) -> Run:
    desk.settings = with_changes(desk.settings, **{**replay.replay_settings(before, web=WebMode.NEVER),
                                              **chosen})  # fmt: skip
    return desk.ask(before.question, *before.history)[1]


def test_a_replay_of_an_unchanged_world_differs_in_nothing_but_time(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *DOCUMENT, upper=0.9, k=2)
    desk.llm = FakeLanguageModel("The limit is 195 euros.", "The limit is 195 euros.")
    before = desk.ask(ANSWERABLE)[1]
    assert {name: before.settings[name] for name in ("upper", "lower", "k")} == {"upper": 0.9, "lower": None, "k": 2}
    desk.settings = load(data_dir=tmp_path, k=5, lower=0.1)
    after = replayed(desk, before)
    assert after.thresholds == before.thresholds
    assert len(after.passages) == 2
    difference = replay.compare(before, after)
    assert difference.same, difference
    said = replay.describe(difference)
    assert said[0] == "Nothing but the time differs."
    assert said[-1].startswith("seconds: retrieve ")


def test_a_replay_never_asks_the_web_unless_told_to(tmp_path: Path) -> None:
    desk = with_web(Desk(tmp_path, *DOCUMENT), FakeWeb(WEB))
    before = desk.ask(UNANSWERABLE)[1]
    assert before.web.used
    after = replayed(desk, before)
    assert desk.web is not None
    assert len(desk.web.queries) == 1
    assert "web: asked → not asked" in replay.describe(replay.compare(before, after))
    assert replayed(desk, before, web=WebMode.ALWAYS).web.used


def test_a_follow_up_is_stored_with_its_conversation(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *DOCUMENT)
    history = Turn("What is the hotel limit in London?", "195 euros.")
    before = desk.ask("And in Bergen?", history)[1]
    assert before.history == (history,)
    assert desk.ask(ANSWERABLE, history)[1].history == (), "a question that stands alone is read without"


def test_the_difference_names_what_came_went_and_moved(asked: Run) -> None:
    first, second, third = asked.passages
    moved = dataclasses.replace(second, relevance=0.9, grade=Grade.CORRECT)
    came = dataclasses.replace(third, text="A new sentence.", relevance=0.4, grade=Grade.AMBIGUOUS)
    strips = (*(dataclasses.replace(strip, kept=False) for strip in asked.strips[:1]), *asked.strips[1:])
    after = dataclasses.replace(
        asked, action=Action.CORRECT, rule="best passage 0.90 ≥ 0.70", passages=(first, moved, came), strips=strips,
        answer="Another.", models={**asked.models, "llm": "larger"}, thresholds=Thresholds(0.8, 0.3, 0.5),
        steps=(*asked.steps, StepCost("retry", 1.0)),
    )  # fmt: skip
    difference = replay.compare(asked, after)
    assert not difference.same
    said = "\n".join(replay.describe(difference))
    for expected in (
        "model for llm: fake-llm → larger",
        "threshold upper: 0.70 → 0.80",
        "action: AMBIGUOUS (best passage 0.50, between 0.30 and 0.70) → CORRECT (best passage 0.90 ≥ 0.70)",
        "passage 0.50 ambiguous → 0.90 correct: rules.txt",
        "passage went, 0.02 incorrect: rules.txt: “Bicycles",
        "passage came, 0.40 ambiguous: rules.txt: “A new sentence.”",
        f"sentence lost: “{asked.strips[0].text}”",
        f"answer before: {asked.answer}\nanswer now: Another.",
        "retry – → 1.00",
    ):
        assert expected in said


def test_what_is_kept_of_the_settings_are_settings_and_nothing_private() -> None:
    assert set(load(searxng_url="http://me:hush@127.0.0.1:1").run_values()) == set(RUN_SETTINGS)
    assert not {"searxng_url", "data_dir", "models_dir"} & set(RUN_SETTINGS)


# Reports.


@pytest.mark.parametrize("form", ["[1] in London [2].", "[1][2].", "[1, 2].", "[2 ,1]"])
def test_sources_of_a_report_and_on_the_terminal_are_all_that_the_answer_cites(asked: Run, form: str) -> None:
    first, second = asked.evidence[:2]
    run = dataclasses.replace(asked, answer=f"The limit is 195 euros {form}")
    lines = export.markdown(run).partition("### Sources\n\n")[2].splitlines()[:2]
    assert [line[:7] for line in lines] == ["- \\[1\\]", "- \\[2\\]"]
    printed = answer_text(run).splitlines()[2:]
    assert [line[:3] for line in printed] == ["[1]", "[2]"]
    assert first.text in printed[0]
    assert second.text in printed[1]


def test_a_report_has_everything_and_shows_hostile_text_as_text(tmp_path: Path) -> None:
    hostile = "The hotel | limit ![x](http://192.0.2.1/x.png) <script>\n# in London is 195 euros."
    desk = with_web(Desk(tmp_path, hostile, *DOCUMENT), FakeWeb(WEB))
    desk.llm = FakeLanguageModel("Paris hotel limit", "hotel limit Paris", "The limit is 195 euros [1]. Elephants fly.")
    run = desk.ask(HALF)[1]
    text = export.markdown(run)
    headings = [found for found in text.splitlines() if found.startswith("#")]
    assert headings == [
        "# Which hotel limit suits Paris?", "## Answer", "### Sources", "## Sentences of the answer", "## Totals",
        "## Passages", "## Sentences kept", "## Sentences dropped", "## Web", "## Warnings", "## Steps",
    ]  # fmt: skip
    assert re.search(r"(?<!\\)(\]\(|<script|://)", text) is None
    rows = [found for found in text.splitlines() if found.startswith("| rules.txt")]
    assert len(rows) == 4
    assert all(found.replace("\\|", "").count("|") == 6 for found in rows)
    first = RetrievalAttempt("asked", Action.AMBIGUOUS, "best passage 0.50", 3, 0.5)
    twice = dataclasses.replace(run, attempts=(first, dataclasses.replace(first, query="other words")))
    assert "First search: AMBIGUOUS (best passage 0.50). Searched again for: other words" in export.markdown(twice)
    assert "| Elephants fly. | not | removed |" in text
    assert "asked: hotel limit Paris" in text
