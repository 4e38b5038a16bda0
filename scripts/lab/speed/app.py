"""An app in a temporary data folder, and the seconds that it takes to add files and answer questions.

It imports no more of localcrag than it needs, since the time of its imports is measured, too (versions.py).
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.events import AnswerPiece, RunFinished
from localcrag.records.ingest import IngestResult
from localcrag.settings import load

Figures = dict[str, float]
"""Figures by name, in seconds unless the name says otherwise."""


def opened(folder: Path) -> Assembly:
    """Return an app with its models loaded. Raises SettingsError, StoreError and ModelError."""
    assembly = Assembly(load(data_dir=folder))
    assembly.models.embedder.embed(["warm up"] * 8)
    assembly.warm_up()
    return assembly


def ingested(assembly: Assembly, folder: str) -> Figures:
    """Add the files in a folder; return the seconds, and the number of chunks."""
    start = time.perf_counter()
    done = [event for event in assembly.ingest(uploads_from([Path(folder)])) if isinstance(event, IngestResult)]
    return {"seconds": time.perf_counter() - start, "chunks": float(sum(one.chunks for one in done))}


def corrected(assembly: Assembly, question: str) -> Figures:
    """Ask a question; return the seconds of each step, to the first token, and to the last."""
    start = time.perf_counter()
    first = None
    for event in assembly.ask(question):
        if isinstance(event, AnswerPiece) and first is None:
            first = time.perf_counter() - start
        if isinstance(event, RunFinished):
            steps = {step.name: step.seconds for step in event.run.steps}
            tokens = next((step.prompt_tokens for step in event.run.steps if step.name == "generate"), 0)
    whole = time.perf_counter() - start
    steps["retrieve + evaluate + refine"] = sum(steps.get(name, 0.0) for name in ("retrieve", "evaluate", "refine"))
    return {**steps, "first token": first or whole, "last token": whole, "prompt tokens": float(tokens)}


def peak_memory() -> float:
    """Return the peak memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
