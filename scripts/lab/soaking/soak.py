"""Use the real app for a week in hours, and report whether anything grows.

    .venv/bin/python scripts/lab/soaking/soak.py [--questions 20000] [--restarts 200] [--nights 7] [--minutes N]
        [--folder FOLDER] [--brief] [--postgresql] [--work FOLDER]
    .venv/bin/python scripts/lab/soaking/soak.py --small

The script sends questions over HTTP to the web interface's process (`python app.py`) with the embedded models:
questions about documents, follow-ups, computed tables, lists, web questions (from the tests' search server), questions
without an answer, stopped answers, and passes over all passages. Between two questions, a file is changed, deleted,
added or tagged, a scan is read, an answer is labelled, pinned or exported, or a chat is renamed or deleted. At the same
time, `localcrag serve` and `localcrag mcp` each get EACH questions for one to the web interface. During a night, no
question is asked until the models are unloaded. One process serves the first half. In the second half it is restarted
again and again, every fourth time after a kill.

`--small` takes some minutes; `--minutes` sets a time limit. With `--brief`, the models have a third of the work per
question (BRIEF): things grow with the number of questions, not of passages or tokens. With --folder, another call with
that folder continues the week. With --postgresql, the collection is in a PostgreSQL server of the tests, which ends
with the call, so --folder is not possible.

The script prints how much each figure grows in a thousand questions, with a 95 % interval from a bootstrap over blocks.
Figures of a process are those of the longest-lived one, without its first tenth, in which caches fill. Data that
localcrag keeps about questions by design (runs, turns, web answers) grows, but only in “database”.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcrag.privacy.guard import allow_all_programs
from tests.support.app_process import process_at, resident, running_app
from tests.support.postgres import a_server
from tests.support.search_servers import SEARX, real_searx
from tests.support.web_pages import PAGES

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.soaking.diary import Diary, Look, Night, Took
from lab.soaking.growth import growth
from lab.soaking.other_programs import OtherPrograms, other_programs
from lab.soaking.process import held
from lab.soaking.week import Week

MIB = 2**20
EACH = 3
"""Questions to `localcrag serve`, and to `localcrag mcp`, for each one to the page, which is the slowest."""
EVERY, TOLD, SMALL = 5, 50, (60, 4, 1)
"""Questions between two observations, and between two progress messages; questions, restarts, nights of --small."""
NIGHT, LONGEST_NIGHT, AWAY = 0.5, 300.0, 100 * MIB
"""Minutes without a question until models are unloaded here, seconds until they must be unloaded, and the fewest bytes
that this must free."""
BRIEF = {"LOCALCRAG_RERANKED": "3", "LOCALCRAG_K": "2", "LOCALCRAG_ANSWER_TOKENS": "16"}
"""Settings with --brief: passages scored and kept, and tokens of an answer; the defaults are 10, 6 and 320."""
ONE_THREAD = {"LOCALCRAG_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Environment of each program, since several compute at the same time."""
WARM, KILLED = 0.1, 4
"""Share of the longest life that is left out as warm-up; one in this many processes is killed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its unit, the growth allowed per thousand questions, and whether it belongs to the process."""

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
"""Figures by name; sizes in MiB. 16 MiB of memory per thousand questions would be 320 MiB in a week of 20,000."""
SLOWER = 5.0
"""Per cent by which a question may take longer after a thousand others."""


def main() -> int:
    given = arguments()
    allow_all_programs("the app and what it is used with are processes of their own")
    questions, restarts, nights = SMALL if given.small else (given.questions, given.restarts, given.nights)
    with ExitStack() as held:
        folder = given.folder or Path(held.enter_context(tempfile.TemporaryDirectory(dir=given.work)))
        folder.mkdir(exist_ok=True)
        address = held.enter_context(a_server()).new() if given.postgresql else None
        to_page = math.ceil(questions / (1 + 2 * EACH))
        plan = Plan(
            to_page, restarts, nights, minutes=given.minutes, seed=given.seed, postgresql=address, brief=given.brief
        )
        week, diary = use(folder, plan)
    return 1 if report(week, diary) else 0


