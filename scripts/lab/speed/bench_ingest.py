"""Print how fast documents are added, relative to the embedding model alone, and where the rest goes.

    .venv/bin/python scripts/lab/speed/bench_ingest.py [FOLDER] [--kind long|short] [--rounds N] [--workers N …]
    .venv/bin/python scripts/lab/speed/bench_ingest.py --kind many [--files N]
    .venv/bin/python scripts/lab/speed/bench_ingest.py --kind scans [--workers N …]
    .venv/bin/python scripts/lab/speed/bench_ingest.py --kind folder [--files N] [--rounds N]

Without a FOLDER, it uses texts like those of bench.py: `long` ones of about ten chunks, or `short` ones of one chunk.
In each round, every number of workers adds the documents to an empty collection. Right after that, the embedding model
alone embeds exactly the same texts at once, so that ratios are valid on a busy machine. The script prints medians.

`many` writes a folder of N files, starts `localcrag ingest` on it in a terminal, and prints when the command first
shows the number of files, and when it works on the first one. `scans` reads pages of print with N processes of text
recognition at once, each with its share of the cores. `folder` makes a collection watch a folder of N files. It prints
how long a start takes until the collection is up to date, if nothing changed and if ten names changed. Nothing is
embedded, since files that are up to date are not read.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.app.collections.folder_sync import FolderSync
from localcrag.app.models.hardware import cores, page_workers, workers
from localcrag.app.uploads import FoundFiles
from localcrag.documents.scans import Recogniser
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import IngestEvent, IngestResult, Upload, WatchedFolder
from localcrag.records.protocols import Embedder, Vectors
from localcrag.settings import load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.folder_store import FolderStore

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.measuring.measure_ocr import LEASE, Scan
from lab.speed.texts import FILLER, THINGS, TOWNS, write_documents


class Watched:
    """A proxy for an embedding model that records its texts and the seconds that they took."""

    def __init__(self, embedder: Embedder) -> None:
        self._embed = embedder.embed
        embedder.embed = self.embed  # type: ignore[method-assign]
        self.texts: list[str] = []
        self.seconds = 0.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        start = time.perf_counter()
        vectors = self._embed(texts)
        self.seconds += time.perf_counter() - start
        self.texts += texts
        return vectors

    def alone(self) -> float:
        """Embed all recorded texts at once, and return the seconds; then clear the record."""
        start = time.perf_counter()
        self._embed(self.texts)
        seconds = time.perf_counter() - start
        self.texts, self.seconds = [], 0.0
        return seconds


def write_short(folder: Path, number: int, chosen: random.Random) -> None:
    """Write text files of a few sentences."""
    for one in range(number):
        fact = f"The {chosen.choice(TOWNS)} {chosen.choice(THINGS)} was built in {chosen.randint(1500, 1990)}. "
        (folder / f"{one}.txt").write_text(fact + " ".join(chosen.choices(FILLER, k=chosen.randint(1, 6))), "utf-8")


def write_many(folder: Path, number: int) -> None:
    """Write files of one sentence, a thousand to a folder."""
    for one in range(number):
        path = folder / f"{one // 1000:03}" / f"{one % 1000:03}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"Berth {one} is let to the ferry company.", "utf-8")


def first_words(folder: Path) -> dict[str, float]:
    """Return the seconds until a command in a terminal shows the number of files, and until it adds the first."""
    wanted = {"files found so far, or all": b" found", "first file": b" read"}
    seen: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as data:
        ours, its = pty.openpty()
        start = time.perf_counter()
        command = [sys.executable, "-m", "localcrag", "ingest", str(folder), "--data-dir", data]
        process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env={**os.environ, "COLUMNS": "120"})
        said = b""
        while len(seen) < len(wanted):
            said += os.read(ours, 4096)
            for name, words in wanted.items():
                if words in said:
                    seen.setdefault(name, time.perf_counter() - start)
        process.kill()
        process.wait()
    return seen


def seconds_a_page(pages: Sequence[bytes], workers: int) -> tuple[float, float]:
    """Return the seconds per page, wall-clock and CPU time, with several processes reading pages at once."""
    recogniser = Recogniser().shared(workers)
    threads = max(1, cores() // workers)

    def read(page: bytes) -> None:
        recogniser.read(page, "a page", threads=threads, checkpoint=lambda: None)

    with ThreadPoolExecutor(workers) as at_once:
        list(at_once.map(read, pages[:workers]))  # So that all processes have started and loaded their networks.
        used, start = _used_by_children(), time.perf_counter()
        list(at_once.map(read, pages))
        seconds = time.perf_counter() - start
        used = _used_by_children() - used
    recogniser.close()
    return seconds / len(pages), used / len(pages)


def _used_by_children() -> float:
    """Return the CPU seconds that this program's child processes have used so far."""
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text("ascii").split():
            fields = Path(f"/proc/{child}/stat").read_text("ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def bench_scans(workers: Sequence[int], rounds: int) -> None:
    """Print the seconds of recognising a page of 25 lines."""
    pages = [Scan().of(LEASE * 5)] * 6
    found: dict[int, list[tuple[float, float]]] = {number: [] for number in workers}
    for _ in range(rounds):
        for number in workers:
            found[number].append(seconds_a_page(pages, number))
    for number, times in found.items():
        clock, used = (statistics.median(one) for one in zip(*times, strict=True))
        each = ", ".join(f"{one:.2f}" for one, _ in times)
        threads = max(1, cores() // number)
        print(f"{number} processes of {threads} threads: {clock:.2f} s a page ({each}), {used:.2f} of the processor")


def bench_folder(folder: Path, data: Path, rounds: int) -> None:
    """Print the seconds until a watched folder is up to date."""
    settings = load(data_dir=data, read_scans=False)
    assembly = Assembly(settings)
    DocumentStore(assembly.database, settings.collection, embedder="none", dimension=1)
    store = FolderStore(assembly.database)
    bound = store.bind(WatchedFolder(id=0, collection=settings.collection, path=folder))

    def as_if_read(uploads: Sequence[Upload], _: str) -> Generator[IngestEvent, None, None]:
        yield from (IngestResult(one.name, IngestStatus.ADDED) for one in uploads)

    def in_step() -> str:
        began, used = time.perf_counter(), time.process_time()
        opened = Assembly(settings)
        sync = FolderSync(opened.database, opened.collections, add=as_if_read, settled=0)
        for _ in sync.sync(bound):
            pass
        opened.close()
        return f"{time.perf_counter() - began:.1f} s ({time.process_time() - used:.1f} of the processor)"

    print(f"first time, compared and remembered: {in_step()}", flush=True)
    print(f"{store.counts(bound.id).files} files in step: {', '.join(in_step() for _ in range(rounds))}", flush=True)
    for path in [path for path in sorted(folder.rglob("*")) if path.is_file()][:10]:
        path.rename(path.with_name(f"renamed {path.name}"))
    print(f"ten of them renamed: {in_step()}", flush=True)
    assembly.close()


def once(
    assembly: Assembly, watched: Watched, folder: Path, at_once: int, collection: str
) -> tuple[float, float, float, int, int]:
    """Return the seconds of adding a folder, of embedding in it and alone, and the numbers of files and chunks."""
    assembly.change(workers=at_once)
    start = time.perf_counter()
    events = assembly.ingest(FoundFiles([folder]), collection)
    results = [one for one in events if isinstance(one, IngestResult)]
    whole, embedding, chunks = time.perf_counter() - start, watched.seconds, len(watched.texts)
    return whole, embedding, watched.alone(), len(results), chunks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--kind", choices=["long", "short", "many", "scans", "folder"], default="long")
    parser.add_argument("--files", type=int, default=100_000, help="of `many` and `folder`")
    parser.add_argument("--chunks", type=int, default=400, help="about how many, of texts that are made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    if given.kind == "scans":
        bench_scans([one or page_workers(0) for one in given.workers], given.rounds)
        return
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as data:
        folder = given.folder or Path(made)
        if given.kind == "many":
            write_many(folder, given.files)
            for name, seconds in first_words(folder).items():
                print(f"{given.files} files, {name}: {seconds:.1f} s after the start of the command")
            return
        if given.kind == "folder":
            write_many(folder, given.files)
            bench_folder(folder, Path(data), given.rounds)
            return
        if not given.folder and given.kind == "long":
            write_documents(folder, given.chunks, random.Random(1))
        elif not given.folder:
            write_short(folder, given.chunks, random.Random(1))
        rounds: dict[int, list[tuple[float, float, float, int, int]]] = {at_once: [] for at_once in given.workers}
        assembly = Assembly(load(data_dir=Path(data), read_scans=False))
        watched = Watched(assembly.models.embedder)
        watched.embed(["warm up"] * 8)
        watched.alone()
        for number in range(given.rounds):
            for at_once in given.workers:
                rounds[at_once].append(once(assembly, watched, folder, at_once, f"{number}, {at_once}"))
        assembly.close()
    for at_once, found in rounds.items():
        *_, files, chunks = found[0]
        print(f"{at_once or workers(0)} workers, {files} files, {chunks} chunks, {given.rounds} rounds")
        for name, values in (
            ("ingest, chunks a second", [chunks / one[0] for one in found]),
            ("embedder alone on the same texts", [chunks / one[2] for one in found]),
            ("ingest / embedder alone", [one[2] / one[0] for one in found]),
            ("share of the ingest that embeds", [one[1] / one[0] for one in found]),
        ):
            print(f"  {name:<36} {statistics.median(values):8.3f}   ({', '.join(f'{one:.2f}' for one in values)})")


if __name__ == "__main__":
    main()
