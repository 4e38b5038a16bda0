"""The sections of an evaluation's report: verdict, figures, decisions, scores, strips, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localcrag.evaluation import wording
from localcrag.evaluation.analysis import ALL, KEYS, ComparisonVerdict, Figures, KeyFigure, Paired, ShownText, Worst
from localcrag.evaluation.curves import Length
from localcrag.evaluation.diagnosis import MEANING, OUTCOME_HEADINGS, Cause, outcome_row
from localcrag.evaluation.metrics import BY_NAME, METRICS, Better
from localcrag.evaluation.report_page import (
    Card,
    Plot,
    Quote,
    ReportCell,
    ReportPage,
    ReportSection,
    ReportTable,
    Row,
    Tone,
)
from localcrag.evaluation.results import GROUPS
from localcrag.records.enums import Action
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.text.translation import format_decimals

TONES = {Better.HIGHER: Tone.BETTER, Better.LOWER: Tone.WORSE, Better.NEITHER: Tone.NONE, None: Tone.NONE}
"""Tones of the results of `wording.direction`."""
SHARE = "share"
"""Name that stands for any metric that is a share, for figures without a metric."""
HOLDERS = {AnswerLocation.DOCUMENTS: "documents", AnswerLocation.WEB: "only the web", AnswerLocation.NOWHERE: "neither"}

MOST_ACCEPTED = 6
"""Maximum number of accepted answers shown for a question; some sets list dozens of spellings."""


def accepted(answers: Sequence[str]) -> str:
    """Return the accepted answers as one line."""
    if not answers:
        return "none, since neither documents nor web answer it"
    more = f" and {len(answers) - MOST_ACCEPTED} more" if len(answers) > MOST_ACCEPTED else ""
    return " | ".join(answers[:MOST_ACCEPTED]) + more


def cell(metric: str, one: wording.Estimate | None, tone: Tone = Tone.NONE) -> ReportCell:
    """Return a figure with its interval and number of questions."""
    if one is None:
        return ReportCell(wording.NONE)
    return ReportCell(wording.number(metric, one.mean), _note(wording.interval(metric, one), f"n {one.n}"), tone)


def change(metric: str, one: wording.PairedDifference | None) -> ReportCell:
    """Return a paired difference with its interval, p and number of questions."""
    if one is None:
        return ReportCell(wording.NONE)
    note = _note(wording.interval(metric, one, signed=True), wording.chance(one.p), f"n {one.n}")
    return ReportCell(wording.number(metric, one.mean, signed=True), note, TONES[wording.direction(metric, one)])


def _note(*parts: str) -> str:
    """Join the parts, so that a line can only break between two parts."""
    return ", ".join(part.replace(" ", "\u00a0") for part in parts if part)


def metric_title(metric: str, group: str = ALL) -> str:
    """Return a metric's title, followed by the group of questions unless it is all questions."""
    title = BY_NAME[metric].title
    return title if group == ALL else f"{title}, {group}"


def key_cells(one: KeyFigure) -> tuple[ReportCell, ReportCell, ReportCell]:
    """Return a key figure under the first and the second configuration, and its difference."""
    return cell(one.metric, one.first), cell(one.metric, one.second), change(one.metric, one.difference)


def verdict_table(verdict: ComparisonVerdict, *, folded: bool = False) -> ReportTable:
    """Return a table of the key figures of two configurations side by side."""
    ratios = [wording.NONE if one.ratio is None else f"{one.ratio:.2f} ×" for one in verdict.figures]
    rows = [
        (metric_title(one.metric, one.group), *key_cells(one), ratio, _word(one))
        for one, ratio in zip(verdict.figures, ratios, strict=True)
    ]
    headings = ("", verdict.first, verdict.second, "difference", "ratio", "")
    return ReportTable(f"{verdict.first} → {verdict.second}", headings, rows, folded=folded)


def _word(one: KeyFigure) -> str:
    if one.difference is None:
        return "not compared"
    if one.not_proved:
        return "not proved"
    return TONES[wording.direction(one.metric, one.difference)].value or "changed"


def _difference_table(
    title: str, named: Mapping[str, tuple[str, str]], pairs: Sequence[Paired], *, folded: bool
) -> ReportTable:
    """Return a table of differences with a column for each pair; `named` maps each row to a metric and a group."""
    rows: list[Row] = []
    for name, (metric, group) in named.items():
        found = [paired.differences[group].get(metric) for paired in pairs]
        if any(found):
            rows.append((name, *(change(metric, one) for one in found)))
    return ReportTable(title, ("", *(paired.second for paired in pairs)), rows, folded=folded)


