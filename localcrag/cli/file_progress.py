"""How far files are, on a terminal: a bar, words, and what is to be said of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from localcrag.cli.command_output import counted
from localcrag.records.ingest import IngestProgress

_UNITS = {"reading": "pages read", "recognising": "pages of scans read", "cutting": "characters cut into chunks",
          "embedding": "chunks embedded"}  # fmt: skip


def how_far(event: IngestProgress) -> str:
    """Return what is being done to which file, with rich's marks."""
    if event.phase == "loading":
        return f"loading the models; {counted(event.files, 'file')} found{' so far' if event.more else ''}"
    unit = _UNITS[event.phase]
    of = f" of {event.total}" if event.total else ""
    files = f" of at least {event.files}" if event.more else f"/{event.files}"
    return f"{event.number}{files} {escape(event.document)}: {event.done}{of} {unit}"


def time_left(event: IngestProgress) -> str:
    """Return how long that will take, as far as anybody knows."""
    each = "" if event.seconds_a_page is None else f"{event.seconds_a_page:.1f} s a page, "
    return each if event.seconds_left is None else f"{each}about {duration(max(1.0, event.seconds_left))} left"


@contextmanager
def file_progress(screen: Console) -> Iterator[Callable[[IngestProgress, str], None]]:
    """Show a bar; yield what brings it to how far files are, which is given in words as well."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=None, note="")

        def show(event: IngestProgress, description: str) -> None:
            bar.update(task, description=description, completed=event.done, total=event.total, note=time_left(event))

        yield show


def print_with_warnings(screen: Console, line: str, warnings: Iterable[str]) -> None:
    """Print a line, and warnings below it."""
    screen.print(line)
    for said in warnings:
        screen.print(f"  [yellow]warning:[/] {escape(said)}")


def duration(seconds: float) -> str:
    """Return seconds in words, from 90 on in minutes."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
