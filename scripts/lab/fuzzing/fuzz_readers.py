"""Fuzz the document readers with mutated files, guided by the branches that each input reaches.

    .venv/bin/python scripts/lab/fuzzing/fuzz_readers.py FOLDER_OF_SEEDS [--minutes 30] [--kind KIND …] [--work FOLDER]

Seeds are the small files in the folder and those that the tests make. Each input is read as in a reader process; if it
has pages, the first one is rendered. A finding is one of these:

- a fault: an error that is not one of localcrag's own;
- an answer that breaks the readers' contract (scripts/lab/fuzzing/contract.py);
- an input that takes more than ten seconds of CPU time and twenty per megabyte, or more memory than a reader may use;
- an input that ends the process or makes it hang.

The smallest input of each finding is stored in `findings` in the work folder with its report, which is also printed.
The exit status is 1 if there is a finding. `corpus` in the work folder is kept, and the next run continues from it. The
fuzzer sees branches in Python, but not in libraries in other languages (pdfium, anydoc, lxml, Pillow).

Needs atheris, which is not among the locked packages, since nothing else uses it. Runs on Linux and macOS.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

NO_ATHERIS = "atheris is missing: `.venv/bin/pip install atheris` gets it; it is not among the locked packages."
INSTRUMENTED = (
    "localcrag.documents.readers localcrag.text lab.fuzzing.contract email mammoth inscriptis olefile msoffcrypto"
)
"""Packages whose branches guide the fuzzer: the readers, and the Python libraries that they use."""


def main() -> None:
    """Fuzz, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="files to begin with, in folders as well")
    parser.add_argument("--minutes", type=float, default=30.0, help="for all kinds together")
    parser.add_argument("--kind", action="append", help="this kind alone; more than once for several")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "localcrag-fuzzing")
    given = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        sys.exit(NO_ATHERIS)
    os.environ["OMP_NUM_THREADS"] = "1"
    # scripts/, where the package `lab` is, and the root, where `tests.support` is.
    sys.path[:0] = [str(Path(__file__).resolve().parents[number]) for number in (2, 3)]
    atheris: Any = importlib.import_module("atheris")
    # Modules that are imported before this block are not instrumented.
    with atheris.instrument_imports(include=INSTRUMENTED.split()):
        processes: Any = importlib.import_module("lab.fuzzing.processes")
        seeds: Any = importlib.import_module("lab.fuzzing.seeds")
    kinds = given.kind or sorted(seeds.KINDS)
    if unknown := set(kinds) - set(seeds.KINDS):
        parser.error(f"there is no kind {', '.join(sorted(unknown))}; there are {', '.join(sorted(seeds.KINDS))}")
    with tempfile.TemporaryDirectory() as made:
        seeds.make(Path(made))
        for kind in kinds:
            seeds.put(seeds.seeds_of(kind, [given.folder, Path(made)]), given.work / "seeds" / kind)
    fuzzing = processes.Fuzzing(atheris, given.work)
    for kind in kinds:
        print(f"{kind} …", file=sys.stderr, flush=True)
        fuzzing.fuzz(kind, given.minutes * 60 / len(kinds))
    printed = processes.table(given.work, kinds)
    print(printed)
    sys.exit("\n- " in printed)


if __name__ == "__main__":
    main()
