"""Reports: an evaluation as HTML, Markdown and JSON, a comparison of two, and summaries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from localcrag.evaluation.analysis import KEYS, ComparisonVerdict, Figures, Values, figures, groups_of, verdict
from localcrag.evaluation.comparison import Comparison, OutcomeChange, Side, compare, comparison_page
from localcrag.evaluation.diagnosis import OUTCOME_HEADINGS, outcome_groups, outcome_row
from localcrag.evaluation.report_page import ReportPage, Tone, html, markdown
from localcrag.evaluation.report_sections import TONES, cell, key_cells, metric_title, page
from localcrag.evaluation.results import Evaluation, measure_all
from localcrag.evaluation.wording import direction, estimate
from localcrag.records.errors import EvaluationError
from localcrag.text.words import one_line, shorten

CHANGED, QUESTION_CHARACTERS = 5, 90
"""Number of changed questions of each kind in a summary, and number of characters of each; the report contains all
of them."""
_SIGNS = {Tone.BETTER: "▲", Tone.WORSE: "▼", Tone.NONE: " "}
_HEADINGS = (
    "match, documents", "match, web", "invented, neither", "unmarked inventions", "action accuracy", "support",
    "seconds", "prompt tokens",
)  # fmt: skip
"""Headings of the key figures; the last word of each is on a line of its own."""


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
        first, second, difference = key_cells(figure)
        signed = f"{difference.text}{_SIGNS[difference.tone]}"
        title = metric_title(figure.metric, figure.group)
        lines.append([title, first.text, second.text, signed, one_line(difference.note)])
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
    headings = dict(zip(KEYS, _HEADINGS, strict=True))
    lines = [["", *(headings[key].rpartition(" ")[place] for key in keys)] for place in (0, 2)]
    for name in asked:
        line = [one_line(name)]
        for metric, group in keys:
            of = [value for question, value in values[name][metric].items() if question in groups[group]]
            line.append(cell(metric, estimate(of)).text + signs.get((name, metric, group), " "))
        lines.append(line)
    return _aligned(lines, left=(0,))


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
