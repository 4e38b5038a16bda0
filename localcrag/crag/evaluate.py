"""Evaluate and decide: grade the passages, and choose the question's action by a policy.

The policies use the numbers of the corrective systems that they come from. Probabilities on the scale of 0.7 / 0.3 are
replaced by the active thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from localcrag.crag import grading
from localcrag.crag.context import FEWER_PASSAGES, Clock, Context, Flow
from localcrag.crag.grading import GradedItem, complete_list, is_scored, without_contained
from localcrag.crag.screen import injection
from localcrag.records.enums import Action, Grade, Policy, ScorerKind
from localcrag.records.errors import ModelError, StoreError
from localcrag.records.events import Decided, Evaluated, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Passage, Thresholds
from localcrag.records.wording import between, compare_with_thresholds, shown_relevance
from localcrag.text.translation import format_decimals, gettext_noop, ngettext
from localcrag.text.translation import gettext as _

ENOUGH_CORRECT, TOO_FEW_CORRECT = 0.6, 0.3
"""Policy `fraction`: minimum share of passages graded correct for CORRECT, and maximum share for INCORRECT."""
MIN_PASSAGES = 2
"""Policy `count`: passages that together are enough for an answer."""


def apply_policy(
    passages: Sequence[GradedItem], *, policy: Policy, thresholds: Thresholds, enough_relevant: float
) -> tuple[Action, str]:
    """Return the action and its rule in words, such as "best passage 0.83 ≥ 0.70".

    `enough_relevant` is the share of relevant passages that the policy `ratio` asks for.
    """
    if not passages:
        return Action.INCORRECT, _("no passage found")
    if not is_scored(passages):
        return Action.AMBIGUOUS, _("the passages could not be scored")
    match policy:
        case Policy.MAX:
            return _by_best(passages, thresholds)
        case Policy.FRACTION:
            return _by_fraction(passages)
        case Policy.RATIO:
            return _by_ratio(passages, enough_relevant)
        case Policy.COUNT:
            return _by_count(passages, thresholds)
        case _:
            assert_never(policy)


def why_not_correct(
    passages: Sequence[GradedItem], *, policy: Policy, thresholds: Thresholds, enough_relevant: float
) -> str:
    """Return one sentence about what the passages lack for CORRECT. Call it only if they are not enough."""
    if not passages:
        return _("No passage was found.")
    if not is_scored(passages):
        return _("The passages could not be scored, so nothing was decided.")
    if policy is Policy.MAX:
        best = shown_relevance(max(passage.relevance for passage in passages), thresholds)
        upper = format_decimals(thresholds.upper)
        return _("The best passage has a relevance of %(best)s; CORRECT begins at %(upper)s.", best=best, upper=upper)
    number = len(passages)
    if policy is Policy.RATIO:
        some, needed = number - _count(passages, Grade.INCORRECT), max(1, math.ceil(enough_relevant * number))
        text = gettext_noop("%(some)s of %(all)s passages are relevant; CORRECT needs %(needed)s.")
    else:
        some = _count(passages, Grade.CORRECT)
        needed = math.ceil(ENOUGH_CORRECT * number) if policy is Policy.FRACTION else MIN_PASSAGES
        text = gettext_noop("%(some)s of %(all)s passages are graded correct; CORRECT needs %(needed)s.")
    return _(text, some=some, all=number, needed=needed)


def usable(passages: Sequence[GradedPassage], *, policy: Policy, thresholds: Thresholds) -> tuple[GradedPassage, ...]:
    """Return the passages whose sentences may become evidence: all that are not graded incorrect.

    Under the policy `count`, ambiguous passages must also reach `confidence_floor`.
    """
    floor = confidence_floor(thresholds) if policy is Policy.COUNT else thresholds.lower

    def counts(one: GradedPassage) -> bool:
        ambiguous = one.grade is Grade.AMBIGUOUS and one.relevance >= floor
        return one.grade is Grade.CORRECT or not one.scored or ambiguous

    return tuple(filter(counts, passages))


def confidence_floor(thresholds: Thresholds) -> float:
    """Return the relevance below which `count` ignores ambiguous passages: midway, 0.5 for thresholds 0.7 / 0.3."""
    return (thresholds.upper + thresholds.lower) / 2


def _by_best(passages: Sequence[GradedItem], thresholds: Thresholds) -> tuple[Action, str]:
    """Apply CRAG's own rule (arXiv 2401.15884, section 4.3): the best passage alone decides."""
    best = max(passage.relevance for passage in passages)
    rule = _("best passage %(compared)s", compared=compare_with_thresholds(best, thresholds))
    if best >= thresholds.upper:
        return Action.CORRECT, rule
    return (Action.INCORRECT if best < thresholds.lower else Action.AMBIGUOUS), rule


