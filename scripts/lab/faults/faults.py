"""Kill localcrag at random moments, or make its calls fail, and count what is lost.

    .venv/bin/python scripts/lab/faults/faults.py [--kills 1000] [--seed 1]
    .venv/bin/python scripts/lab/faults/faults.py --every-call [--step 10]
        [--faults no-space broken half killed full no-memory]

Each process is a fork with the real models. It opens the data folder that the last one left, and compares its content
with everything that was reported as saved. It checks SQLite's file, every table, both full-text indexes and the vector
index. Then it works until it is killed. A thousand kills took 20 minutes on two cores that also did other work. Runs on
Linux and macOS.

--every-call repeats a small session without models. Each time, another call fails, through a library that is loaded
before libc (shim_source/shim.c), and the next start checks what is lost. With `no-memory`, which only --faults selects,
SQLite gets no memory: once for each way it asks for some, that is, for each set of its functions under way. Needs Linux
and a C compiler.

    .venv/bin/python scripts/lab/faults/faults.py --power-cuts 1000 [--seed 1]

records everything that such a session does to files, drops what was not synced at a random moment, and checks.

    .venv/bin/python scripts/lab/faults/faults.py --full-disk [--step 4]

runs the session on RAM disks that are too small, each a little larger than the last, and checks again once there is
room. Needs Linux.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# scripts/, where the package `lab` is, and the root, where `tests.support` is.
sys.path[:0] = [str(Path(__file__).resolve().parents[number]) for number in (2, 3)]
FAULTS = ("no-space", "broken", "half", "killed", "full")
"""Ways for a call to fail: ENOSPC once, EIO once, half written, the process killed there, ENOSPC from there on."""
MEMORY = ("no-memory",)
"""Way to fail in which SQLite gets no memory, once for each call path of an allocation."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is done by chance")
    parser.add_argument("--models", type=Path, help="a data folder whose cache has the faster models; made if need be")
    parser.add_argument("--every-call", action="store_true", help="have each call that changes a file fail (Linux)")
    parser.add_argument("--step", type=int, default=1, help="every so manieth call or disk alone (1)")
    parser.add_argument(
        "--faults", nargs="+", default=FAULTS, choices=FAULTS + MEMORY, help="with --every-call: how they fail"
    )
    parser.add_argument("--power-cuts", type=int, metavar="N", help="cut the power so often in a small session (Linux)")
    parser.add_argument("--full-disk", action="store_true", help="do a small session on too small disks (Linux)")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="localcrag-faults-"))
    try:
        if (given.every_call or given.power_cuts) and not given.full_disk and (status := begun_anew(place)) is not None:
            return status
        losses = (full_disk if given.full_disk else every_call if given.every_call or given.power_cuts else kills)(
            place, given
        )
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    if losses:
        print(f"What is left is in {place}.", file=sys.stderr)
        return 1
    shutil.rmtree(place, ignore_errors=True)
    return 0


def begun_anew(place: Path) -> int | None:
    """Restart this script with the shim loaded before libc; return its exit status, or None in the new process.

    Raises RuntimeError if there is no C compiler.
    """
    from lab.faults import shim  # noqa: PLC0415

    if shim.LOADED in os.environ:
        return None
    try:
        return shim.again_with(shim.compiled(place), sys.argv)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def kills(place: Path, given: argparse.Namespace) -> int:
    """Kill the app --kills times, print a table, and return the number of losses."""
    # Imported after the limits on threads are set, since libraries read them when they are imported.
    from lab.faults.children import Models  # noqa: PLC0415
    from lab.faults.kills import Killing  # noqa: PLC0415

    models = Models(given.models or place / "models")
    outcome = Killing(models, place, given.seed).kill(given.kills)
    print("| killed while | kills | losses |\n| --- | ---: | ---: |")
    for doing, number in outcome.kills.most_common():
        print(f"| {doing} | {number} | {outcome.losses[doing]} |")
    losses = outcome.losses.total()
    print(f"| all | {outcome.kills.total()} | {losses} |")
    words = f"{outcome.looked_for} times a word of a document that is gone was looked for"
    print(f"\n{outcome.reports} facts reported; {words}; {outcome.seconds:.0f} s.")
    return losses


def every_call(place: Path, given: argparse.Namespace) -> int:
    """Make each call fail once, or cut the power; print a table, and return the losses. Raises RuntimeError."""
    from lab.faults import shim  # noqa: PLC0415
    from lab.faults.calls import EveryCall  # noqa: PLC0415
    from lab.faults.power import PowerCuts  # noqa: PLC0415

    if given.power_cuts:
        cuts = PowerCuts(place, given.seed).cut(given.power_cuts)
        print(cuts.table())
        print(f"\n{cuts.done} changes of files and {cuts.syncs} syncs in a session; {cuts.seconds:.0f} s.")
        return cuts.losses.total()
    faults = [shim.Fault[name.upper().replace("-", "_")] for name in given.faults]
    outcome = EveryCall(place).fail(faults, given.step)
    print(outcome.table())
    memory = f"{outcome.allocations} allocations of SQLite, which come {len(outcome.ways)} ways"
    print(f"\n{outcome.calls} calls and {memory}, in a session without a fault; {outcome.seconds:.0f} s.")
    return outcome.losses.total()


def full_disk(place: Path, given: argparse.Namespace) -> int:
    """Fill small disks, print a table and the messages, and return the number of losses. Raises RuntimeError."""
    from lab.faults.full_disk import FullDisk  # noqa: PLC0415

    outcome = FullDisk(place).fill(given.step)
    print(outcome.table())
    print("\nWhat was said:\n", *(f"- {one}" for one in outcome.said()), f"\n{outcome.seconds:.0f} s.", sep="\n")
    return len(outcome.losses)


if __name__ == "__main__":
    sys.exit(main())
