"""Measure one version of localcrag in this process: read tasks and write results as lines of JSON.

    python -m lab.speed.child FOLDER    # from a checkout, which comes first on PYTHONPATH; FOLDER is its data folder

Measuring functions are imported by name when they are first called. An earlier version may lack something that one of
them needs, and can still be measured in everything else.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

OPEN = "opened"
MEASURES = {"ingested": "lab.speed.app", "corrected": "lab.speed.app", "plain": "lab.speed.plain"}
"""Names of the measuring functions, with their modules."""


class Measured:
    """The app that is measured."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._assembly: Any = None

    def answer(self, line: str) -> dict[str, Any]:
        """Run the task in a line; return its figures, or under `failed` the reason why there are none."""
        asked = json.loads(line)
        try:
            if asked["do"] != OPEN:
                measure = getattr(import_module(MEASURES[asked["do"]]), asked["do"])
                return {"figures": measure(self._assembly, asked["given"])}
            self._assembly = import_module("lab.speed.app").opened(self._folder)
        except Exception as error:  # noqa: BLE001 - an earlier version may fail in any way; it is told
            return {"failed": f"{type(error).__name__}: {error}"}
        return {"figures": {}, "package": str(Path(import_module("localcrag").__file__ or "").parent)}

    def close(self) -> None:
        """Close the app."""
        if self._assembly:
            self._assembly.close()


def serve(asked: TextIO, answers: TextIO, measured: Measured) -> None:
    """Answer tasks until the input ends."""
    with closing(measured):
        for line in asked:
            answers.write(json.dumps(measured.answer(line)) + "\n")
            answers.flush()


def main() -> None:
    """Answer on the original standard output, and redirect what libraries print there to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        serve(sys.stdin, answers, Measured(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
