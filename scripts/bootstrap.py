"""Set localcrag up in the folder `.venv`, step by step, skipping the steps that are already done.

It needs only Python. If it is interrupted, the next run continues with the unfinished step. `run.py` and `test.py` call
it; you can also call it directly: python3 scripts/bootstrap.py
"""

import argparse
import sys
import time

# An older Python must get as far as this message, so this file, run.py and test.py have no syntax newer than 3.6.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        f"localcrag needs Python 3.11 or newer; {sys.executable} is Python {sys.version.split()[0]}. Install one:\n"
        "  Debian, Ubuntu   sudo apt install python3.12 python3.12-venv python3.12-dev (or a release that has it)\n"
        "  Fedora           sudo dnf install python3.12-devel\n"
        "  macOS            brew install python@3.12\n"
        "  Windows          winget install Python.Python.3.12\n"
        "Then run the same command with it, for instance: python3.12 scripts/run.py"
    )

from prerequisites import COMPILER_HELP, missing_for_build, missing_for_environment
from setup_steps import (
    LLAMA_INDEX,
    PYTHON,
    ROOT,
    SetupFailed,
    announce,
    environment_version,
    make_environment,
    plan,
    read_stamps,
    write_stamps,
)

FAILED, INTERRUPTED = 1, 130  # exit statuses; shells use 128 plus the number of the signal, here SIGINT


def set_up_or_exit(lock: str) -> None:
    """Set up `.venv` and the embedded models as `scripts/lock/<lock>` and the manifest require.

    If that fails, exit with a message instead of a traceback.
    """
    try:
        set_up(lock)
    except (SetupFailed, OSError) as error:
        print(f"\nSet-up stopped. {error}\nThen run the same command again: it goes on here.", file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        print("\nSet-up was interrupted. The same command goes on with the unfinished step.", file=sys.stderr)
        sys.exit(INTERRUPTED)


def set_up(lock: str) -> None:
    """Run the steps that are not done yet. Raises SetupFailed."""
    stamps = read_stamps()
    version = environment_version(stamps)
    future = plan(lock, version or f"{sys.version_info.major}.{sys.version_info.minor}")
    compiles = any(step.compiles and (version is None or not step.done(stamps)) for step in future)
    require(environment=version is None, compiler=compiles)
    if version is None:
        announce("A virtual environment, .venv (seconds)")
        stamps = make_environment()
        version = environment_version(stamps) or ""
    waiting = [step for step in plan(lock, version) if not step.done(stamps)]
    for number, step in enumerate(waiting, start=1):
        announce(f"[{number}/{len(waiting)}] {step.does}")
        started = time.monotonic()
        try:
            step.run()
        except SetupFailed as error:
            raise SetupFailed(f"{error}\n{step.advice}") from error
        if step.key is not None:
            stamps[step.name] = step.key
            write_stamps(stamps)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        announce(f"      done in {minutes} min {seconds} s" if minutes else f"      done in {seconds} s")


def require(*, environment: bool, compiler: bool) -> None:
    """Raise SetupFailed now, rather than after minutes, if something is missing that pip cannot install."""
    missing = [*(missing_for_environment() if environment else []), *(missing_for_build() if compiler else [])]
    if missing:
        without = (
            f"\nOr set {LLAMA_INDEX} to an index that has it compiled (docs/guide/install.md)." if compiler else ""
        )
        raise SetupFailed(
            f"To {'compile llama.cpp' if compiler else 'make a virtual environment'}, set-up needs: "
            f"{', '.join(missing)}. Install:\n{COMPILER_HELP}{without}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Set localcrag up in .venv.")
    parser.add_argument("--test", action="store_true", help="with what the tests need")
    set_up_or_exit("test.txt" if parser.parse_args().test else "run.txt")
    print(f"localcrag is set up. Start it with: {PYTHON} {ROOT / 'app.py'}")