def key_differences(title: str, pairs: Sequence[Paired]) -> ReportTable:
    """Return a table of the differences of the key figures."""
    return _difference_table(title, {metric_title(*key): key for key in KEYS}, pairs, folded=False)


def every_difference(group: str, pairs: Sequence[Paired], *, folded: bool) -> ReportTable:
    """Return a table of the differences of every metric in a group."""
    named = {metric_title(metric): (metric, group) for metric in BY_NAME}
    return _difference_table(f"Every figure against {pairs[0].first}: {group}", named, pairs, folded=folded)


def _decisions(figures: Figures) -> ReportSection:
    shown_first = sorted(figures.actions.items(), key=lambda item: item[0] != figures.scored)
    return ReportSection(
        "Decisions",
        "CORRECT should be decided just where the documents hold the answer.",
        tables=[
            ReportTable(
                f"Who holds the answer, and the action: {name}",
                ("", *Action),
                [(HOLDERS[holder], *map(str, counts.values())) for holder, counts in found.items()],
                folded=name != figures.scored,
            )
            for name, found in shown_first
        ],
    )


def _reliability(figures: Figures) -> ReportSection | None:
    found = figures.reliability
    if found is None:
        return None
    rows = [
        (f"{one.low:.1f} to {one.high:.1f}", str(one.n), wording.number(SHARE, one.predicted), cell(SHARE, one.held))
        for one in found.bins
    ]
    summed = (
        f"Expected calibration error {found.error:.3f} (Guo et al. 2017), of {found.passages} passages of the "
        f"documents for {found.questions} questions, under {figures.scored}."
    )
    label = (
        "A passage counts as holding the answer when an accepted string is in it and, where the set names documents, "
        "it is of these; where the documents do not answer, none does. That is a lower bound: what says it in other "
        "words is not counted."
    )
    alt = "Relevance against the share of passages that hold an answer, with 95 % intervals"
    return ReportSection(
        "Can relevances be believed?",
        "On the dashed line a relevance is the probability that it claims to be; below it passages are trusted too "
        "much, above it too little.",
        lines=(summed, label),
        tables=(ReportTable("Relevances", ("relevance", "passages", "mean", "hold it"), rows, folded=True),),
        plots=(Plot("reliability", found, alt),),
    )


def _sweep(figures: Figures) -> ReportSection | None:
    found = figures.sweep
    if found is None:
        return None
    upper, lower, now = found.thresholds.upper, found.thresholds.lower, found.in_force
    best = max(found.uppers, key=lambda point: point.accuracy)
    rows = [
        (
            f"{point.upper:.2f}{' (in force)' if point == now else ''}",
            *(wording.number(SHARE, one) for one in (point.accuracy, point.not_opposite, point.web_rate)),
        )
        for point in sorted({*found.uppers, now}, key=lambda point: point.upper)
    ]
    title = f"Upper threshold, with lower {format_decimals(lower)}"
    headings = ("upper", "action accuracy", "not the opposite", "web asked")
    legend = (("s1", "action accuracy"), ("s2", "web asked (not CORRECT), dashed"))
    best_one = (
        f"Of {found.n} questions under {figures.scored}, policy {found.policy}: {now.accuracy:.2f} were decided right "
        f"with the upper threshold {format_decimals(upper)} in force, and {best.accuracy:.2f} would have been with "
        f"{format_decimals(best.upper)}, the best. The best of many on the same questions flatters; “localcrag "
        "calibrate” chooses by cross-validation."
    )
    return ReportSection(
        "Other thresholds",
        "What other thresholds would have decided on the same relevances, and how often the web would have been asked; "
        "no model was asked again.",
        lines=(best_one, "A second look that other thresholds would have taken, or spared, is not in it."),
        tables=(ReportTable(title, headings, rows, folded=True),),
        plots=(Plot("sweep", found, "Action accuracy and web rate against the upper threshold", legend),),
    )


def _retention(figures: Figures) -> ReportSection:
    rows = [
        (_strips_in_words(one), str(one.passages), cell(SHARE, one.retention), cell(SHARE, one.recall))
        for one in figures.retention
    ]
    return ReportSection(
        "Strips kept, by length of the passage",
        "Long passages should lose most of their strips and keep those that hold the answer: little retention, high "
        "recall.",
        tables=(ReportTable("Strips", ("strips in it", "passages", "retention", "recall"), rows),),
    )


def _strips_in_words(length: Length) -> str:
    """Return a range of numbers of strips in words: "2–3", "11 or more"."""
    if length.most is None:
        return f"{length.least} or more"
    return str(length.least) if length.least == length.most else f"{length.least}–{length.most}"


