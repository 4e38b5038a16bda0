"""Set up what the tests need, then check and test: python3 scripts/test.py [--all] [pytest's arguments].

Without arguments: lint, format, types, and the tests that a person needs who changes something. --all: every test, and
before them whether anything has become slower than in an earlier version, measured in turn with it (bench.py).
With arguments of pytest (a file, -k, -m): these tests alone. Ends with pytest's summary; the exit status is the worst.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping

from bootstrap import set_up_or_exit
from prerequisites import APT_MEGABYTES, SYSTEM_PACKAGES, can_install_packages, install_packages, missing_packages
from setup_steps import PYTHON, ROOT

CHECKS = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
EVERYDAY = (
    "tests/unit",
    "tests/contracts",
    "tests/models",
    "tests/process/test_cli.py",
    "tests/browser/test_first_start.py",
)
"""What runs without --all; tests/README.md has the folders and their times."""
WORKERS = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
"""Three tests at a time, those of a file in one process; files in the order of tests/conftest.py.

On two cores, too: a quarter of the time, a test waits for a browser, a disk or a process to end."""
SPEED = ("scripts/bench.py", "--against", "--quick")
"""Before the tests, whose workers would be in its way, and whose summary comes last."""
SLOWEST = "--durations=30"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
"""For the workers and the apps that they start: more threads than cores only wait for each other."""
LEFT_OUT = {"browser": ("chromium", "xvfb", "xdotool", "openbox"), "search": ("searx",)}
"""By pytest's marker, the Debian packages that its tests need."""


def main() -> int:
    """Return the worst exit status."""
    parser = argparse.ArgumentParser(
        description="Lint, type-check and test localcrag.",
        epilog="All other arguments go to pytest, which then runs those tests alone, without the other checks.",
        allow_abbrev=False,
    )
    parser.add_argument("--all", action="store_true", help="run every test, also the slow folders")
    for marker, packages in LEFT_OUT.items():
        parser.add_argument(f"--without-{marker}", action="store_true", help=f"leave out what needs {packages[0]}")
    parser.add_argument(
        "--without-speed", action="store_true", help="do not compare the speed with an earlier version's"
    )
    parser.add_argument("-m", dest="markers", metavar="EXPRESSION", help="as pytest's")
    given, more = parser.parse_known_args()
    without = [marker for marker in LEFT_OUT if getattr(given, f"without_{marker}")]
    chosen = bool(more or given.markers) and not given.all
    compared = given.all and not given.without_speed

    print(plan(chosen=chosen, everything=given.all, compared=compared), flush=True)
    set_up_or_exit("test.txt")
    provide_packages({package for marker in without for package in LEFT_OUT[marker]})
    statuses = [] if chosen else [call("-m", *check) for check in CHECKS]
    if compared:
        statuses.append(call(*SPEED, threads={}))
    everyday = () if chosen or given.all else EVERYDAY
    tests = ("pytest", *shared_out(more), *selection(given.markers, without), *more, *everyday)
    return max([*statuses, call("-m", *tests)])


def plan(*, chosen: bool, everything: bool, compared: bool) -> str:
    """Return in a line what will be run."""
    if chosen:
        return "The tests that were asked for, alone; without arguments also lint, format and types."
    tests = "every test" if everything else f"the tests of {', '.join(EVERYDAY)}; --all for every test"
    speed = "the speed beside an earlier version's, " if compared else ""
    return f"Lint, format, types, {speed}then {tests}. Times are in tests/README.md."


def selection(markers: str | None, without: list[str]) -> list[str]:
    """Return the -m that pytest gets: what the person chose, and none of what is left out."""
    expressions = [f"({markers})"] if markers else []
    expressions += [f"not {marker}" for marker in without]
    return ["-m", " and ".join(expressions)] if expressions else []


def shared_out(more: list[str]) -> tuple[str, ...]:
    """Return how pytest shares the tests out, nothing where one file is all there is to run."""
    files = [one for one in more if one.partition("::")[0].endswith(".py")]
    return () if len(files) == 1 else (*WORKERS, SLOWEST)


def provide_packages(unneeded: set[str]) -> None:
    """Install the Debian packages that are missing, or say which. The tests that need them fail without."""
    missing = missing_packages({name: program for name, program in SYSTEM_PACKAGES.items() if name not in unneeded})
    if not missing:
        return
    names = " ".join(missing)
    if can_install_packages():
        print(f"Debian packages for the tests: {names} (up to {APT_MEGABYTES} MB)", flush=True)
        if install_packages(missing):
            return
        print("apt-get failed; what it said is above.")
    print(
        f"Missing for the tests: {names}. On Debian: sudo apt-get install --no-install-recommends {names}\n"
        "Elsewhere, install programs of these names. Until then the tests that need them fail; "
        "--without-browser and --without-search leave most of them out.",
        flush=True,
    )


def call(*command: str, threads: Mapping[str, str] = ONE_THREAD) -> int:
    """Run Python with these arguments, and return its status."""
    said = command[1:] if command[0] == "-m" else command
    print(f"\n== {' '.join(said)}", flush=True)
    started = time.monotonic()
    status = subprocess.call([str(PYTHON), *command], cwd=ROOT, env={**os.environ, **threads})
    if said[0] != "pytest":  # whose summary says it, and comes last
        print(f"{'passed' if status == 0 else 'FAILED'} in {time.monotonic() - started:.0f} s", flush=True)
    return status if status >= 0 else 128 - status  # killed by a signal, as shells count it


if __name__ == "__main__":
    sys.exit(main())
