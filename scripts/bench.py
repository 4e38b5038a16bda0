"""Measure localcrag's speed on this machine with the models in use, or compare it with another version.

    .venv/bin/python scripts/bench.py [--quick] [--json]
    .venv/bin/python scripts/bench.py --against [REVISION] [--quick] [--json]

A ratio compares two things measured in the same run, so that it is valid on a busy machine; seconds are medians. The
texts are generated from a seeded vocabulary: plain sentences with one fact each, since speed depends on the length of a
text and not on its meaning. The questions ask for those facts.

--against runs this checkout and another revision alternately, each in its own process, with this virtual environment
and these models. It ends with status 1 if a step is slower, that is, if the whole 95 % interval of its ratios is above
the limit (scripts/lab/speed/ratios.py). The default REVISION is the commit where this branch left the main branch; on
the main branch, it is the 20th commit before. If there is no such commit, it prints that and ends with status 0. The
last lines of a commit message may declare a step slower on purpose: “Slower: evaluate, last token”. CI runs --quick.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from lab.speed.comparison import FULL, SMALL, as_json, compare, materials, slower, table, throughput
from lab.speed.versions import NoVersion, Unmeasured, accepted, commit, earlier, in_a_process, unpack

from localcrag.privacy.guard import allow_all_programs

ROOT = Path(__file__).resolve().parent.parent
NOW = "this checkout"


def measure_against(revision: str | None, *, quick: bool, as_object: bool) -> int:
    """Compare this version with another, and print the result; return 1 if a step is slower, otherwise 0.

    Raises NoVersion, and Unmeasured if this version does not run.
    """
    plan = SMALL if quick else FULL
    name = commit(ROOT, revision or earlier(ROOT))
    meant = accepted(ROOT, name)
    with tempfile.TemporaryDirectory(prefix="localcrag-speed-") as temporary:
        folder = Path(temporary)
        given = materials(plan, folder / "documents")
        tree = unpack(ROOT, name, folder / "tree")
        with (
            in_a_process(NOW, ROOT, folder / "now") as this,
            in_a_process(name, tree, folder / "before") as before,
        ):
            this.open()
            try:
                before.open(like=this)
            except Unmeasured as error:
                print(f"Speed was not compared: {name} does not run in this environment ({error}).")
                return 0
            found = compare(before, this, given, seconds=plan.seconds)
    ratios = found.ratios()
    if as_object:
        print(json.dumps(as_json(found, ratios, name, meant), indent=2))
    else:
        print(f"{table(ratios, name, meant)}\n{throughput(found, name)}")
        for what, why in found.left_out.items():
            print(f"Left out: {what}, for {why}.")
    sentences = slower(ratios, name, meant)
    for sentence in sentences:
        print(f"Slower: {sentence}", file=sys.stderr)
    return 1 if sentences else 0


def stop(number: int, _frame: object) -> NoReturn:
    """Exit through an exception, as after Ctrl-C, so that child processes and temporary folders are removed."""
    sys.exit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 chunks and 8 questions instead of 1,000 and 30")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--against", nargs="?", const="", metavar="REVISION", help="compare with another version of localcrag"
    )
    arguments = parser.parse_args()
    if arguments.against is None:
        from lab.speed.one_version import print_figures  # noqa: PLC0415 - takes seconds, and starts the egress guard

        print_figures(quick=arguments.quick, as_object=arguments.json)
        return 0
    allow_all_programs("git, and two versions of localcrag")
    signal.signal(signal.SIGTERM, stop)
    try:
        return measure_against(arguments.against or None, quick=arguments.quick, as_object=arguments.json)
    except NoVersion as error:
        print(f"Speed was not compared: {error}")
        return 1 if arguments.against else 0
    except Unmeasured as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
