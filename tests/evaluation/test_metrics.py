"""Each metric, statistic and configuration on examples that were worked out by hand."""

from __future__ import annotations

import dataclasses
import random
from statistics import fmean

import pytest

from localcrag.crag.context import Steps
from localcrag.evaluation.analysis import figures
from localcrag.evaluation.comparison import compare
from localcrag.evaluation.diagnosis import MEANING
from localcrag.evaluation.metrics import BY_NAME, contains_answer, normalised
from localcrag.evaluation.plan import PLAIN, Configuration, ablations, check, plain_rag, policies, sweep
from localcrag.evaluation.results import step_costs
from localcrag.evaluation.wording import difference, estimate
from localcrag.records.enums import Action, Backing, Policy, WebMode
from localcrag.records.errors import EvaluationError
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.run import Run, StepCost, WebUse
from localcrag.settings import load
from tests.support import ROOT
from tests.support.made_evaluations import BESIDE, HOLDS, evaluation, passage, question, run, sentence, varied

IN_DOCUMENTS = question("d", AnswerLocation.DOCUMENTS, "42 litres", "forty-two litres", documents=["a.md"])
UNNAMED = question("u", AnswerLocation.DOCUMENTS, "42 litres")
ON_WEB = question("w", AnswerLocation.WEB, "42 litres")
NOWHERE = question("n", AnswerLocation.NOWHERE)
GOOD, OTHER = passage("p1", HOLDS, 0.9), passage("p2", BESIDE, 0.3, document="b.md")


def answered(asked: Question, answer: str, **more: object) -> Run:
    return run(asked, [OTHER, GOOD], answer, **({"action": Action.CORRECT} | more))  # type: ignore[arg-type]


PLAIN_RUN = answered(IN_DOCUMENTS, "It holds 42 litres.", action=None)
SILENT = answered(IN_DOCUMENTS, "The nearest: “It holds 42 litres”", abstained=True)
UNFOUND = run(IN_DOCUMENTS, [OTHER], "It is old [1].", action=Action.AMBIGUOUS)
TWO_SENTENCES = answered(
    IN_DOCUMENTS,
    "It holds 42 litres [2]. It is pink.",
    support=[
        dataclasses.replace(sentence("It holds 42 litres."), citations=(2,)),
        dataclasses.replace(sentence("It is pink.", Backing.NOT), citations=(1,)),
        sentence("It is blue.", Backing.SUPPORTED, shown=False),
    ],
)
DROPPED = answered(IN_DOCUMENTS, "It is green [1].", dropped="round")

