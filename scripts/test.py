"""Set up the test environment, then run checks and tests: python3 scripts/test.py [--all] [pytest's arguments].

Without arguments, it checks lint, format and types, and runs the tests for everyday changes. --all first compares the
speed with an earlier version (bench.py), and then runs every test. With arguments of pytest (a file, -k, -m), only the
tests that they select run. pytest's summary comes last; the exit status is the worst one.
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
EVERYDAY = "not slow and (everyday or not (process or browser or lab))"
"""Tests that run without --all, as an expression of pytest's markers; tests/README.md has their times."""
WORKERS = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
"""Options for three worker processes; each file's tests share a worker, and tests/conftest.py orders the files.

Three suit two cores as well: a test spends a quarter of its time waiting for a browser, a disk or a process to end."""
SPEED = ("scripts/bench.py", "--against", "--quick")
"""Command that compares the speed. It runs before the tests, whose workers would disturb it."""
SLOWEST = "--durations=30"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
"""Environment of the workers and the apps that they start: more threads than cores only wait for each other."""
LEFT_OUT = {"browser": ("chromium", "xvfb", "xdotool", "openbox"), "search": ("searx",)}
"""Debian packages that tests need, by the tests' pytest marker."""


def main() -> int:
    """Run the chosen checks and tests, and return the worst exit status."""
    parser = argparse.ArgumentParser(
        description="Lint, type-check and test localcrag.",
        epilog="All other arguments go to pytest, which then runs only those tests, without the other checks.",
        allow_abbrev=False,
    )
    parser.add_argument("--all", action="store_true", help="run every test, including the slow ones")
    for marker, packages in LEFT_OUT.items():
        parser.add_argument(f"--without-{marker}", action="store_true", help=f"skip tests that need {packages[0]}")
    parser.add_argument("--without-speed", action="store_true", help="do not compare the speed with an earlier version")
    parser.add_argument("-m", dest="markers", metavar="EXPRESSION", help="marker expression, as for pytest")
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
    markers = given.markers if chosen or given.all else EVERYDAY
    tests = ("pytest", *shared_out(more), *selection(markers, without), *more)
    return max([*statuses, call("-m", *tests)])


def plan(*, chosen: bool, everything: bool, compared: bool) -> str:
    """Return a line that announces the checks and tests to be run."""
    if chosen:
        return "Only the chosen tests. Without arguments: also lint, format and types."
    tests = "every test" if everything else "the everyday tests; --all for every test"
    speed = "the speed compared with an earlier version, " if compared else ""
    return f"Lint, format, types, {speed}then {tests}. Times are in tests/README.md."


def selection(markers: str | None, without: list[str]) -> list[str]:
    """Return pytest's -m option: the user's expression, without the markers that are left out."""
    expressions = [f"({markers})"] if markers else []
    expressions += [f"not {marker}" for marker in without]
    return ["-m", " and ".join(expressions)] if expressions else []


def shared_out(more: list[str]) -> tuple[str, ...]:
    """Return pytest's options for several workers; none if only one file is to be run."""
    files = [one for one in more if one.partition("::")[0].endswith(".py")]
    return () if len(files) == 1 else (*WORKERS, SLOWEST)


def provide_packages(unneeded: set[str]) -> None:
    """Install the missing Debian packages, or print which are missing. The tests that need them fail without them."""
    missing = missing_packages({name: program for name, program in SYSTEM_PACKAGES.items() if name not in unneeded})
    if not missing:
        return
    names = " ".join(missing)
    if can_install_packages():
        print(f"Debian packages for the tests: {names} (up to {APT_MEGABYTES} MB)", flush=True)
        if install_packages(missing):
            return
        print("apt-get failed; its output is above.")
    print(
        f"Missing for the tests: {names}. On Debian: sudo apt-get install --no-install-recommends {names}\n"
        "Elsewhere, install programs of these names. Until then, the tests that need them fail; "
        "--without-browser and --without-search skip most of them.",
        flush=True,
    )


def call(*command: str, threads: Mapping[str, str] = ONE_THREAD) -> int:
    """Run Python with these arguments, and return its exit status."""
    said = command[1:] if command[0] == "-m" else command
    print(f"\n== {' '.join(said)}", flush=True)
    started = time.monotonic()
    status = subprocess.call([str(PYTHON), *command], cwd=ROOT, env={**os.environ, **threads})
    if said[0] != "pytest":  # pytest's own summary must be the last output
        print(f"{'passed' if status == 0 else 'FAILED'} in {time.monotonic() - started:.0f} s", flush=True)
    return status if status >= 0 else 128 - status  # if a signal killed it, shells return 128 plus its number


if __name__ == "__main__":
    sys.exit(main())