def _by_fraction(passages: Sequence[GradedItem]) -> tuple[Action, str]:
    """Apply aggregate confidence: the share of passages graded correct decides."""
    correct = _count(passages, Grade.CORRECT)
    share, counted = correct / len(passages), _("%(some)s of %(all)s passages correct", some=correct, all=len(passages))
    if share >= ENOUGH_CORRECT:
        return Action.CORRECT, f"{counted}: {share:.2f} ≥ {ENOUGH_CORRECT:.2f}"
    if share <= TOO_FEW_CORRECT:
        return Action.INCORRECT, f"{counted}: {share:.2f} ≤ {TOO_FEW_CORRECT:.2f}"
    return Action.AMBIGUOUS, f"{counted}: {between(f'{share:.2f}', TOO_FEW_CORRECT, ENOUGH_CORRECT)}"


def _by_ratio(passages: Sequence[GradedItem], enough: float) -> tuple[Action, str]:
    """Apply ratio-based correction: if too many passages are irrelevant, the web is searched as well."""
    relevant = len(passages) - _count(passages, Grade.INCORRECT)
    share = relevant / len(passages)
    counted = _("%(some)s of %(all)s passages relevant", some=relevant, all=len(passages))
    if not relevant:
        return Action.INCORRECT, counted
    if share < enough:
        return Action.AMBIGUOUS, f"{counted}: {share:.2f} < {enough:.2f}"
    return Action.CORRECT, f"{counted}: {share:.2f} ≥ {enough:.2f}"


def _by_count(passages: Sequence[GradedItem], thresholds: Thresholds) -> tuple[Action, str]:
    """Apply count-based quality: two passages are enough for an answer, one is not."""
    correct, ambiguous = _count(passages, Grade.CORRECT), _count(passages, Grade.AMBIGUOUS)
    rule = _(
        "%(correct)s correct and %(ambiguous)s ambiguous of %(all)s passages, %(needed)s are enough",
        correct=correct,
        ambiguous=ambiguous,
        all=len(passages),
        needed=MIN_PASSAGES,
    )
    if ambiguous:
        rule += _("; ambiguous ones are used from %(floor)s on", floor=format_decimals(confidence_floor(thresholds)))
    if correct >= MIN_PASSAGES:
        return Action.CORRECT, rule
    return (Action.AMBIGUOUS if correct + ambiguous >= MIN_PASSAGES else Action.INCORRECT), rule


def _count(passages: Sequence[GradedItem], grade: Grade) -> int:
    return sum(passage.grade is grade for passage in passages)


NOT_SCORED = gettext_noop(
    "The passages could not be scored, so they are used in the order in which they were found: %(error)s"
)
NOT_CALIBRATED = gettext_noop(
    "The reranker %(name)s has no calibration: its scores are a plain sigmoid, and the thresholds were not made for "
    "them."
)
LLM_NOT_CALIBRATED = gettext_noop(
    "The language model %(name)s grades the passages. Its confidence is not calibrated, and the thresholds were not "
    "made for it."
)
BUDGET_BATCH = 2
"""Passages scored between two checks of a time budget; without a budget, all are scored in one batch, which is
faster."""


