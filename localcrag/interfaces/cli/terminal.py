"""Output on the terminal: progress, the steps of a question, runs, and answers.

Progress and details go to stderr. A terminal shows a progress bar; a log gets a line now and then.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from localcrag.records.enums import Action, Backing, Grade, IngestStatus
from localcrag.records.events import AnswerPiece, QueryProposed, StepStarted, Warned
from localcrag.records.ingest import FolderChange, IngestEvent, IngestProgress, IngestResult
from localcrag.records.passages import Passage, cited
from localcrag.records.run import Run, StepCost, WebUse
from localcrag.records.wording import NOT_ASKED, compare_with_thresholds, computation_in_words
from localcrag.runs import recording as record
from localcrag.text import places
from localcrag.text.translation import counted, format_decimals
from localcrag.text.words import one_line, shorten

if TYPE_CHECKING:
    from localcrag.app.evaluations import QuestionAsked


Result = TypeVar("Result", IngestResult, FolderChange)
_UNITS = {"reading": "pages read", "recognising": "pages of scans read", "cutting": "characters cut into chunks",
          "embedding": "chunks embedded"}  # fmt: skip


def describe_progress(event: IngestProgress) -> str:
    """Describe the current activity and its file, in rich's markup."""
    if event.phase == "loading":
        return f"loading models; {counted(event.files, 'file')} found{' so far' if event.more else ''}"
    unit = _UNITS[event.phase]
    of = f" of {event.total}" if event.total else ""
    files = f" of at least {event.files}" if event.more else f"/{event.files}"
    return f"{event.number}{files} {escape(event.document)}: {event.done}{of} {unit}"


def time_left(event: IngestProgress) -> str:
    """Return the estimated remaining time in words; "" if there is no estimate."""
    each = "" if event.seconds_a_page is None else f"{event.seconds_a_page:.1f} s a page, "
    return each if event.seconds_left is None else f"{each}about {duration(max(1.0, event.seconds_left))} left"


def show_results(
    events: Iterable[IngestProgress | Result],
    describe: Callable[[IngestProgress], str],
    line: Callable[[Result], str],
    *,
    quiet: bool,
) -> list[Result]:
    """Show a progress bar with descriptions, and a line with the warnings of each result; return the results.

    With `quiet`, there is no line per result.
    """
    results: list[Result] = []
    screen = console()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=None, note="")
        for event in events:
            if isinstance(event, IngestProgress):
                text, note = describe(event), time_left(event)
                bar.update(task, description=text, completed=event.done, total=event.total, note=note)
                continue
            results.append(event)
            if not quiet:
                screen.print(line(event))
                for warning in event.warnings:
                    screen.print(f"  [yellow]warning:[/] {escape(warning)}")
    return results


def duration(seconds: float) -> str:
    """Return a duration in words; from 90 seconds on, in minutes."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


COLOURS = {
    Action.CORRECT: "green", Action.AMBIGUOUS: "yellow", Action.INCORRECT: "red",
    Grade.CORRECT: "green", Grade.AMBIGUOUS: "yellow", Grade.INCORRECT: "red",
    IngestStatus.ADDED: "green", IngestStatus.UPDATED: "green", IngestStatus.UNCHANGED: "dim",
    IngestStatus.UNPACKED: "green", IngestStatus.FAILED: "red",
    Backing.SUPPORTED: "green", Backing.PARTLY: "yellow", Backing.NOT: "red",
}  # fmt: skip

MANY_FILES = 1_000
"""Number of files from which a log reports the total before the first file is read."""
LOG_LINES = 20
"""Maximum number of progress lines in a log, which cannot show a progress bar."""

COLUMN_SHARE = 5
"""Divisor of the terminal's width for the columns of relevance and source: a fifth each; the text gets the rest."""
SOURCE_LINES = 3
"""Maximum number of lines that a source may be wrapped into."""
MIN_NAME_LENGTH = 12
"""Minimum number of characters that a name is cut to, even if the terminal is narrower."""


def console() -> Console:
    """Return a console on stderr, created when needed, because tests and pipes replace the stream."""
    return Console(stderr=True, highlight=False)


def show_run(recording: record.Recording) -> Run:
    """Show the steps of a question as they happen, then its details, and return the run."""
    screen = console()
    with screen.status("starting") as status:
        for event in recording:
            match event:
                case QueryProposed():
                    status.stop()  # `ask.ask_consent` follows, which needs the terminal for its prompt.
                case StepStarted(detail=detail):
                    status.start()
                    status.update(f"{detail} …")
                case AnswerPiece():
                    status.update(escape(recording.run.answer[-300:]))
                case Warned(message):
                    screen.print(f"[yellow]warning:[/] {escape(message)}")
    show_details(recording.run)
    return recording.run


