"""The report's sections on the flow: decisions, scores, strips, time, causes of loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localcrag.evaluation.curves import Point
from localcrag.evaluation.diagnosis import MEANING, Cause
from localcrag.evaluation.figures import ALL, Actions, Figures, Shown, Worst
from localcrag.evaluation.report import plots
from localcrag.evaluation.report.page import Card, Cell, Quote, Row, Section, Table, row
from localcrag.evaluation.report.tables import HOLDERS, SHARE, accepted, cell
from localcrag.evaluation.wording import NONE, number
from localcrag.records.enums import Action
from localcrag.runs.evaluation_set import HeldBy
from localcrag.text.decimals import decimals


def _actions(figures: Figures) -> Section | None:
    if not figures.actions:
        return None
    shown = figures.scored or next(iter(figures.actions))
    others = {name: found for name, found in figures.actions.items() if name != shown}
    tables = [_by_action(figures, shown), _confusion(shown, figures.actions[shown])]
    for name, found in others.items():
        tables += [_by_action(figures, name, folded=True), _confusion(name, found, folded=True)]
    return Section(
        "Decisions",
        "CORRECT should be decided just where the documents hold the answer: its row says how often that trust was "
        "earned, the other rows how often it was right to go on.",
        tables=tuple(tables),
        plots=(lambda: plots.actions(figures.actions),),
    )


def _by_action(figures: Figures, name: str, *, folded: bool = False) -> Table:
    rows = tuple(
        row(
            action,
            Cell(str(one.n), f"{one.share:.0%}"),
            cell("action_right", one.accuracy),
            cell("answer_match", one.answer_match),
            cell("seconds", one.seconds),
            NONE if one.speed is None else f"{one.speed:.2f} ×",
        )
        for action, one in figures.actions[name].decided.items()
    )
    first = next(iter(figures.estimates))
    headings = ("", "questions", "action accuracy", "answer match", "seconds", f"{first}’s seconds")
    return Table(f"By action: {name}", headings, rows, folded=folded)


def _confusion(name: str, found: Actions, *, folded: bool = False) -> Table:
    rows = tuple(
        row(HOLDERS[HeldBy(holder)], *(str(counts[action.value]) for action in Action))
        for holder, counts in found.confusion.items()
    )
    return Table(f"Who holds the answer, and the action: {name}", ("", *Action), rows, folded=folded)


def _reliability(figures: Figures) -> Section | None:
    found = figures.reliability
    if found is None:
        return None
    rows = tuple(
        row(f"{one.low:.1f} to {one.high:.1f}", str(one.n), number(SHARE, one.predicted), cell(SHARE, one.held))
        for one in found.bins
    )
    summed = (
        f"Expected calibration error {found.error:.3f} (Guo et al. 2017), of {found.passages} passages of the "
        f"documents for {found.questions} questions, under {figures.scored}."
    )
    label = (
        "A passage counts as holding the answer when an accepted string is in it and, where the set names documents, "
        "it is of these; where the documents do not answer, none does. That is a lower bound: what says it in other "
        "words is not counted."
    )
    return Section(
        "Can relevances be believed?",
        "On the dashed line a relevance is the probability that it claims to be; below it passages are trusted too "
        "much, above it too little.",
        lines=(summed, label),
        tables=(Table("Relevances", ("relevance", "passages", "mean", "hold it"), rows, folded=True),),
        plots=(lambda: plots.reliability(found),),
    )


def _sweep(figures: Figures) -> Section | None:
    found = figures.sweep
    if found is None:
        return None
    upper, lower, now = found.thresholds.upper, found.thresholds.lower, found.in_force
    best = max(found.uppers, key=lambda point: point.accuracy)
    along_upper = sorted({*found.uppers, now}, key=lambda point: point.upper)
    headings = ("action accuracy", "not the opposite", "web asked", "INCORRECT")
    best_one = (
        f"Of {found.n} questions under {figures.scored}, policy {found.policy}: {now.accuracy:.2f} were decided right "
        f"with the upper threshold {decimals(upper)} in force, and {best.accuracy:.2f} would have been with "
        f"{decimals(best.upper)}, the best. The best of many on the same questions flatters; “localcrag calibrate” "
        "chooses by cross-validation."
    )
    return Section(
        "Other thresholds",
        "What other thresholds would have decided on the same relevances, and how often the web would have been asked; "
        "no model was asked again.",
        lines=(best_one, "A second look that other thresholds would have taken, or spared, is not in it."),
        tables=(
            Table(
                f"Lower threshold, with upper {decimals(upper)}",
                ("lower", *headings),
                _points(found.lowers, now, lambda point: point.lower),
            ),
            Table(
                f"Upper threshold, with lower {decimals(lower)}",
                ("upper", *headings),
                _points(along_upper, now, lambda point: point.upper),
                folded=True,
            ),
        ),
        plots=(lambda: plots.sweep(found),),
    )


def _points(points: Sequence[Point], now: Point, at: Callable[[Point], float]) -> tuple[Row, ...]:
    return tuple(
        row(
            f"{at(point):.2f}{' (in force)' if point == now else ''}",
            number(SHARE, point.accuracy),
            number(SHARE, point.not_opposite),
            number(SHARE, point.web_rate),
            number(SHARE, point.incorrect),
        )
        for point in points
    )


def _retention(figures: Figures) -> Section | None:
    if not figures.retention:
        return None
    rows = tuple(
        row(plots.spelt(one), str(one.passages), cell(SHARE, one.retention), cell(SHARE, one.recall))
        for one in figures.retention
    )
    return Section(
        "Strips kept, by length of the passage",
        "Long passages should lose most of their strips and keep those that hold the answer: little retention, high "
        "recall.",
        tables=(Table("Strips", ("strips in it", "passages", "retention", "recall"), rows),),
        plots=(lambda: plots.retention(figures.retention),),
    )


def _times(figures: Figures) -> Section | None:
    if not figures.times:
        return None
    totals = tuple(
        row(
            name,
            cell("seconds", time.mean),
            number("seconds", time.median),
            number("seconds", time.slowest),
            *(cell(metric, figures.estimates[name][ALL].get(metric)) for metric in _COUNTED),
        )
        for name, time in figures.times.items()
    )
    there = [step for step in plots.STEPS if any(step in time.steps for time in figures.times.values())]
    steps = tuple(row(step, *(_step_cost(time.steps.get(step)) for time in figures.times.values())) for step in there)
    headings = ("", "mean s", "median s", "95th percentile s", "model calls", "tokens read", "tokens written")
    return Section(
        "Time and tokens",
        "Where the seconds of a question go: a configuration pays for what it adds, and saves what it leaves out of "
        "the prompt.",
        tables=(
            Table("A question", headings, totals),
            Table("Each step: mean seconds, tokens read → written", ("", *figures.times), steps, folded=True),
        ),
        plots=(lambda: plots.times(figures.times),) if there else (),
    )


_COUNTED = ("llm_calls", "prompt_tokens", "completion_tokens")


def _step_cost(costs: dict[str, float] | None) -> str:
    if costs is None:
        return NONE
    tokens = f", {costs['prompt_tokens']:.0f} → {costs['completion_tokens']:.0f}" if costs["llm_calls"] else ""
    return f"{costs['seconds']:.3f}{tokens}"


def _losses(figures: Figures) -> Section | None:
    there = [cause for cause in Cause if any(one.causes[cause.value] for one in figures.losses.values())]
    if not there:
        return None
    rows = [
        row("right", *(Cell(str(one.right), f"of {one.questions}") for one in figures.losses.values())),
        *(row(cause, *(str(one.causes[cause.value]) for one in figures.losses.values())) for cause in there),
    ]
    tables = [Table("Questions", ("", *figures.losses), tuple(rows))]
    if figures.full:
        of = figures.losses[figures.full].by_holder
        tables.append(
            Table(
                f"By who holds the answer: {figures.full}",
                ("", *(HOLDERS[HeldBy(holder)] for holder in of)),
                tuple(row(cause, *(str(one[cause.value]) for one in of.values())) for cause in there),
            )
        )
    meanings = tuple(row(cause, MEANING[cause]) for cause in there)
    tables.append(Table("What each cause means", ("", "meaning"), meanings, folded=True, words=True))
    return Section(
        "Where answers were lost",
        "The first place in the flow where an accepted string was no longer there, found by rules that compare "
        "strings: the longest piece of a bar is what is worth mending first.",
        tables=tuple(tables),
        plots=(lambda: plots.losses(figures.losses),),
    )


def _worst(figures: Figures) -> Section | None:
    if not figures.worst:
        return None
    first = next(iter(figures.estimates))
    return Section(
        f"Worst questions of {figures.full}",
        f"{len(figures.worst)} questions: wrong and invented answers before needless abstentions, the surest first; "
        "what may be the label’s fault last. What holds an accepted answer is marked.",
        cards=tuple(_card(place, one, first) for place, one in enumerate(figures.worst, start=1)),
    )


def _card(place: int, one: Worst, first: str) -> Card:
    lines = [f"held by: {HOLDERS[HeldBy(one.held_by)]}", f"accepted: {accepted(one.accepted)}"]
    if one.standalone != one.question:
        lines.insert(0, f"understood as: {one.standalone}")
    if one.action:
        lines.append(f"{one.action}: {one.rule}")
    if one.first_right is not None:
        lines.append(f"{first}: {'right' if one.first_right else 'wrong as well'}")
    quotes = [Quote("abstained" if one.abstained else "not certain" if one.uncertain else "answer", one.answer)]
    if one.passage:
        quotes.append(_quote("best passage", one.passage))
    quotes += [_quote("evidence", piece) for piece in one.evidence]
    return Card(f"{place}. {one.question}", one.cause, one.why, tuple(lines), tuple(quotes))


def _quote(label: str, shown: Shown) -> Quote:
    scored = f"relevance {shown.relevance:.2f}" if shown.relevance is not None else "not scored"
    note = ", ".join(part for part in (shown.where, scored, shown.grade or "") if part)
    return Quote(label, shown.text, note, "holds an accepted answer" if shown.holds else "")


SECTIONS = (_actions, _reliability, _sweep, _retention, _times, _losses, _worst)
"""In the order of the report; each returns None where there is nothing to show."""