EXAMPLES: list[tuple[str, Question, Run, float | None]] = [
    ("answer_match", IN_DOCUMENTS, answered(IN_DOCUMENTS, "It holds Forty-Two litres!"), 1.0),
    ("answer_match", IN_DOCUMENTS, answered(IN_DOCUMENTS, "It holds 142 litres."), 0.0),
    ("answer_match", IN_DOCUMENTS, SILENT, 0.0),
    ("answer_match", NOWHERE, answered(NOWHERE, "42"), None),
    ("exact_match", IN_DOCUMENTS, answered(IN_DOCUMENTS, "The 42 litres [1]."), 1.0),
    ("exact_match", IN_DOCUMENTS, answered(IN_DOCUMENTS, "It holds 42 litres."), 0.0),
    ("exact_match", NOWHERE, answered(NOWHERE, "42"), None),
    # "it holds 42 litres" against "42 litres": two words in common of 4 and 2.
    ("token_f1", IN_DOCUMENTS, answered(IN_DOCUMENTS, "It holds 42 litres [1]."), 2 * 2 / (4 + 2)),
    ("token_f1", IN_DOCUMENTS, answered(IN_DOCUMENTS, "Nothing."), 0.0),
    ("token_f1", IN_DOCUMENTS, SILENT, 0.0),
    ("token_f1", NOWHERE, answered(NOWHERE, "42"), None),
    ("in_passages", IN_DOCUMENTS, PLAIN_RUN, 1.0),
    ("in_passages", IN_DOCUMENTS, UNFOUND, 0.0),
    ("in_passages", NOWHERE, answered(NOWHERE, "42"), None),
    ("in_evidence", IN_DOCUMENTS, PLAIN_RUN, 1.0),
    ("in_evidence", IN_DOCUMENTS, answered(IN_DOCUMENTS, "x", dropped="42"), 0.0),
    ("abstention_precision", IN_DOCUMENTS, SILENT, 0.0),
    ("abstention_precision", NOWHERE, answered(NOWHERE, "no", abstained=True), 1.0),
    ("abstention_precision", NOWHERE, answered(NOWHERE, "42"), None),
    ("invention", NOWHERE, answered(NOWHERE, "42"), 1.0),
    ("invention", NOWHERE, answered(NOWHERE, "no", abstained=True), 0.0),
    ("invention", NOWHERE, answered(NOWHERE, "42", uncertain=True), 0.0),
    ("answer_match", IN_DOCUMENTS, answered(IN_DOCUMENTS, "It holds 42 litres", uncertain=True), 0.0),
    ("uncertain", IN_DOCUMENTS, answered(IN_DOCUMENTS, "42", uncertain=True), 1.0),
    ("uncertain", IN_DOCUMENTS, SILENT, 0.0),
    ("invention", ON_WEB, answered(ON_WEB, "42"), None),
    ("unmarked_invention", NOWHERE, answered(NOWHERE, "42", support=[sentence("42")]), 1.0),
    ("unmarked_invention", NOWHERE, answered(NOWHERE, "42", support=[sentence("42", Backing.PARTLY)]), 0.0),
    ("unmarked_invention", NOWHERE, answered(NOWHERE, "42", action=None), 1.0),
    ("unmarked_invention", NOWHERE, answered(NOWHERE, "no", abstained=True), 0.0),
    ("unmarked_invention", IN_DOCUMENTS, PLAIN_RUN, None),
    ("action_right", IN_DOCUMENTS, TWO_SENTENCES, 1.0),
    ("action_right", IN_DOCUMENTS, UNFOUND, 0.0),
    ("action_right", ON_WEB, answered(ON_WEB, "42"), 0.0),
    ("action_right", ON_WEB, answered(ON_WEB, "42", action=Action.AMBIGUOUS), 1.0),
    ("action_right", IN_DOCUMENTS, PLAIN_RUN, None),
    ("action_of_retrieved", IN_DOCUMENTS, TWO_SENTENCES, 1.0),
    ("action_of_retrieved", IN_DOCUMENTS, UNFOUND, 1.0),
    ("action_of_retrieved", UNNAMED, TWO_SENTENCES, None),
    ("action_of_retrieved", ON_WEB, answered(ON_WEB, "42"), 0.0),
    ("action_not_opposite", IN_DOCUMENTS, UNFOUND, 1.0),
    ("action_not_opposite", IN_DOCUMENTS, answered(IN_DOCUMENTS, "x", action=Action.INCORRECT), 0.0),
    ("action_not_opposite", NOWHERE, answered(NOWHERE, "x"), 0.0),
    ("action_not_opposite", NOWHERE, answered(NOWHERE, "x", action=None), None),
    ("hit_document", IN_DOCUMENTS, PLAIN_RUN, 1.0),
    ("hit_document", IN_DOCUMENTS, UNFOUND, 0.0),
    ("hit_document", UNNAMED, PLAIN_RUN, None),
    ("mrr_document", IN_DOCUMENTS, PLAIN_RUN, 1 / 2),
    ("mrr_document", IN_DOCUMENTS, UNFOUND, 0.0),
    ("hit_answer", UNNAMED, PLAIN_RUN, 1.0),
    ("hit_answer", ON_WEB, PLAIN_RUN, None),
    ("mrr_answer", UNNAMED, PLAIN_RUN, 1 / 2),
    ("mrr_answer", UNNAMED, UNFOUND, 0.0),
    # Kept are two strips of BESIDE and two of HOLDS; of HOLDS' three, one holds it and "round" was dropped.
    ("strip_precision", IN_DOCUMENTS, DROPPED, 1 / 4),
    ("strip_precision", IN_DOCUMENTS, UNFOUND, None),
    ("strip_precision", IN_DOCUMENTS, PLAIN_RUN, None),
    ("strip_recall", IN_DOCUMENTS, DROPPED, 1.0),
    ("strip_recall", IN_DOCUMENTS, answered(IN_DOCUMENTS, "x", dropped="42"), 0.0),
    ("strip_recall", IN_DOCUMENTS, UNFOUND, None),
    ("strip_retention", IN_DOCUMENTS, DROPPED, 4 / 5),
    ("strip_retention", IN_DOCUMENTS, run(IN_DOCUMENTS, [], "x", action=Action.INCORRECT), None),
    ("support", IN_DOCUMENTS, TWO_SENTENCES, 1 / 2),
    ("support", IN_DOCUMENTS, SILENT, None),
    # Without verify the answer is judged afresh, against evidence that says just this.
    ("support", IN_DOCUMENTS, PLAIN_RUN, 1.0),
    ("cited", IN_DOCUMENTS, TWO_SENTENCES, 1 / 2),
    ("cited", IN_DOCUMENTS, PLAIN_RUN, 0.0),
    ("citation_precision", IN_DOCUMENTS, TWO_SENTENCES, 1 / 2),
    ("citation_precision", IN_DOCUMENTS, PLAIN_RUN, None),
    ("web_rate", IN_DOCUMENTS, PLAIN_RUN, 0.0),
    ("web_rate", IN_DOCUMENTS, answered(IN_DOCUMENTS, "x", web=WebUse(used=True, query="q")), 1.0),
    ("seconds", IN_DOCUMENTS, answered(IN_DOCUMENTS, "x", seconds=2.5), 2.5),
    ("llm_calls", IN_DOCUMENTS, PLAIN_RUN, 1.0),
    ("prompt_tokens", IN_DOCUMENTS, PLAIN_RUN, 400.0),
    ("completion_tokens", IN_DOCUMENTS, PLAIN_RUN, 20.0),
]