STEPS = ("condense", "retrieve", "evaluate", "decide", "retry", "search", "refine", "reconcile", "generate", "verify")
"""Steps in the order of the flow."""


def _times(figures: Figures) -> ReportSection:
    there = [step for step in STEPS if any(step in steps for steps in figures.steps.values())]
    rows = [(step, *(_step_cost(steps.get(step)) for steps in figures.steps.values())) for step in there]
    return ReportSection(
        "Time and tokens",
        "Where the seconds of a question go: a configuration pays for what it adds, and saves what it leaves out of "
        "the prompt.",
        tables=(ReportTable("Each step: mean seconds, tokens read → written", ("", *figures.steps), rows),),
    )


def _step_cost(costs: dict[str, float] | None) -> str:
    if costs is None:
        return wording.NONE
    tokens = f", {costs['prompt_tokens']:.0f} → {costs['completion_tokens']:.0f}" if costs["llm_calls"] else ""
    return f"{costs['seconds']:.3f}{tokens}"


def _losses(figures: Figures) -> ReportSection | None:
    there = [cause for cause in Cause if any(one.causes[cause] for one in figures.losses.values())]
    if not there:
        return None
    rows: list[Row] = [
        ("right", *(ReportCell(str(one.right), f"of {one.questions}") for one in figures.losses.values())),
        *((cause, *(str(one.causes[cause]) for one in figures.losses.values())) for cause in there),
    ]
    meanings = [(cause, MEANING[cause]) for cause in there]
    return ReportSection(
        "Where answers were lost",
        "The first place in the flow where an accepted string was no longer there, found by rules that compare "
        "strings: the most frequent cause is worth fixing first.",
        tables=(
            ReportTable("Questions", ("", *figures.losses), rows),
            ReportTable("What each cause means", ("", "meaning"), meanings, folded=True, words=True),
        ),
    )


def _worst(figures: Figures) -> ReportSection:
    first = next(iter(figures.estimates), "")
    return ReportSection(
        f"Worst questions of {figures.full}",
        f"{len(figures.worst)} questions: wrong and invented answers before needless abstentions, the surest first; "
        "what may be the label’s fault last. What holds an accepted answer is marked.",
        cards=[_card(place, one, first) for place, one in enumerate(figures.worst, start=1)],
    )


def _card(place: int, one: Worst, first: str) -> Card:
    lines = [f"held by: {HOLDERS[one.held_by]}", f"accepted: {accepted(one.accepted)}"]
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
    return Card(f"{place}. {one.question}", one.cause or "", one.why, lines, quotes)


def _quote(label: str, shown: ShownText) -> Quote:
    scored = f"relevance {shown.relevance:.2f}" if shown.relevance is not None else "not scored"
    note = ", ".join(part for part in (shown.where, scored, shown.grade or "") if part)
    return Quote(label, shown.text, note, "holds an accepted answer" if shown.holds else "")


def _outcomes(figures: Figures) -> ReportSection:
    return ReportSection(
        "Outcomes",
        "Of questions with labelled whole answers. Right: all strings near the beginning of a sure answer; all "
        "strings: anywhere in it. Sure without: of the sure answers, those that lack a string. Lines found: all lines "
        "that the answer rests on are in the passages. Words: median number shown first, in answers with all strings.",
        tables=[
            ReportTable(name, ("", *OUTCOME_HEADINGS[1:]), list(map(outcome_row, counts)))
            for name, counts in figures.outcomes.items()
        ],
    )


DIGEST_CHARACTERS = 12
"""Number of characters shown of a set's digest: enough to distinguish two sets; report.json has the whole digest."""


def page(figures: Figures) -> ReportPage:
    """Return the report of an evaluation."""
    about = figures.about
    alerts = list(about.warnings)
    if figures.missing:
        total = figures.questions * len(figures.asked)
        missing = f"Unfinished: {figures.missing} of {total} runs are missing. The figures are of those that are there"
        alerts.insert(0, f"{missing}; give the command of this evaluation again to make the others.")
    sections = (
        _verdicts, _asked, _metrics, _differences, _outcomes, _decisions, _reliability, _sweep, _retention, _times,
        _losses, _worst,
    )  # fmt: skip
    made = (section(figures) for section in sections)
    when = about.created_at[:16].replace("T", " ")
    return ReportPage(
        f"Evaluation of {', '.join(used.name for used in about.sets)}",
        f"{figures.questions} questions · {when} · localcrag {about.version} · {about.id}",
        alerts,
        [section for section in made if section and section.shown],
    )


