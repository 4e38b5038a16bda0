"""Print how much memory unloading idle models frees, and how long the next question waits for them.

    .venv/bin/python scripts/lab/measuring/measure_idle.py [--times N]

It uses the embedded models and one small document in a temporary data folder. The memory is this process's VmRSS.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.app.models.lifecycle import free_memory
from localcrag.app.uploads import uploads_from
from localcrag.settings import load

TEXT = "The ferry to Lindau leaves from berth 7 at nine in the morning.\n"
QUESTION = "From which berth does the ferry to Lindau leave?"


def megabytes() -> float:
    """Return this process's resident memory in MB."""
    return int(Path("/proc/self/status").read_text("utf-8").partition("VmRSS:")[2].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, metavar="N", help="put away and loaded so often")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ferry.md"
        path.write_text(TEXT)
        assembly = Assembly(load(data_dir=Path(folder) / "data"))
        for _ in assembly.ingest(uploads_from([path])):
            pass
        assembly.warm_up()
        _asked(assembly)
        for _ in range(arguments.times):
            warm, loaded = _asked(assembly), megabytes()
            assembly.models.unload()
            untrimmed = megabytes()
            free_memory(unloaded=True)
            away, start = megabytes(), time.monotonic()
            assembly.parts(assembly.settings)
            loading = time.monotonic() - start
            first = _asked(assembly)
            print(
                f"{loaded:.0f} MB loaded, {untrimmed:.0f} let go of, {away:.0f} given back; loaded again in "
                f"{loading:.2f} s; a question {warm:.2f} s, the first one then {first:.2f} s"
            )
        assembly.close()


def _asked(assembly: Assembly) -> float:
    """Return the median seconds of three questions without cached scores."""
    seconds = []
    for _ in range(3):
        assembly.models.clear_scores()
        start = time.monotonic()
        for _event in assembly.ask(QUESTION):
            pass
        seconds.append(time.monotonic() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
