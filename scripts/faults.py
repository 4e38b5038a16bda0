"""Kill localcrag again and again at moments of chance, and count what is lost, by what was being done.

    .venv/bin/python scripts/faults.py [--kills 1000] [--seed 1]

Each process is a fork that has the real models. It opens the folder that the last one left, compares all that is in
it with what was reported, checks SQLite's file, every table, both full-text indexes and the vector index, and goes on
working until it is killed. A thousand kills took 20 minutes on two cores busy with other work. For Linux and macOS.
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
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> int:
    # After the limits on threads, which libraries read when they are imported.
    from fault_injection.children import Models  # noqa: PLC0415
    from fault_injection.kills import Killing  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is done by chance")
    parser.add_argument("--models", type=Path, help="a data folder whose cache has the faster models; made if need be")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="localcrag-faults-"))
    models = Models(given.models or place / "models")
    outcome = Killing(models, place, given.seed).kill(given.kills)
    print("| killed while | kills | losses |\n| --- | ---: | ---: |")
    for doing, kills in outcome.kills.most_common():
        print(f"| {doing} | {kills} | {outcome.losses[doing]} |")
    losses = outcome.losses.total()
    print(f"| all | {outcome.kills.total()} | {losses} |")
    print(f"\n{outcome.reports} facts reported; {outcome.seconds:.0f} s.")
    if losses:
        print(f"What is left is in {place}.", file=sys.stderr)
        return 1
    shutil.rmtree(place, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
