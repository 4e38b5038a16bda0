"""Report of a stored run, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from localcrag.records.computation import Computation
from localcrag.records.enums import StripReason
from localcrag.records.passages import Evidence, GradedPassage, Source, Strip
from localcrag.records.run import Run, StepCost
from localcrag.runs.diagnostics import graded_by, reading_in_words, scope_in_words, totals, totals_in_words
from localcrag.steps.answer.cite import cited
from localcrag.steps.compute.wording import (
    groups_header,
    left_out_in_words,
    operation_in_words,
    result_in_words,
    rows_in_words,
)
from localcrag.steps.evaluate.decide import compared
from localcrag.text.decimals import decimals
from localcrag.text.markdown import literal
from localcrag.text.places import place
from localcrag.text.words import one_line

PASSAGE_CHARACTERS = 200
"""Of each passage in the table; its sentences follow whole."""


def markdown(run: Run) -> str:
    """Return the report of a run: question, action, answer, computation, passages, sentences, web, warnings, steps."""
    parts = [
        f"# {_text(run.question)}",
        _head(run),
        f"## Answer\n\n{literal(run.answer) or 'None.'}",
        _computation(run.computation) if run.computation else "",
        _sources(run),
        _support(run),
        "## Totals\n\n" + _items(totals_in_words(totals(run))),
        _passages(run),
        _strips(run),
        _web(run),
        "## Warnings\n\n" + _items([_text(warning) for warning in run.warnings]) if run.warnings else "",
        _steps(run.steps),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(run: Run) -> str:
    limits = run.thresholds
    lines = [
        f"run {run.run_id}, {run.created_at}, collection {_text(run.collection)}",
        f"action **{run.action or 'none'}**: {_text(run.rule)}",
        f"preset {run.preset}, policy {run.policy}, graded by {_text(graded_by(run))}",
        "incorrect below {}, correct from {} on, sentences from {} on".format(
            *map(decimals, (limits.lower, limits.upper, limits.strip))
        ),
        "models: " + ", ".join(f"{role} {_text(name)}" for role, name in run.models.items()),
    ]
    if run.standalone_question != run.question:
        lines.insert(0, f"understood as: {_text(run.standalone_question)}")
    if reading := reading_in_words(run):
        lines.append(_text(reading))
    if scope := scope_in_words(run):
        lines.append(_text(scope))
    for first, second in pairwise(run.attempts):
        lines.append(f"first {first.action}: {_text(first.rule)}; then looked for: {_text(second.query)}")
    if run.replays:
        lines.append(f"a replay of {run.replays}")
    if run.without_answer:
        lines.append("no answer was made up")
    if run.stopped:
        lines.append("stopped before its end")
    return _items(lines)


def _computation(done: Computation) -> str:
    lines = [f"table: {_text(done.table or done.title or done.document)}, {_text(done.document)}"]
    if done.pages:
        lines.append("pages: " + ", ".join(map(str, done.pages)))
    lines.append(f"operation: {_text(operation_in_words(done))}")
    lines += [f"where: {_text(condition)}" for condition in done.filters]
    lines.append(f"result: {_text(result_in_words(done))}")
    lines.append(f"over {done.row_count} of {rows_in_words(done.of_rows)}")
    lines += map(_text, [*left_out_in_words(done), *done.notes])
    groups = [[_text(group.name), _text(group.result), str(group.rows)] for group in done.groups]
    rows = [[_text(cell) for cell in row.cells] for row in done.rows]
    more = done.row_count - len(done.rows)
    parts = [
        "## Computed on a table\n\n" + _items(lines),
        _table("Results of the table", [_text(name) for name in groups_header(done)], groups),
        _table("Rows that count", [_text(name) for name in done.header], rows),
        f"And {more} more, which the run does not keep." if more > 0 else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _sources(run: Run) -> str:
    named = {source.id: source for source in run.sources}
    lines = [
        f"- \\[{piece.n}\\] {_place(named[piece.source], piece)}: “{_text(piece.text)}”"
        for piece in cited(run.answer, run.evidence)
    ]
    return "### Sources\n\n" + "\n".join(lines) if lines else ""


def _support(run: Run) -> str:
    rows = [
        [_text(support.sentence), support.backing, "yes" if support.shown else "taken out", _text(support.why)]
        for support in run.support
    ]
    return _table("Sentences of the answer", ["sentence", "backed by the evidence", "shown", "why not"], rows)


def _passages(run: Run) -> str:
    rows = [
        [_where(passage), f"{passage.relevance:.2f}", passage.grade, _reason(passage, run),
         _text(passage.text[:PASSAGE_CHARACTERS])]
        for passage in sorted(run.passages, key=lambda passage: -passage.relevance)
    ]  # fmt: skip
    return _table("Passages", ["from", "relevance", "grade", "because", "text"], rows)


def _reason(passage: GradedPassage, run: Run) -> str:
    reason = compared(passage.relevance, run.thresholds) if passage.scored else "not scored"
    return f"{reason}; {_text(passage.reason)}" if passage.reason else reason


def _strips(run: Run) -> str:
    def listed(kept: bool) -> str:
        chosen: list[Strip] = [strip for strip in run.strips if strip.kept is kept]
        why = {None: ""} | {reason: f" ({reason})" for reason in StripReason}
        lines = [f"{strip.relevance:.2f} {_text(strip.text)}{why[strip.reason]}" for strip in chosen]
        return _items(lines) or "None."

    return f"## Sentences kept\n\n{listed(True)}\n\n## Sentences dropped\n\n{listed(False)}" if run.strips else ""


def _web(run: Run) -> str:
    if not run.web.used:
        return ""
    lines = [f"asked: {_text(run.web.query or '')}"]
    lines += [f"{_text(result.title)}, {_text(result.url)}" for result in run.web.results]
    if run.web.error:
        lines.append(f"failed: {_text(run.web.error)}")
    return "## Web\n\n" + _items(lines)


def _steps(steps: Sequence[StepCost]) -> str:
    rows = [
        [step.name, f"{step.seconds:.2f}", str(step.llm_calls), str(step.prompt_tokens), str(step.completion_tokens)]
        for step in steps
    ]
    return _table("Steps", ["step", "seconds", "model calls", "prompt tokens", "written tokens"], rows)


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [headings, ["---"] * len(headings), *rows]
    return f"## {title}\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _text(text: str) -> str:
    return literal(one_line(text))


def _where(passage: GradedPassage) -> str:
    if passage.document is None:
        return _text(passage.url or "web")
    return _text(place(passage.document, passage.page, passage.rows))


def _place(source: Source, piece: Evidence) -> str:
    if source.document is None:
        return _text(source.url or "web")
    return _text(place(source.document, source.page, piece.rows, source.also))
