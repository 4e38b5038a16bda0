"""What other thresholds would make of stored runs: decided as the flow decides, without a model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.assembly import Assembly
from localcrag.records.enums import Action, Policy, Preset, ScorerKind
from localcrag.records.errors import SettingsError
from localcrag.records.thresholds import UNCALIBRATED, CalibrationOrigin, Logistic
from localcrag.runs.threshold_explorer import DecisionRules, ExclusionReason, Explorer, PastQuestion, slider_threshold
from localcrag.settings import load
from tests.support.command_line import localcrag
from tests.support.scored_runs import scored_run

NOW = DecisionRules(Policy.MAX, upper=0.33, lower=0.05, enough_relevant=0.6)
QUESTIONS = [
    PastQuestion("r1", "sure", (0.9, 0.6, 0.01)),
    PastQuestion("r2", "rather", (0.4, 0.02)),
    PastQuestion("r3", "hardly", (0.1, 0.08)),
    PastQuestion("r4", "no", (0.01,)),
    PastQuestion("r5", "nothing", ()),
]


def actions(questions: list[PastQuestion], rules: DecisionRules) -> dict[Action, int]:
    return Explorer(questions, {}).explore(NOW, rules).actions_then


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, (2, 1, 2), id="as it is"),
        pytest.param({"upper": 0.5}, (1, 2, 2), id="a higher upper"),
        pytest.param({"upper": 0.1}, (3, 0, 2), id="at a threshold is above it"),
        pytest.param({"lower": 0.2}, (2, 0, 3), id="a higher lower"),
        pytest.param({"policy": Policy.COUNT}, (1, 1, 3), id="another policy"),
        pytest.param({"policy": Policy.RATIO, "enough_relevant": 1.0}, (1, 2, 2), id="with its own number"),
    ],
)
def test_questions_are_decided_anew_as_the_flow_decides(
    changed: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    found = actions(QUESTIONS, dataclasses.replace(NOW, **changed))
    assert tuple(found[action] for action in Action) == expected


def test_what_would_change_is_listed_with_the_predicted_web_rate() -> None:
    found = Explorer(QUESTIONS, {ExclusionReason.STOPPED: 2}).explore(
        NOW, dataclasses.replace(NOW, upper=0.5, lower=0.09)
    )
    assert [(change.question, change.before, change.after, change.best) for change in found.changes] == [
        ("rather", Action.CORRECT, Action.AMBIGUOUS, 0.4),
    ]
    assert (found.web_rate_now, found.web_rate_then) == (0.6, 0.8)
    assert found.left_out == {ExclusionReason.STOPPED: 2}
    bars = {f"{bar.low:.2f}": bar.number for bar in found.histogram if bar.number}
    assert bars == {"0.00": 2, "0.10": 1, "0.40": 1, "0.90": 1}


def test_without_questions_there_is_no_web_rate() -> None:
    found = Explorer([], {}).explore(NOW, NOW)
    assert (found.questions, found.web_rate_now, found.changes) == (0, None, ())


@pytest.mark.parametrize(
    ("value", "meant"),
    [(None, 0.3275), (0.33, 0.3275), (0.32, 0.32), (0.34, 0.34)],
    ids=["nothing", "the step next to it", "below", "above"],
)
def test_a_slider_at_the_step_next_to_what_is_in_force_means_that(value: float | None, meant: float) -> None:
    assert slider_threshold(value, 0.3275) == meant


@pytest.fixture
def assembly(tmp_path: Path) -> Assembly:
    return Assembly(load(data_dir=tmp_path))


def store(assembly: Assembly) -> Logistic:
    """Keep runs of all kinds; two of them are of questions that can be compared."""
    own = assembly.calibrations.default.passage
    runs = [
        scored_run(1, [0.1], own, question="Asked twice?"),
        scored_run(2, [0.2, 0.6], own, question="asked TWICE?"),
        scored_run(3, [0.1, 0.05], own, web=[0.95], question="With the web?", action=Action.AMBIGUOUS),
        scored_run(4, [0.5], own, model="another"),
        scored_run(5, [0.5], own, scorer=ScorerKind.LLM),
        scored_run(6, [0.5], own, scored=False, action=Action.AMBIGUOUS),
        scored_run(7, [], own, action=None),
        scored_run(8, [0.9], own, question="With the web?", replays="20260101-000003-abcdef"),
        scored_run(9, [0.9], own, collection="elsewhere"),
    ]
    for run in runs:
        assembly.runs.save(run)
    return own


def test_stored_runs_count_once_by_their_local_passages_and_others_are_left_out(assembly: Assembly) -> None:
    store(assembly)
    found = assembly.past_questions.explore(upper=0.65)
    own = assembly.calibrations.default.thresholds
    assert (found.now.upper, found.now.lower) == (own.upper, own.lower)
    assert found.questions == 2
    assert found.left_out == {
        ExclusionReason.ASKED_AGAIN: 1,
        ExclusionReason.OTHER_SCORER: 2,
        ExclusionReason.NOT_SCORED: 1,
        ExclusionReason.STOPPED: 1,
    }
    (change,) = found.changes
    assert (change.question, change.before, change.after) == ("asked TWICE?", Action.CORRECT, Action.AMBIGUOUS)
    assert change.best == pytest.approx(0.6, abs=1e-4)


def test_another_calibration_counts_from_the_stored_logits(assembly: Assembly) -> None:
    own = store(assembly)
    # One more in the log-odds: a run that was at 0.6 is at 0.6 / (0.6 + 0.4 / e).
    shifted = dataclasses.replace(
        assembly.calibrations.default,
        passage=dataclasses.replace(own, bias=own.bias + 1),
        thresholds=UNCALIBRATED.thresholds,
    )
    how = CalibrationOrigin(criterion="f1", passages=60, relevant=20, questions=12, strips=0, figures={})
    before = assembly.past_questions.explore()
    assembly.calibrations.apply(shifted, how)
    found = assembly.past_questions.explore()
    assert (found.now.upper, found.now.lower) == (0.7, 0.3)
    assert found.questions == before.questions
    assert found.actions_now == {Action.CORRECT: 1, Action.AMBIGUOUS: 0, Action.INCORRECT: 1}
    assert assembly.past_questions.explore(upper=0.82).actions_then[Action.CORRECT] == 0
    assembly.calibrations.undo()
    assert assembly.past_questions.explore() == before


def test_of_a_language_model_as_scorer_its_own_runs_count_as_they_are(tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path, scorer="llm", llm="some-llm"))
    store(assembly)
    found = assembly.past_questions.explore()
    assert found.questions == 1
    assert found.left_out[ExclusionReason.OTHER_SCORER] == 4


def test_a_preset_and_thresholds_set_by_hand_are_what_is_in_force(assembly: Assembly) -> None:
    store(assembly)
    assembly.collection_settings.set_preset(Preset.STRICT)
    assert assembly.past_questions.explore().now.policy is Policy.COUNT
    assert assembly.past_questions.explore().now.upper > assembly.calibrations.default.thresholds.upper
    assembly.change(upper=0.61, lower=0.2)
    found = assembly.past_questions.explore(policy=Policy.MAX)
    assert (found.now.upper, found.now.lower, found.then.policy) == (0.61, 0.2, Policy.MAX)


def test_a_run_that_is_stored_meanwhile_counts(assembly: Assembly) -> None:
    own = store(assembly)
    assert assembly.past_questions.explore().questions == 2
    assembly.runs.save(scored_run(10, [0.7], own))
    assert assembly.past_questions.explore().questions == 3


def test_thresholds_out_of_order_are_refused(assembly: Assembly) -> None:
    with pytest.raises(
        SettingsError, match=rf"lower \(0.5\) and upper \({assembly.calibrations.default.thresholds.upper:g}\)"
    ):
        assembly.past_questions.explore(lower=0.5)


def test_the_command_line_says_the_same(assembly: Assembly, tmp_path: Path) -> None:
    store(assembly)
    done = localcrag(tmp_path, "runs", "thresholds", "--upper", "0.65", "--lower", "0.2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["questions"], told["web_rate_now"], told["web_rate_then"]) == (2, 0.5, 1.0)
    assert [change["after"] for change in told["changes"]] == ["INCORRECT", "AMBIGUOUS"]
    text = localcrag(tmp_path, "runs", "thresholds", "--upper", "0.65").stdout
    assert "2 questions, each as it was last asked" in text
    assert "left out, scored by another model: 2" in text
    assert "not CORRECT, so the web would be searched: 50% → 100%" in text
    assert "CORRECT   → AMBIGUOUS  0.60  asked TWICE?" in text
    refused = localcrag(tmp_path, "runs", "thresholds", "--lower", "0.9")
    assert (refused.returncode, "must be within 0..1" in refused.stderr) == (2, True)


@pytest.mark.parametrize("command", ["thresholds", "stats", "list"])
def test_questions_of_a_collection_that_is_gone_can_still_be_looked_at(
    assembly: Assembly, tmp_path: Path, command: str
) -> None:
    store(assembly)
    (run, *_) = assembly.runs.newest()
    assembly.runs.save(dataclasses.replace(assembly.runs.get(run.run_id), collection="gone"))
    assert localcrag(tmp_path, "runs", command, "--collection", "gone").returncode == 0
    never = localcrag(tmp_path, "runs", command, "--collection", "never")
    assert (never.returncode, "There is no collection “never”" in never.stderr) == (1, True)