def show_details(run: Run) -> None:
    """Print the details of a run: its action, passages, strips, web query, and the cost of each step."""
    screen = console()
    if run.scope and (run.scope.restriction or run.scope.whole):
        screen.print(f"[dim]{escape(record.describe_scope(run))}[/]")
    if reading := record.describe_reading(run):
        screen.print(f"[dim]{escape(reading)}[/]")
    for first, second in pairwise(run.attempts):
        screen.print(
            f"[dim]first search: {first.action} ({escape(first.rule)}); searched again for: {escape(second.query)}[/]"
        )
    if run.action:
        limits = " / ".join(map(format_decimals, (run.thresholds.lower, run.thresholds.upper, run.thresholds.strip)))
        how = f"{run.rule}; preset {run.preset}, policy {run.policy}, thresholds {limits}; graded by "
        how += record.describe_grader(run)
        screen.print(f"[bold {COLOURS[run.action]}]{run.action}[/] ({escape(how)})")
    if run.passages:
        screen.print(_passages(run, screen.width // COLUMN_SHARE))
    if run.strips:
        screen.print(f"sentences: {escape(_reason_counts(run))}")
    for support in run.support:
        fate = "" if support.shown else ", rejected"
        why = f": {support.why}" if support.why else ""
        colour = COLOURS[support.backing]
        screen.print(f"[{colour}]{support.backing}[/]{fate} {escape(shorten(support.sentence))}[dim]{escape(why)}[/]")
    if run.computation:
        screen.print(f"[bold]computed[/] {escape(computation_in_words(run.computation))}")
    if run.web.query or run.web.not_asked:
        screen.print(escape(_web(run.web)))
    for conflict in run.conflicts:
        screen.print(f"[yellow]contradiction[/] ({escape(conflict.resolution)})")
        for side, claim in (("documents", conflict.local), ("web", conflict.web)):
            day = claim.dated or "no date"
            where = next(source for source in run.sources if source.id == claim.source)
            screen.print(f"  {side:<9} [{claim.n}] {where.place(claim.rows)} ({day}): {claim.text}", markup=False)
    if (left := record.unread_passages(run)) and left.matters:
        cost = f", {left.cost_in_words}" if left.cost_in_words else ""
        screen.print(f"{left.in_words} The question asks for everything: --read-all reads all of them{cost}.")
    screen.print(f"[dim]{'; '.join(record.describe_totals(record.totals(run)))}[/]")
    screen.print("[dim]" + ", ".join(_cost(step) for step in run.steps) + "[/]")


def advice(run: Run, *, searxng: bool) -> str:
    """Return what to try next if the documents did not answer; otherwise "". `searxng`: whether a server is set."""
    if not run.abstained or not run.passages:
        return ""
    web = ""
    if not (run.web.used or run.web.query or run.web.error or run.web.not_asked):
        web = "Web search is off for this question. " if searxng else "No web search is set up. "
    whole = run.scope is not None and run.scope.whole
    return f"{web}Try other words{'' if whole else ', or --read-all'}."


def _passages(run: Run, share: int) -> Table:
    """Return the passages as a table; relevance and source are at most `share` characters wide."""
    table = Table(box=None, pad_edge=False)
    table.add_column("relevance", max_width=share)
    table.add_column("grade", no_wrap=True)
    table.add_column("from", max_width=share, overflow="fold")
    table.add_column("text")
    for passage in sorted(run.passages, key=lambda passage: -passage.relevance):
        where = _source(passage, SOURCE_LINES * share)
        text = escape(one_line(passage.text)[:120])
        if passage.reason:
            text += f"\n[dim]because: {escape(passage.reason)}[/]"
        grade = f"[{COLOURS[passage.grade]}]{passage.grade}[/]"
        scored = compare_with_thresholds(passage.relevance, run.thresholds) if passage.scored else "not scored"
        table.add_row(scored, grade, escape(where), text)
    return table


def _source(passage: Passage, room: int) -> str:
    """Return a passage's source in about `room` characters; only the name is shortened, in its middle."""
    name = passage.url or passage.document or ""
    place = f", p. {passage.page}" if passage.page and not passage.url else ""
    place += f", {places.row_names(passage.rows)}" if passage.rows else ""
    place += f" ({passage.dated})" if passage.dated else ""
    left = max(room - len(place), MIN_NAME_LENGTH)
    if len(name) > left:
        end = left // 3
        name = f"{name[: left - end - 1]}…{name[-end:]}"
    return name + place


def _reason_counts(run: Run) -> str:
    """Return how many strips were kept, and how often each reason occurred, most frequent first."""
    fates = Counter(strip.reason for strip in run.strips if strip.reason)
    counted = ", ".join(f"{number} {fate}" for fate, number in fates.most_common())
    return f"{sum(strip.kept for strip in run.strips)} of {len(run.strips)} kept ({counted})"


def _web(web: WebUse) -> str:
    if web.not_asked:
        proposed = f"; proposed query: {web.query}" if web.query else ""
        return f"web not searched, because {NOT_ASKED[web.not_asked]}{proposed}"
    if web.discarded:
        return f"web query: {web.query} (sent before the decision; its results were not needed)"
    kept = f", cached results from {web.cached_at}; nothing was sent" if web.cached_at else ""
    return f"web query: {web.query} ({counted(len(web.results), 'result')}{kept})"


def _cost(step: StepCost) -> str:
    if not step.llm_calls:
        return f"{step.name} {step.seconds:.2f} s"
    calls = counted(step.llm_calls, "model call")
    about = "about " if step.estimated else ""
    return f"{step.name} {step.seconds:.2f} s ({calls}, {about}{step.prompt_tokens} → {step.completion_tokens} tokens)"


def answer_text(run: Run) -> str:
    """Return the answer with its sources, as printed on stdout."""
    lines = []
    named = {source.id: source for source in run.sources}
    for piece in cited(run.answer, run.evidence):
        source = named[piece.source]
        place = source.place(piece.rows)
        place += f" ({source.dated})" if source.dated else ""
        lines.append(f"[{piece.n}] {place}: “{one_line(piece.text)}”")
    return "\n".join([run.answer, "", *lines] if lines else [run.answer])


def show_ingest(events: Iterator[IngestEvent], *, quiet: bool = False) -> list[IngestResult]:
    """Show progress per file and page, and a line per finished file; return the results.

    With `quiet`, there is no line per file; a log gets a line now and then.
    """
    shown = events if console().is_terminal else _logged(events, results=quiet)
    return show_results(shown, describe_progress, _line, quiet=quiet)


def _logged(events: Iterator[IngestEvent], *, results: bool) -> Iterator[IngestEvent]:
    """Pass on events; print the number of files that were found and, if `results`, now and then of documents added."""
    files = done = 0
    for event in events:
        if isinstance(event, IngestResult):
            done += 1
            if results and _should_log(done, files):
                console().print(f"{done} of {files} documents added")
        else:
            if event.phase == "loading" and files < MANY_FILES <= event.files:
                console().print(f"{counted(event.files, 'file')} found; loading models")
            files = event.files
        yield event


def show_evaluation(events: Iterator[QuestionAsked], *, done: int, total: int) -> None:
    """Show the current question, the number of runs, and the time left; in a log, a line now and then.

    `done` of `total` runs existed before.
    """
    screen = console()
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    start, before = time.monotonic(), done
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("asking", total=total, completed=done, left="")
        for event in events:
            each = (time.monotonic() - start) / (event.done - before)
            left = f"about {duration(each * (total - event.done))} left"
            question = escape(shorten(event.question.question, 50))
            bar.update(task, completed=event.done, description=question, left=left)
            if not screen.is_terminal and _should_log(event.done, total):
                screen.print(f"{event.done} of {total} runs, {left}")


def _should_log(done: int, total: int) -> bool:
    # Print a line whenever another 1/LOG_LINES of the total is done.
    return done * LOG_LINES // total > (done - 1) * LOG_LINES // total


def show_re_embedding(steps: Iterator[tuple[int, int]]) -> int:
    """Show the progress of re-indexing, and return the number of chunks."""
    done = 0
    with Progress(console=console(), transient=True) as bar:
        task = bar.add_task("embedding", total=None)
        for done, total in steps:
            bar.update(task, completed=done, total=total)
    return done


def _line(result: IngestResult) -> str:
    colour = COLOURS[result.status]
    chunks = f"{counted(result.chunks, 'chunk')}, " if result.chunks else ""
    pages = f"{places.page_count_in_words(result.document, result.pages)}, " if result.pages else ""
    what = f"{pages}{chunks}{result.seconds:.1f} s" if result.error is None else escape(result.error)
    note = f" {escape(result.note)}" if result.note else ""
    return f"[{colour}]{result.status}[/] {escape(result.document)}: {what}{note}"
