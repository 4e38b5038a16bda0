"""Use the real app for a week in hours, and say whether anything grows.

    .venv/bin/python scripts/soak.py [--questions 20000] [--restarts 200] [--minutes N] [--work FOLDER]
    .venv/bin/python scripts/soak.py --small

The page's process (`python app.py`) with the embedded models is asked over the page's own HTTP: questions to
documents, follow-ups, computed tables, lists, the web (a search server of the tests), what nobody answers, stopped
answers, passes over all passages; between two, a file is changed, deleted, added or tagged, an answer labelled, pinned
or exported, a chat renamed or deleted. The first half is asked of one process; in the second it is started anew again
and again, every fourth time after a kill. `--small` is what fits some minutes; `--minutes` ends sooner.

Printed is by how much each figure grows with a thousand questions, with the 95 % interval of a bootstrap over blocks.
What belongs to the process is of the first half, without its first tenth, in which caches fill. Whatever is kept of
questions by design (runs, turns, web answers) is in “database” alone, and grows there.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from soaking.growth import growth
from soaking.process import Held, held
from soaking.week import Week

from tests.support.app_process import process_at, running_app
from tests.support.search_servers import SEARX, real_searx
from tests.support.web_pages import PAGES

MIB = 2**20
EVERY, TOLD, SMALL = 5, 50, (60, 4)
"""Questions between two looks, and between two that are told on the way; questions and restarts of the small form."""
WARM, KILLED, OF_ONE_LIFE = 0.1, 4, 0.6
"""Of the one long life, what is left out; every so manieth process is killed; the long life's share of the minutes."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What is looked at: its unit, what a thousand questions may add, and whether it ends with the process."""

    unit: float
    tolerated: float
    of_process: bool = True
    by_design: bool = False


FIGURES = {
    "memory": Figure(MIB, 16.0),
    "memory_of_children": Figure(MIB, 16.0),
    "open_files": Figure(1, 1.0),
    "threads": Figure(1, 1.0),
    "processes": Figure(1, 0.5),
    "files": Figure(1, 1.0, of_process=False),
    "temporary_files": Figure(1, 1.0, of_process=False),
    "database": Figure(MIB, 0.0, of_process=False, by_design=True),
    "database_beside_questions": Figure(MIB, 4.0, of_process=False),
}
"""Sizes in MiB. Of memory, 16 MiB with a thousand questions would be a third of a gigabyte with the week's 20,000."""
SLOWER = 5.0
"""Per cent by which questions may take longer after a thousand others."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was held after so many questions, in which life of the process."""

    questions: int
    life: int
    held: Held


def main() -> int:
    given = arguments()
    questions, restarts = SMALL if given.small else (given.questions, given.restarts)
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        week, looks = use(Path(folder), questions, restarts, minutes=given.minutes, seed=given.seed)
    return 1 if report(week, looks) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--restarts", type=int, default=200)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="end after so many, whatever is done by then"
    )
    parser.add_argument("--small", action="store_true", help=f"{SMALL[0]} questions, {SMALL[1]} restarts")
    parser.add_argument("--work", type=Path, help="where the data folder is made; it is removed at the end")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def use(
    folder: Path, questions: int, restarts: int, *, minutes: float = float("inf"), seed: int = 0
) -> tuple[Week, list[Look]]:
    """Ask and look, life after life of the process."""
    data, temporary = folder / "data", folder / "temporary"
    temporary.mkdir()
    week, looks = Week(data, seed), []
    first = questions // 2 if restarts else questions
    of_lives = [first, *[max(1, (questions - first) // max(1, restarts))] * restarts]
    begun = time.monotonic()
    with search(folder) as searxng:
        chosen = {"LOCALCRAG_SEARXNG_URL": searxng, "LOCALCRAG_WEB": "always", "TMPDIR": str(temporary)}
        for life, number in enumerate(of_lives):
            share = 1.0 if life or not restarts else OF_ONE_LIFE
            until, end = begun + minutes * 60 * share, week.questions + number
            if time.monotonic() >= until:
                break
            with running_app(data, **chosen) as address:
                process = process_at(address)
                week.open(address, process)
                while week.questions < end and time.monotonic() < until:
                    week.step()
                    if week.questions % EVERY == 0:
                        looks.append(Look(week.questions, life, held(process, data, temporary)))
                    if week.questions % TOLD == 0:
                        print(f"{week.questions} questions, {looks[-1].held}", file=sys.stderr, flush=True)
                if life % KILLED == KILLED - 1:
                    os.kill(process, signal.SIGKILL)
            print(f"{week.questions} questions, {week.files} files after life {life}", file=sys.stderr, flush=True)
    week.count()
    return week, looks


@contextmanager
def search(folder: Path) -> Iterator[str]:
    """Yield the address of the tests' SearXNG; of nobody, where there is none on this machine."""
    with ExitStack() as started:
        if SEARX.exists():
            yield started.enter_context(real_searx(folder, PAGES))
        else:
            print("Debian's searx is not here: web searches fail, as with a server that is down.", file=sys.stderr)
            yield "http://127.0.0.1:9"


def report(week: Week, looks: list[Look]) -> list[str]:
    """Print the table; return the names of what grows."""
    lives = 1 + max(look.life for look in looks)
    print(f"{week.questions:,} questions, {week.files:,} files added, changed or deleted, {lives} starts")
    print(", ".join(f"{number:,} {what}" for what, number in week.outcomes.items()))
    print(f"{'':<30}{'first':>10}{'last':>10}{'per 1,000':>11}{'from':>10}{'to':>10}  verdict")
    long_life = [look for look in looks if look.life == 0]
    grown = []
    for name, figure in FIGURES.items():
        of = long_life[int(len(long_life) * WARM) :] if figure.of_process else looks
        values = [getattr(look.held, name) / figure.unit for look in of]
        grown += _line(name, [look.questions for look in of], values, figure)
    numbers, ratios = slowness(week)
    grown += _line("seconds of a core, % of usual", numbers, ratios, Figure(1, SLOWER))
    print(f"\nGROWS: {', '.join(grown)}" if grown else "\nNothing grows beyond what is tolerated.")
    return grown


def _line(name: str, questions: list[int], values: list[float], figure: Figure) -> list[str]:
    if not values:
        return []
    found = growth(questions, values)
    verdict = "by design" if figure.by_design else found.verdict(figure.tolerated)
    print(
        f"{name.replace('_', ' '):<30}{values[0]:>10.1f}{values[-1]:>10.1f}{found.slope:>+11.2f}{found.low:>+10.2f}"
        f"{found.high:>+10.2f}  {verdict}"
    )
    return [name] if verdict == "GROWS" else []


def slowness(week: Week) -> tuple[list[int], list[float]]:
    """Return the work of each question, in per cent of the median of its kind; the slowest tenth is left out."""
    kinds = {kind for _, kind, _ in week.seconds}
    usual = {kind: statistics.median(took for _, of, took in week.seconds if of == kind) for kind in kinds}
    ratios = [(number, 100 * took / usual[kind]) for number, kind, took in week.seconds]
    most = sorted(ratio for _, ratio in ratios)[int(len(ratios) * 0.9)]
    kept = [(number, ratio) for number, ratio in ratios if ratio <= most]
    return [number for number, _ in kept], [ratio for _, ratio in kept]


if __name__ == "__main__":
    sys.exit(main())