def arguments(said: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--restarts", type=int, default=200)
    parser.add_argument("--nights", type=int, default=7)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="end after so many, whatever is done by then"
    )
    parser.add_argument("--small", action="store_true", help="{} questions, {} restarts, {} night".format(*SMALL))
    parser.add_argument("--brief", action="store_true", help="fewer passages and tokens for each question")
    parser.add_argument("--folder", type=Path, help="where the week is kept, and goes on with the next call")
    parser.add_argument("--work", type=Path, help="where a folder for it is made otherwise; it is removed at the end")
    parser.add_argument("--postgresql", action="store_true", help="the collection lives in a PostgreSQL server")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(said)
    if given.folder and given.postgresql:
        parser.error(
            f"A week in {given.folder} would not go on with --postgresql: its collection is in a server of the tests, "
            "which ends with this call. Leave --folder out and do the week in one call, or leave --postgresql out."
        )
    return given


@dataclass(frozen=True, slots=True)
class Plan:
    """The amount of work; `postgresql` is the address of an empty database for the collection.

    `questions` is the number of questions to the page. With `others`, `localcrag serve` and `localcrag mcp` each get
    EACH questions for one of those.
    """

    questions: int
    restarts: int = 0
    nights: int = 0
    minutes: float = float("inf")
    seed: int = 0
    others: bool = True
    postgresql: str | None = None
    brief: bool = False

    def life(self, questions: int) -> int:
        """Return the number of the process's life after so many questions; life 0 has the first half of them."""
        return 0 if questions < self._first else 1 + (questions - self._first) // self._later

    def end(self, life: int) -> int:
        """Return the number of questions after which a life ends."""
        return min(self.questions, self._first + life * self._later)

    def night_after(self, questions: int) -> bool:
        """Return whether a day ends with this question."""
        day = self.questions // (self.nights + 1)
        return bool(self.nights) and questions % day == 0 and questions // day <= self.nights

    @property
    def _first(self) -> int:
        return self.questions // 2 if self.restarts else self.questions

    @property
    def _later(self) -> int:
        return max(1, (self.questions - self._first) // max(1, self.restarts))


def use(folder: Path, plan: Plan) -> tuple[Week, Diary]:
    """Ask questions and observe, one life of the process after the other, continuing the folder's week."""
    data, temporary, diary = folder / "data", folder / "temporary", Diary(folder / "diary.jsonl")
    temporary.mkdir(exist_ok=True)
    last = diary.looks[-1] if diary.looks else None
    week = Week(data, plan.seed, questions=last.questions if last else 0, files=last.files if last else 0)
    until = time.monotonic() + plan.minutes * 60
    with search(folder) as searxng, ExitStack() as beside:
        chosen = {
            "LOCALCRAG_SEARXNG_URL": searxng, "LOCALCRAG_WEB": "always", "TMPDIR": str(temporary),
            "LOCALCRAG_IDLE_MINUTES": str(NIGHT), **ONE_THREAD, **(BRIEF if plan.brief else {}),
        }  # fmt: skip
        others: OtherPrograms | None = None
        while week.questions < plan.questions and time.monotonic() < until:
            life = plan.life(week.questions)
            end = plan.end(life)
            with running_app(data, **chosen) as address:
                process = process_at(address)
                week.open(address, process)
                if plan.postgresql and not diary.looks:
                    _move(data, plan.postgresql)
                if plan.others and not others:
                    others = beside.enter_context(other_programs(data, **chosen))
                while week.questions < end and time.monotonic() < until:
                    _one(week, plan, diary, Around(process, data, temporary, life, others))
                if life % KILLED == KILLED - 1:
                    os.kill(process, signal.SIGKILL)
            print(f"{week.questions} questions, {week.files} files after life {life}", file=sys.stderr, flush=True)
        if others:
            others.finish()
    week.count()
    return week, diary


@dataclass(frozen=True, slots=True)
class Around:
    """The running processes, and the folders that they write to."""

    process: int
    data: Path
    temporary: Path
    life: int
    others: OtherPrograms | None


def _one(week: Week, plan: Plan, diary: Diary, around: Around) -> None:
    """Ask a question, and the other programs at the same time; record an observation if it is due."""
    others = around.others
    if others:
        for _ in range(EACH):
            others.ask(week.question(), week.question())
    diary.add(week.step())
    number = week.questions
    if number % EVERY == 0:
        of_page = held(around.process, around.data, around.temporary)
        of_others = others.held() if others else {}
        diary.add(Look(number, week.files, around.life, diary.sitting, of_page, of_others))
    if number % TOLD == 0:
        print(f"{number} questions, {diary.looks[-1].held}", file=sys.stderr, flush=True)
    if plan.night_after(number):
        sleeping = {"the page": around.process}
        if others:
            others.finish()
            sleeping |= {"serve": others.api.process, "mcp": others.mcp.process.pid}
        diary.add(Night(number, night(sleeping)))


def night(processes: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """Wait until all programs have unloaded their models; return their MiB before and after. Raises RuntimeError."""
    before = {name: resident(process) for name, process in processes.items()}
    end = time.monotonic() + LONGEST_NIGHT
    while waking := [name for name, process in processes.items() if resident(process) > before[name] - AWAY]:
        if time.monotonic() > end:
            raise RuntimeError(f"After {LONGEST_NIGHT:.0f} s of rest, models are not put away: {', '.join(waking)}.")
        time.sleep(1)
    return {name: (before[name] / MIB, resident(process) / MIB) for name, process in processes.items()}


def _move(data: Path, address: str) -> None:
    """Move the collection to a PostgreSQL server, in a separate process."""
    command = [sys.executable, "-m", "localcrag", "collection", "move", "default", "--to", address]
    subprocess.run([*command, "--data-dir", str(data)], check=True)


@contextmanager
def search(folder: Path) -> Iterator[str]:
    """Yield the address of the tests' SearXNG; if it is not installed, an address where nothing answers."""
    with ExitStack() as started:
        if SEARX.exists():
            yield started.enter_context(real_searx(folder, PAGES))
        else:
            print("Debian's searx is not here: web searches fail, as with a server that is down.", file=sys.stderr)
            yield "http://127.0.0.1:9"


def report(week: Week, diary: Diary) -> list[str]:
    """Print the table, and return the names of the figures that grow."""
    lives, sittings = 1 + max(look.life for look in diary.looks), 1 + max(look.sitting for look in diary.looks)
    others = EACH if diary.looks[-1].others else 0
    total = 1 + 2 * others
    print(f"{total * week.questions:,} questions, {week.questions:,} of them to the page, {lives} starts of the page")
    print(f"{week.files:,} files added, changed or deleted, {sittings} sittings, {len(diary.nights)} nights")
    print(", ".join(f"{number:,} {what}" for what, number in week.outcomes.items()))
    print(f"{'':<30}{'first':>10}{'last':>10}{'per 1,000':>11}{'from':>10}{'to':>10}  verdict")
    of_page = _longest(diary.looks, lambda look: (look.sitting, look.life))
    grown = []
    for name, figure in FIGURES.items():
        of = of_page if figure.of_process else diary.looks
        values = [getattr(look.held, name) / figure.unit for look in of]
        grown += _line(name, [total * look.questions for look in of], values, figure)
    numbers, ratios = slowness(diary.took)
    grown += _line("seconds of a core, % of usual", [total * number for number in numbers], ratios, Figure(1, SLOWER))
    of_others = _longest([look for look in diary.looks if look.others], lambda look: look.sitting)
    asked = [total * look.questions for look in of_others]
    for program in sorted({name for look in of_others for name in look.others}):
        for name in ("memory", "open_files", "threads"):
            values = [getattr(look.others[program], name) / FIGURES[name].unit for look in of_others]
            grown += _line(f"{program}: {name}", asked, values, FIGURES[name])
    for one in diary.nights:
        told = ", ".join(f"{name} {before:,.0f} to {after:,.0f}" for name, (before, after) in one.mib.items())
        print(f"night after {total * one.question:,} questions, MiB: {told}")
    print(f"\nGROWS: {', '.join(grown)}" if grown else "\nNothing grows beyond what is tolerated.")
    return grown


def _longest(looks: Sequence[Look], process: Callable[[Look], Hashable]) -> list[Look]:
    """Return the observations of the process that got the most questions, without its warm-up."""
    found: dict[Hashable, list[Look]] = {}
    for look in looks:
        found.setdefault(process(look), []).append(look)
    longest = max(found.values(), key=len, default=[])
    return longest[int(len(longest) * WARM) :]


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


def slowness(took: Sequence[Took]) -> tuple[list[int], list[float]]:
    """Return the CPU time of each question in per cent of its kind's median, without the slowest tenth."""
    usual = {
        kind: statistics.median(one.seconds for one in took if one.kind == kind) for kind in {one.kind for one in took}
    }
    ratios = [(one.question, 100 * one.seconds / usual[one.kind]) for one in took]
    most = sorted(ratio for _, ratio in ratios)[int(len(ratios) * 0.9)]
    kept = [(number, ratio) for number, ratio in ratios if ratio <= most]
    return [number for number, _ in kept], [ratio for _, ratio in kept]


if __name__ == "__main__":
    sys.exit(main())
