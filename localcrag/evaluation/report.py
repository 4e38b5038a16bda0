"""Reports: an evaluation as HTML, Markdown and JSON, a comparison of two, and summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from localcrag.evaluation.analysis import ALL, KEYS, ComparisonVerdict, Figures, Values, figures, groups_of, verdict
from localcrag.evaluation.comparison import Changed, Comparison, OutcomeChange, QuestionOutcome, Side, compare
from localcrag.evaluation.diagnosis import OUTCOME_HEADINGS, outcome_groups, outcome_row
from localcrag.evaluation.report_page import (
    HOLDERS,
    TONES,
    Card,
    Quote,
    ReportPage,
    ReportSection,
    ReportTable,
    Tone,
    accepted,
    change,
    every_difference,
    html,
    markdown,
    metric_title,
    row,
    verdict_table,
)
from localcrag.evaluation.report_sections import page, verdict_lines
from localcrag.evaluation.results import Evaluation, measure_all
from localcrag.evaluation.wording import NONE, Estimate, direction, estimate, number
from localcrag.records.errors import EvaluationError
from localcrag.text.words import one_line, shorten

_TONES = {OutcomeChange.LOST: Tone.WORSE, OutcomeChange.WON: Tone.BETTER, OutcomeChange.DECIDED: Tone.NONE}
MOST_CARDS = 100
"""Maximum number of changed questions on the page: nobody reads more, and comparison.json contains all of them."""


def comparison_page(found: Comparison) -> ReportPage:
    """Return the page of a comparison."""
    alerts = []
    if found.only_before or found.only_after:
        alerts.append(
            f"Compared are the {found.questions} questions that were asked in both. Left out: {found.only_before} of "
            f"the first and {found.only_after} of the second, which are missing, worded or labelled otherwise in the "
            "other."
        )
    made = (_verdict(found), _differing(found), _figures(found), _changed(found))
    return ReportPage(
        f"{found.first} → {found.second}",
        f"{found.questions} questions · {found.before.id} → {found.after.id}",
        tuple(alerts),
        tuple(section for section in made if section is not None),
    )


def _verdict(found: Comparison) -> ReportSection:
    return ReportSection(
        "Verdict",
        f"What “{found.second}” gains or loses against “{found.first}” on the same questions.",
        lines=verdict_lines(found.verdict),
        tables=(verdict_table(found.verdict),),
    )


def _differing(found: Comparison) -> ReportSection:
    rows = tuple(row(one.name, one.before, one.after) for one in found.differing)
    return ReportSection(
        "What was changed",
        "Whatever differs between the two can be what made the difference; one thing at a time tells most.",
        tables=(ReportTable("Settings, models, code", ("", found.first, found.second), rows, words=True),),
    )


def _figures(found: Comparison) -> ReportSection:
    return ReportSection(
        "All differences",
        "Second minus first, on the questions that a figure applies to in both, with 95 % intervals.",
        tables=tuple(
            every_difference(group, (found.paired,), folded=group != ALL)
            for group in found.groups
            if found.paired.differences[group]
        ),
    )


def _changed(found: Comparison) -> ReportSection:
    counts = Counter(one.change for one in found.changed)
    rows = tuple(row(change, str(counts[change])) for change in OutcomeChange)
    shown = found.changed[:MOST_CARDS]
    more = len(found.changed) - len(shown)
    return ReportSection(
        "Questions that changed",
        "What is lost comes first: a gain that costs as many questions as it wins is none.",
        lines=(f"{more} more are in comparison.json.",) if more else (),
        tables=(ReportTable("Questions", ("", "number"), rows),),
        cards=tuple(_card(one, found) for one in shown),
    )


def _card(one: Changed, found: Comparison) -> Card:
    why = "; ".join(
        f"{name}: {outcome.cause}, {outcome.why}"
        for name, outcome in ((found.first, one.before), (found.second, one.after))
        if outcome.cause
    )
    facts = (f"held by: {HOLDERS[one.held_by]}", f"accepted: {accepted(one.accepted)}")
    return Card(
        one.question,
        one.change,
        why,
        facts,
        (_quote(found.first, one.before), _quote(found.second, one.after)),
        _TONES[one.change],
    )


def _quote(name: str, outcome: QuestionOutcome) -> Quote:
    decided = f"{outcome.action}: {outcome.rule}" if outcome.action else ""
    given = "abstained" if outcome.abstained else "not certain" if outcome.uncertain else ""
    text = ", ".join(part for part in (given, decided) if part)
    return Quote(name, outcome.answer, text, "" if outcome.cause else "right")


CHANGED, QUESTION_CHARACTERS = 5, 90
"""Number of changed questions of each kind in a summary, and number of characters of each; the report contains all
of them."""
_SIGNS = {Tone.BETTER: "▲", Tone.WORSE: "▼", Tone.NONE: " "}
_HEADINGS = {
    ("answer_match", "documents hold the answer"): ("match,", "documents"),
    ("answer_match", "only the web holds it"): ("match,", "web"),
    ("invention", "neither holds it"): ("invented,", "neither"),
    ("unmarked_invention", "neither holds it"): ("unmarked", "inventions"),
    ("action_right", "all questions"): ("action", "accuracy"),
    ("support", "all questions"): ("", "support"),
    ("seconds", "all questions"): ("", "seconds"),
    ("prompt_tokens", "all questions"): ("prompt", "tokens"),
}
"""The two lines of heading for each key figure."""


def summary(evaluation: Evaluation) -> str:
    """Return the key figures as a table: two configurations side by side, or several with one line each."""
    asked = [name for name in evaluation.configurations if evaluation.pairs(name)]
    if not asked:
        return "Nothing was asked yet."
    values: Values = {name: measure_all(evaluation, name) for name in asked}
    groups = groups_of(evaluation.questions)
    verdicts = [verdict(values, groups, asked[0], name) for name in asked[1:]]
    parts = [_side_by_side(verdicts[0]) if len(asked) == 2 else _lines(values, groups, asked, verdicts)]
    if len(asked) > 1:
        parts.append(_legend(asked[0]))
    parts += [
        f"{name}\n{_aligned([OUTCOME_HEADINGS, *map(outcome_row, counts)], left=(0,))}"
        for name in asked
        if (counts := outcome_groups(evaluation, name))
    ]
    if evaluation.missing:
        parts.append(f"Unfinished: {evaluation.missing} runs are missing.")
    return "\n\n".join(parts)


def comparison_summary(before: Side, after: Side) -> str:
    """Return the key figures of two evaluations side by side, and which questions changed. Raises EvaluationError."""
    found = compare(before, after)
    parts = [_side_by_side(found.verdict), _legend(found.first)]
    for kind in OutcomeChange:
        changed = [one for one in found.changed if one.change is kind]
        shown = [f"  {shorten(one.question, QUESTION_CHARACTERS)}" for one in changed[:CHANGED]]
        if more := len(changed) - len(shown):
            shown.append(f"  … and {more} more")
        parts.append("\n".join([f"{len(changed)} {kind}", *shown]))
    return "\n\n".join(parts)


def _legend(first: str) -> str:
    return f"▲ better, ▼ worse than {one_line(first)}, where significant (paired, p < 0.05)"


def _side_by_side(one: ComparisonVerdict) -> str:
    lines = [["", one_line(one.first), one_line(one.second), "difference", ""]]
    for figure in one.figures:
        difference = change(figure.metric, figure.difference)
        values = [_number(figure.metric, side) for side in (figure.first, figure.second)]
        sign = _SIGNS[difference.tone]
        lines.append(
            [metric_title(figure.metric, figure.group), *values, f"{difference.text}{sign}", one_line(difference.note)]
        )
    return _aligned(lines, left=(0, 4))


def _lines(
    values: Values, groups: dict[str, set[str]], asked: Sequence[str], verdicts: Sequence[ComparisonVerdict]
) -> str:
    keys = [key for key in KEYS if any(groups[key[1]] & values[name][key[0]].keys() for name in asked)]
    signs = {
        (one.second, figure.metric, figure.group): _SIGNS[TONES[direction(figure.metric, figure.difference)]]
        for one in verdicts
        for figure in one.figures
        if figure.difference
    }
    lines = [["", *(_HEADINGS[key][place] for key in keys)] for place in (0, 1)]
    for name in asked:
        line = [one_line(name)]
        for metric, group in keys:
            of = [value for question, value in values[name][metric].items() if question in groups[group]]
            line.append(_number(metric, estimate(of)) + signs.get((name, metric, group), " "))
        lines.append(line)
    return _aligned(lines, left=(0,))


def _number(metric: str, one: Estimate | None) -> str:
    return number(metric, one.mean) if one else NONE


def _aligned(lines: Sequence[Sequence[str]], *, left: Sequence[int]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(widths[place]) if place in left else cell.rjust(widths[place]) for place, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )


def write(evaluation: Evaluation, folder: Path) -> tuple[Path, Path, Path]:
    """Write the report of an evaluation, finished or not, and return the paths of its HTML, Markdown and JSON files.

    Raises EvaluationError if the folder cannot be written.
    """
    found = figures(evaluation)
    return _write(folder, "report", page(found), TypeAdapter(Figures).dump_json(found, indent=1))


def write_comparison(before: Side, after: Side, folder: Path) -> tuple[Path, Path, Path]:
    """Write a comparison of two evaluations, each given with one of its configurations, and return the paths.

    Raises EvaluationError if the folder cannot be written, or if no question was asked in both.
    """
    found = compare(before, after)
    return _write(folder, "comparison", comparison_page(found), TypeAdapter(Comparison).dump_json(found, indent=1))


def _write(folder: Path, name: str, made: ReportPage, document: bytes) -> tuple[Path, Path, Path]:
    paths = (folder / f"{name}.html", folder / f"{name}.md", folder / f"{name}.json")
    contents = (html(made).encode(), markdown(made).encode(), document + b"\n")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
    except OSError as error:
        raise EvaluationError(
            f"The report could not be written to {folder}: {error.strerror}. Check that the folder is writable and the "
            "disk not full, and run the command again: the runs are kept."
        ) from error
    return paths