@pytest.mark.parametrize(
    ("name", "asked", "made", "expected"),
    EXAMPLES,
    ids=[f"{place}-{name}" for place, (name, *_) in enumerate(EXAMPLES)],
)
def test_a_metric_is_what_its_definition_says(name: str, asked: Question, made: Run, expected: float | None) -> None:
    value = BY_NAME[name].measure(asked, made)
    assert value == (None if expected is None else pytest.approx(expected))


def test_every_metric_has_an_example_a_definition_and_a_name_of_its_own() -> None:
    assert {name for name, *_ in EXAMPLES} == set(BY_NAME)
    assert len({metric.title for metric in BY_NAME.values()}) == len(BY_NAME)
    assert all(metric.definition.endswith(".") and metric.source for metric in BY_NAME.values())
    assert not any("_" in metric.title for metric in BY_NAME.values())


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("The answer is 42.", ["42"], True),
        ("It was 1,942 then.", ["942"], False),
        ("An Eiffel tower", ["the Eiffel Tower"], True),
        ("Anything", ["the"], False),
        ("Anything", [], False),
    ],
    ids=["word", "part of a number", "article and case", "nothing but an article", "no answers"],
)
def test_an_answer_is_found_as_whole_words(text: str, answers: list[str], expected: bool) -> None:
    assert contains_answer(text, answers) is expected


def test_normalising_is_squads() -> None:
    assert normalised("  The cat, a dog -- and AN owl! ") == "cat dog and owl"


def test_a_mean_of_nothing_is_none_and_of_one_has_no_interval() -> None:
    assert estimate([]) is None
    one = estimate([0.5])
    assert one is not None
    assert (one.mean, one.low, one.high, one.n) == (0.5, None, None, 1)
    assert difference([], []) is None
    pair = difference([0.0], [1.0])
    assert pair is not None
    assert (pair.mean, pair.low, pair.p, pair.significant) == (1.0, None, None, False)


def test_a_constant_has_itself_as_interval() -> None:
    constant = estimate([0.25] * 9)
    assert constant is not None
    assert (constant.mean, constant.low, constant.high) == (0.25, 0.25, 0.25)


def test_an_interval_holds_the_mean_and_is_as_wide_as_theory_says() -> None:
    values = [1.0] * 60 + [0.0] * 40
    found = estimate(values)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.6 < found.high
    # 1.96 standard errors of a share: sqrt(0.6 * 0.4 / 100) = 0.049
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.049, rel=0.15)
    assert estimate(values) == found


def test_an_obvious_difference_is_significant_and_chance_is_not() -> None:
    before = [0.0] * 40
    better = difference(before, [1.0] * 20 + [0.0] * 20)
    assert better is not None
    assert (better.mean, better.significant) == (0.5, True)
    assert better.p == pytest.approx(2 * 0.5**20)
    even = difference(before, [1.0, -1.0] * 20)
    assert even is not None
    assert (even.mean, even.p, even.significant) == (0.0, 1.0, False)
    none = difference(before, before)
    assert none is not None
    assert (none.mean, none.p) == (0.0, 1.0)


def test_few_pairs_are_permuted_exactly_and_cannot_be_significant() -> None:
    found = difference([0.0, 0.0, 0.0], [0.1, 0.3, 0.2])
    assert found is not None
    # All eight signs are tried: only all plus and all minus are as far from 0.
    assert found.p == pytest.approx(2 / 8)
    assert not found.significant


def test_many_pairs_of_any_size_come_to_what_the_exact_test_of_few_comes_to() -> None:
    draw = random.Random(5)
    few = [draw.gauss(0.5, 1.0) for _ in range(13)]
    exact = difference([0.0] * 13, few)
    # Differences that are next to nothing change no sum, but make it too many pairs to try all signs.
    drawn = difference([0.0] * 63, few + [1e-9] * 50)
    assert exact is not None
    assert drawn is not None
    assert exact.p is not None
    assert drawn.p == pytest.approx(exact.p, abs=0.01)
    assert drawn == difference([0.0] * 63, few + [1e-9] * 50)


def test_pairs_have_to_be_pairs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        difference([0.0, 1.0], [1.0])


