"""The summary of an evaluation for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.evaluation.analysis import Values, groups_of, verdict
from localcrag.evaluation.comparison import Change, Side, compare
from localcrag.evaluation.figures import KEYS, Verdict
from localcrag.evaluation.report.page import TONES, Tone
from localcrag.evaluation.report.tables import change, titled
from localcrag.evaluation.results import Evaluation, measured
from localcrag.evaluation.statistics import Estimate, estimate
from localcrag.evaluation.wording import NONE, direction, number
from localcrag.text.words import one_line, shorten

CHANGED, QUESTION_CHARACTERS = 5, 90
"""Changed questions named of each kind, and how much of each; the report has them all."""
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


def summary(evaluation: Evaluation) -> str:
    """Return the key figures as a table: two configurations side by side, more of them a line each."""
    asked = [name for name in evaluation.configurations if evaluation.pairs(name)]
    if not asked:
        return "Nothing was asked yet."
    values: Values = {name: measured(evaluation, name) for name in asked}
    groups = groups_of(evaluation.questions)
    verdicts = [verdict(values, groups, asked[0], name) for name in asked[1:]]
    parts = [_side_by_side(verdicts[0]) if len(asked) == 2 else _lines(values, groups, asked, verdicts)]
    if len(asked) > 1:
        parts.append(_legend(asked[0]))
    if evaluation.missing:
        parts.append(f"Unfinished: {evaluation.missing} runs are missing.")
    return "\n\n".join(parts)


def comparison_summary(before: Side, after: Side) -> str:
    """Return the key figures of two evaluations side by side, and which questions changed. Raises EvaluationError."""
    found = compare(before, after)
    parts = [_side_by_side(found.verdict), _legend(found.first)]
    for kind in Change:
        changed = [one for one in found.changed if one.change is kind]
        shown = [f"  {shorten(one.question, QUESTION_CHARACTERS)}" for one in changed[:CHANGED]]
        if more := len(changed) - len(shown):
            shown.append(f"  … and {more} more")
        parts.append("\n".join([f"{len(changed)} {kind}", *shown]))
    return "\n\n".join(parts)


def _legend(first: str) -> str:
    return f"▲ better, ▼ worse than {one_line(first)}, where significant (paired, p < 0.05)"


def _side_by_side(one: Verdict) -> str:
    lines = [["", one_line(one.first), one_line(one.second), "difference", ""]]
    for figure in one.figures:
        difference = change(figure.metric, figure.difference)
        values = [_number(figure.metric, side) for side in (figure.first, figure.second)]
        sign = _SIGNS[difference.tone]
        lines.append(
            [titled(figure.metric, figure.group), *values, f"{difference.text}{sign}", one_line(difference.note)]
        )
    return _aligned(lines, left=(0, 4))


def _lines(values: Values, groups: dict[str, set[str]], asked: Sequence[str], verdicts: Sequence[Verdict]) -> str:
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