def _verdicts(figures: Figures) -> ReportSection | None:
    if not figures.verdicts:
        return None
    last = next((one for one in figures.verdicts if one.second == figures.full), figures.verdicts[-1])
    others = [verdict for verdict in figures.verdicts if verdict is not last]
    return ReportSection(
        "Verdict",
        f"What “{last.second}” gains or loses against “{last.first}” on the same questions. What is called significant "
        f"would come about by chance in fewer than {100 * (1 - wording.CONFIDENCE):.0f} of 100 cases.",
        lines=verdict_lines(last),
        tables=(verdict_table(last), *(verdict_table(verdict, folded=True) for verdict in others)),
    )


def verdict_lines(verdict: ComparisonVerdict) -> list[str]:
    """Return sentences about what a verdict proves, what it does not prove, and why."""
    found = [(one, wording.direction(one.metric, one.difference)) for one in verdict.figures if one.difference]
    lines = []
    for word, tone in (("Better, significant", Tone.BETTER), ("Worse, significant", Tone.WORSE)):
        if titles := [metric_title(one.metric, one.group) for one, way in found if way and TONES[way] is tone]:
            lines.append(f"{word}: {'; '.join(titles)}.")
    return lines + [
        f"Not proved: {metric_title(one.metric, one.group)}, since {one.not_proved}."
        for one, _ in found
        if one.not_proved
    ]


def _asked(figures: Figures) -> ReportSection:
    about = figures.about
    sets = [
        (used.name, str(used.questions), str(used.documents), used.digest[:DIGEST_CHARACTERS]) for used in about.sets
    ]
    configurations = [
        (name, str(figures.asked.get(name, 0)), _listed(changes) or "the settings below")
        for name, changes in about.configurations.items()
    ]
    settings = [(name, wording.plain(value)) for name, value in about.settings.items()]
    return ReportSection(
        "What was asked",
        "Two evaluations can be compared where sets and digests are the same; localcrag’s own code had the digest "
        f"{about.code}.",
        tables=(
            ReportTable("Sets", ("", "questions", "documents", "digest"), sets),
            ReportTable("Models", ("", "name"), list(about.models.items()), words=True),
            ReportTable("Configurations", ("", "asked", "differ in"), configurations, words=True),
            ReportTable("Settings", ("", "value"), settings, folded=True, words=True),
        ),
    )


def _listed(changes: Mapping[str, Any]) -> str:
    """Return, in words, the settings and steps that make up a configuration."""
    settings = changes.get("changes", {})
    without = [step for step, runs in changes.get("steps", {}).items() if not runs]
    parts = [f"{name} {wording.plain(value)}" for name, value in settings.items()]
    return ", ".join(parts + ([f"without {', '.join(without)}"] if without else []))


def _metrics(figures: Figures) -> ReportSection:
    names = tuple(figures.estimates)
    compared = {paired.second: paired.differences for paired in figures.against_first}
    tables = []
    for group, size in figures.groups.items():
        rows: list[Row] = []
        for metric in METRICS:
            found = {name: figures.estimates[name][group].get(metric.name) for name in names}
            if any(found.values()):
                toned = {name: _tone(metric.name, compared.get(name, {}).get(group, {})) for name in names}
                rows.append((metric.title, *(cell(metric.name, found[name], toned[name]) for name in names)))
        title = f"{group[0].upper()}{group[1:]} ({size})"
        tables.append(ReportTable(title, ("", *names), rows, folded=group != ALL))
    definitions = [(metric.title, metric.definition, metric.source) for metric in METRICS]
    tables.append(
        ReportTable("What each figure means", ("", "definition", "source"), definitions, folded=True, words=True)
    )
    first = f"; ▲ better and ▼ worse than {names[0]}, where that is significant" if len(names) > 1 else ""
    return ReportSection(
        "All figures",
        "Each is a mean over the questions that it applies to (n), with its 95 % interval from "
        f"{wording.RESAMPLES} bootstrap resamples of the questions, and without one where they are all alike{first}.",
        tables=tables,
    )


def _tone(metric: str, differences: Mapping[str, wording.PairedDifference]) -> Tone:
    return TONES[wording.direction(metric, differences[metric])] if metric in differences else Tone.NONE


def _differences(figures: Figures) -> ReportSection | None:
    if not figures.against_first:
        return None
    tables = []
    if figures.against_former:
        tables.append(key_differences("What each step adds to the one before it", figures.against_former))
    tables += [every_difference(group, figures.against_first, folded=True) for group in GROUPS]
    return ReportSection(
        "Paired differences",
        "The same questions under both: the interval is a bootstrap’s, p a paired permutation test’s, two-sided, for "
        "each figure by itself; where all is chance, one in twenty is below 0.05 all the same.",
        tables=tables,
    )