def evaluate(question: str, found: Sequence[Passage], context: Context) -> Flow[tuple[GradedPassage, ...]]:
    """Yield Evaluated, and return the best k passages with their grades; warn if scores are not calibrated."""
    yield from _calibration_warnings(context)
    clock = context.clock("evaluate")
    if context.steps.evaluate:
        yield StepStarted("evaluate", ngettext("scoring %(num)s passage", "scoring %(num)s passages", len(found)))
        graded = yield from score(question, found, context, clock)
    else:
        graded = grading.unscored(found, thresholds=context.thresholds)
    kept = yield from keep(question, graded, context, clock)
    yield Evaluated(kept, clock.cost(), len(graded))
    return kept


def decide(query: str, passages: Sequence[GradedPassage], context: Context) -> Flow[Action]:
    """Yield Decided, and return the action; `query` is the last query to the documents."""
    if not context.steps.evaluate:
        return Action.AMBIGUOUS
    clock = context.clock("decide")
    policy, share = context.settings.policy, context.settings.relevance_threshold
    action, rule = apply_policy(passages, policy=policy, thresholds=context.thresholds, enough_relevant=share)
    yield Decided(query, action, policy, rule, clock.cost())
    return action


def score(
    question: str, passages: Sequence[Passage], context: Context, clock: Clock
) -> Flow[tuple[GradedPassage, ...]]:
    """Return the passages graded; with a time budget, in batches until the time is up."""
    done: tuple[GradedPassage, ...] = ()
    size = BUDGET_BATCH if context.budget.limited else max(1, len(passages))
    for part in (passages[at : at + size] for at in range(0, len(passages), size)):
        if done and context.budget.spent(FEWER_PASSAGES):
            why, number = context.budget.exhaustion_reason, len(passages)
            text = _("Only %(done)s of %(all)s passages were scored: %(why)s.", done=len(done), all=number, why=why)
            yield Warned(text)
            break
        try:
            done += yield from grade(question, part, context, clock)
        except ModelError as error:
            yield Warned(_(NOT_SCORED, error=error))
            return grading.unscored(passages, thresholds=context.thresholds)
    return done


def grade(
    question: str, passages: Sequence[Passage], context: Context, clock: Clock
) -> Flow[tuple[GradedPassage, ...]]:
    """Return the passages, graded by the scorer in the settings. Raises ModelError.

    Sentences that look like instructions to the model are removed before their passage is graded.
    """
    parts = context.parts
    screened = injection.screened(passages, parts.rules)
    if context.settings.scorer is ScorerKind.CROSS_ENCODER:
        graded = grading.evaluate(question, screened, scorer=parts.scorer, thresholds=context.thresholds)
    else:
        graded = yield from grading.grade_by_llm(question, screened, context, clock)
    return injection.restore_texts(graded, passages)


def keep(
    question: str, graded: Sequence[GradedPassage], context: Context, clock: Clock
) -> Flow[tuple[GradedPassage, ...]]:
    """Return the best k passages; those not graded incorrect are completed if a list in them is cut off.

    The whole list answers whatever its part answered, so it is at least as relevant.
    """
    kept = grading.best(graded, context.settings.k)
    judged = context.steps.evaluate and context.settings.scorer is ScorerKind.CROSS_ENCODER
    if not judged or context.budget.limited:
        return kept
    try:
        helpful = [one for one in kept if one.grade is not Grade.INCORRECT]
        whole = [longer for one in helpful if (longer := complete_list(one, context.parts.store)) is not one]
        again = yield from grade(question, whole, context, clock)
    except (ModelError, StoreError) as error:
        yield Warned(_("A list that continues after a passage could not be read to its end: %(error)s", error=error))
        return kept
    # A longer passage may score lower for what else it says; its part still answers.
    pairs = zip(again, whole, strict=True)
    longest = {one.id: max(one, part, key=lambda either: either.relevance) for one, part in pairs}
    return without_contained([longest.get(one.id, one) for one in kept])


def _calibration_warnings(context: Context) -> Flow[None]:
    if not context.parts.scorer.calibration.fitted:
        yield Warned(_(NOT_CALIBRATED, name=context.parts.scorer.name))
    if context.settings.scorer is ScorerKind.LLM:
        yield Warned(_(LLM_NOT_CALIBRATED, name=context.parts.llm.name))
