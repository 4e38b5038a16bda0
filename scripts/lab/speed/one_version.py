"""Print the speed figures of this version alone."""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from lab.speed import commands
from lab.speed.app import Figures, corrected, ingested, peak_memory
from lab.speed.decoding import decoding
from lab.speed.plain import plain
from lab.speed.texts import write_documents
from localcrag.app.assembly import Assembly
from localcrag.interfaces.page.page import build
from localcrag.settings import load

ROOT = Path(__file__).resolve().parents[3]


def ingest_share(assembly: Assembly, folder: Path) -> Figures:
    """Return the throughput of adding documents, of the encoder alone on the same texts, and their ratio."""
    whole = ingested(assembly, str(folder))["seconds"]
    texts = [row["text"] for row in assembly.database.rows("SELECT text FROM chunks")]
    start = time.perf_counter()
    assembly.models.embedder.embed(texts)
    raw = time.perf_counter() - start
    return {
        "chunks": float(len(texts)),
        "ingest, chunks a second": len(texts) / whole,
        "raw encoder, chunks a second": len(texts) / raw,
        "ingest / raw encoder": raw / whole,
    }


def questions_report(assembly: Assembly, questions: list[str]) -> Figures:
    """Return medians of corrected and plain answers to the same questions, asked alternately, and their ratio."""
    assembly.warm_up()
    for question in questions[:2]:
        corrected(assembly, question)
        plain(assembly, question)
    ours, theirs = [], []
    for question in questions[2:]:
        ours.append(corrected(assembly, question))
        theirs.append(plain(assembly, question))
    figures = {f"corrected: {key}": statistics.median(one.get(key, 0.0) for one in ours) for key in ours[0]}
    figures |= {f"plain RAG: {key}": statistics.median(one[key] for one in theirs) for key in theirs[0]}
    figures["corrected / plain RAG, question to last token"] = sum(one["last token"] for one in ours) / sum(
        one["last token"] for one in theirs
    )
    return figures


def startup(folder: Path) -> Figures:
    """Return the seconds until the page answers on its second start, and the seconds of `localcrag --help`."""
    _, second = (commands.page(ROOT, os.environ, folder) for _ in range(2))
    helped = [commands.run(commands.HELP, ROOT, os.environ) for _ in range(5)]
    return {"page answers, second start": second, "localcrag --help": statistics.median(helped)}


def print_figures(*, quick: bool, as_object: bool) -> None:
    """Measure this version alone, and print it."""
    chunks, asked = (200, 8) if quick else (1000, 30)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        questions = write_documents(folder / "documents", chunks, random.Random(1))[: asked + 2]
        assembly = Assembly(load(data_dir=folder / "data"))
        build(assembly)  # so that the peak memory includes the page
        assembly.models.embedder.embed(["warm up"] * 8)
        figures = ingest_share(assembly, folder / "documents")
        figures |= questions_report(assembly, questions)
        figures |= decoding(assembly, questions)
        figures["peak memory of this session with page, GiB"] = peak_memory()
        assembly.close()
        figures |= startup(folder / "data")
    if as_object:
        print(json.dumps(figures, indent=2))
        return
    print(f"{os.cpu_count()} cores, models: {assembly.settings.embedder}, {assembly.settings.relevance}, "
          f"{assembly.settings.llm}; seconds unless it says otherwise, medians of {asked} questions")  # fmt: skip
    for name, value in figures.items():
        print(f"{name:<50} {value:10.3f}")