def test_figures_are_of_the_questions_that_they_apply_to() -> None:
    made = figures(varied())
    found = made.estimates[PLAIN]["neither holds it"]
    assert "answer_match" not in found
    assert (found["invention"].mean, found["invention"].n) == (1.0, 3)
    changes = made.against_first[0].differences["documents hold the answer"]
    assert changes["seconds"].n == 8
    assert changes["seconds"].mean == pytest.approx(fmean([-2.0, *[-3.0] * 7]))
    assert "action_right" not in changes


def test_questions_that_are_worded_or_labelled_otherwise_are_not_compared() -> None:
    made = varied()
    others = [dataclasses.replace(one, answers=("43",)) if one.answers else one for one in made.questions]
    found = compare((made, PLAIN), (dataclasses.replace(made, questions=tuple(others)), PLAIN))
    assert (found.questions, found.only_before, found.only_after) == (3, 10, 10)


def test_a_configuration_that_is_not_there_is_named() -> None:
    with pytest.raises(EvaluationError, match="has no “nothing”; it has “plain RAG”, “localcrag”"):
        varied().pairs("nothing")


def test_a_steps_cost_is_spread_over_all_questions() -> None:
    first = dataclasses.replace(SILENT, steps=(StepCost("retry", 3.0, 1, 10, 5), StepCost("retry", 1.0)))
    made = evaluation([IN_DOCUMENTS, NOWHERE], {PLAIN: {"d": first, "n": dataclasses.replace(first, steps=())}})
    assert step_costs(made, PLAIN) == {
        "retry": {"seconds": 2.0, "llm_calls": 0.5, "prompt_tokens": 5.0, "completion_tokens": 2.5}
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("upper=0.5:0.9:0.1", ["0.5", "0.6", "0.7", "0.8", "0.9"]),
        ("upper=0.5:0.95:0.2", ["0.5", "0.7", "0.9"]),
        ("k=4:8:2", ["4", "6", "8"]),
        (" k = 4, 6 ,8", ["4", "6", "8"]),
        ("strip_mode=sentence,adaptive", ["sentence", "adaptive"]),
        ("upper=0.5:0.5:0.1", ["0.5"]),
    ],
)
def test_a_sweep_is_read(text: str, values: list[str]) -> None:
    found = sweep(text)
    name = text.partition("=")[0].strip()
    assert [configuration.name for configuration in found] == [f"{name}={value}" for value in values]
    check(found, load())
    assert str(getattr(found[0].settings(load()), name)) == values[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("upper", "is not a sweep"),
        ("upper=", "is not a sweep"),
        ("searxng_url=http://x", "cannot be varied in a sweep"),
        ("upper=0.9:0.5:0.1", "no steps or more than 50"),
        ("upper=0.1:0.9:-0.1", "no steps or more than 50"),
        ("upper=0:1:0", "no steps or more than 50"),
        ("upper=0:1:0.001", "no steps or more than 50"),
        ("upper=a:b:c", "three numbers"),
        ("upper=0.1:0.2", "three numbers"),
        ("upper=nan:1:0.1", "three numbers"),
        ("upper=0:inf:0.1", "three numbers"),
    ],
)
def test_a_bad_sweep_is_refused(text: str, said: str) -> None:
    with pytest.raises(EvaluationError, match=said):
        sweep(text)


def test_configurations_that_cannot_be_asked_under_are_refused() -> None:
    with pytest.raises(EvaluationError, match="“upper=7” cannot be used"):
        check(sweep("upper=7"), load())
    with pytest.raises(EvaluationError, match="Named twice: plain RAG"):
        check([plain_rag(), *ablations()], load())


def test_an_ablation_goes_from_plain_rag_to_everything_one_step_at_a_time() -> None:
    found = ablations()
    settings = [configuration.settings(load()) for configuration in found]
    assert found[0] == plain_rag()
    assert [configuration.steps.evaluate for configuration in found] == [False, True, True, True, True, True]
    assert [configuration.steps.refine for configuration in found] == [False, False, True, True, True, True]
    assert [one.retry for one in settings] == [False, False, False, True, True, True]
    assert [one.web is WebMode.NEVER for one in settings] == [True, True, True, True, False, False]
    assert [configuration.steps.verify for configuration in found] == [False, False, False, False, False, True]
    assert found[-1].steps == Steps()


def test_every_policy_is_compared() -> None:
    assert [configuration.settings(load()).policy for configuration in policies()] == list(Policy)
    assert Configuration("x").settings(load()) == load()


def test_the_documentation_defines_each_metric_and_each_cause_as_the_code_does() -> None:
    text = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
    for metric in BY_NAME.values():
        assert f"| {metric.title} | {metric.definition} | {metric.source} |" in text
    for cause, meaning in MEANING.items():
        assert f"| {cause} | {meaning} |" in text
