"""Print how a collection grows from ten thousand chunks to a million: seconds, memory and disk.

    .venv/bin/python scripts/lab/scale/bench_scale.py CORPUS [--chunks 10000 100000 1000000] [--folder DIR]
        [--json FILE] [--plot FILE] [--processor] [--engine hnswlib]

CORPUS is gzipped lines of JSON with `title` and `text`. The app's own code chunks and embeds its first texts (BASE
chunks). All other chunks are recombined from these: the first sentences of one and the last of another, with the mean
of their vectors and a little noise. So words are as frequent as in real text, no two chunks are equal, and a million
chunks need no hours of embedding. Questions are the rarest words of chunks. Searches are measured in a separate process
that has just started, as the app would be.

With --folder, the collections are kept, and a size that is already there is only measured, not built again; use it when
you change how a collection is searched. --plot draws the sizes measured. With --processor, times are CPU time instead
of wall-clock time, for a machine that also does other work.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.retrieve import NEARBY_FACTOR
from localcrag.privacy.guard import allow_all_programs
from localcrag.records.documents import Chunk
from localcrag.records.enums import IndexEngine
from localcrag.records.protocols import Vectors
from localcrag.settings import load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from localcrag.storage.protocol import Index, Store
from localcrag.text.sentences import split_sentences
from localcrag.text.words import content_words

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.data import read_lines
from lab.scale.scale_plot import draw

BASE = 4_000
"""Number of chunks that are really chunked and embedded."""
OF_A_DOCUMENT = 10
"""Chunks in a document."""
NOISE = 0.02
"""Standard deviation of the noise added to each component of a unit vector; over 384 components, its length is 0.4."""
QUESTIONS = 200
NEAREST, BY_WORDS = 30 * NEARBY_FACTOR, 30
"""Results of each search by default: settings.candidates, as used in crag/retrieve."""
NAME, BUILT = "scale", "built.json"

Base = list[tuple[str, Vectors]]
Clock = Callable[[], float]
Make = Callable[[], tuple[str, Vectors]]


def embedded(corpus: Path, folder: Path) -> tuple[Base, dict[str, float]]:
    """Return BASE chunks with their vectors, and the speed of adding them, compared with the encoder alone."""
    files = folder / "files"
    files.mkdir()
    assembly = Assembly(load(data_dir=folder / "base"))
    letters = 0
    for number, article in enumerate(read_lines(corpus)):
        (files / f"{number}.md").write_text(f"# {article['title']}\n\n{article['text']}", "utf-8")
        letters += len(article["text"])
        if letters > BASE * 700:
            break
    assembly.models.embedder.embed(["warm up"] * 8)
    started = time.perf_counter()
    for _ in assembly.ingest(uploads_from([files])):
        pass
    whole = time.perf_counter() - started
    store = assembly.collections.store()
    ids = store.chunk_ids()
    chunks, vectors = store.chunks(ids), store.vectors(ids)
    base = [(chunks[one][1].text, vectors[one]) for one in ids]
    texts = [text for text, _ in base[:1000]]
    started = time.perf_counter()
    assembly.models.embedder.embed(texts)
    alone = (time.perf_counter() - started) * len(base) / len(texts)
    assembly.close()
    figures = {"embedded chunks": float(len(base)), "ingest / encoder alone, throughput": alone / whole}
    return base, figures


def recombined(base: Base, chosen: random.Random, noise: np.random.Generator) -> tuple[str, Vectors]:
    """Return a chunk made from two of the others."""
    (first, one), (last, other) = chosen.choice(base), chosen.choice(base)
    begins, ends = split_sentences(first, "en"), split_sentences(last, "en")
    text = (
        first[: begins[len(begins) // 2].end] + " " + last[ends[len(ends) // 2].start :] if begins and ends else first
    )
    vector = one + other + noise.normal(0.0, NOISE, one.shape).astype(np.float32)
    return text, vector / np.linalg.norm(vector)


def questions(base: Base, chosen: random.Random) -> list[str]:
    """Return questions made of the rarest words of chunks."""
    frequency = Counter(word for text, _ in base for word in content_words(text))
    asked = []
    for text, _ in chosen.sample(base, QUESTIONS):
        rarest = sorted(content_words(text), key=lambda word: (frequency[word], word))[:4]
        asked.append(f"What is said of the {' and the '.join(rarest)}?")
    return asked


def grow(clock: Clock, store: DocumentStore, index: ChunkIndex, chunks: int, make: Make) -> dict[str, float]:
    """Add documents until there are `chunks` chunks, and update the index."""
    there = store.number_of_chunks()
    documents = range(there // OF_A_DOCUMENT, chunks // OF_A_DOCUMENT)
    putting = 0.0
    for number in documents:
        put = document(number, make)
        started = time.perf_counter()
        put(store)
        putting += time.perf_counter() - started
    started = clock()
    index.refresh()
    index.save()
    indexing = clock() - started
    return {"put, chunks a second": (chunks - there) / putting, "indexed, seconds": indexing}


def document(number: int, make: Make) -> Callable[[Store], None]:
    """Return a function that adds a document."""
    made = [make() for _ in range(OF_A_DOCUMENT)]
    text, chunks = "", []
    for piece, _ in made:
        chunks.append(Chunk(None, len(text), len(text) + len(piece), piece))
        text += piece + "\n\n"

    def put(store: Store) -> None:
        store.put(
            f"folder {number // 1000}/{number}.md", sha256=str(number), media_type="text/markdown", pages=None,
            text=text, chunks=chunks, vectors=np.stack([vector for _, vector in made]), title=f"Number {number}",
        )  # fmt: skip

    return put


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] * 1000


def timed(clock: Clock, do: Callable[[Any], object], each: Sequence[Any]) -> float:
    """Return the 95th percentile of the milliseconds of calling `do` with each item."""
    return p95(times_of(clock, do, each))


def times_of(clock: Clock, do: Callable[[Any], object], each: Sequence[Any]) -> list[float]:
    """Return the seconds of calling `do` with each item."""
    times = []
    for one in each:
        started = clock()
        do(one)
        times.append(clock() - started)
    return times


def memory(kind: str = "RssAnon") -> float:
    """Return this process's memory in MiB; kind RssFile is the part of mapped files that is in memory."""
    status = Path("/proc/self/status").read_text("ascii")
    return float(status.partition(f"{kind}:")[2].split()[0]) / 1024


def look(folder: Path, clock: Clock, engines: EngineChoice) -> dict[str, float]:
    """Measure searches in a process that has just started."""
    asked = json.loads((folder.parent / "questions.json").read_text("utf-8"))
    vectors = np.load(folder.parent / "questions.npy")
    before, mapped, started = memory(), memory("RssFile"), clock()
    store = DocumentStore(Database(folder / "localcrag.db"), NAME, embedder="scale", dimension=vectors.shape[1])
    index = ChunkIndex(store, folder, engines=engines)
    opened = clock() - started
    index.nearest(vectors[0], NEAREST)
    figures = {"opened": opened, "first search, from the start": clock() - started}
    figures["memory, MiB"] = memory() - before
    times = times_of(clock, lambda vector: index.nearest(vector, NEAREST), vectors)
    figures["nearest, p50 ms"], figures["nearest, p95 ms"] = statistics.median(times) * 1000, p95(times)
    figures["by words, p95 ms"] = timed(clock, lambda question: store.full_text(question, BY_WORDS), asked)
    words = [word for question in asked for word in content_words(question)][:QUESTIONS]
    figures["documents with a word, p95 ms"] = timed(clock, store.documents_containing, words)
    started = clock()
    listed = store.documents()
    figures["list of documents"] = clock() - started
    documents = [one.id for one in listed]
    del listed
    for share in (0.01, 0.5):
        some = random.Random(2).sample(documents, max(1, int(len(documents) * share)))
        pairs = list(zip(vectors, asked, strict=True))[: QUESTIONS // 2]
        figures |= restricted(clock, store, index, some, pairs, where=f"in {share:.0%} of the documents, p95 ms")
    figures["memory after all searches, MiB"] = memory() - before
    figures["and of mapped files, MiB"] = memory("RssFile") - mapped
    figures["recall of the 10 nearest"] = recall(store, index, vectors[:100])
    return figures


def restricted(
    clock: Clock,
    store: DocumentStore,
    index: ChunkIndex,
    some: list[int],
    asked: list[tuple[Vectors, str]],
    *,
    where: str,
) -> dict[str, float]:
    """Return the milliseconds of searches that are restricted to some documents."""
    return {
        f"nearest {where}": timed(clock, lambda one: index.nearest(one[0], NEAREST, some), asked),
        f"by words {where}": timed(clock, lambda one: store.full_text(one[1], BY_WORDS, some), asked),
    }


def recall(store: Store, index: Index, vectors: Vectors) -> float:
    """Return the share of the true ten nearest vectors that the index finds, by comparing with every vector."""
    ids = store.chunk_ids()
    best: list[list[tuple[float, int]]] = [[] for _ in vectors]
    for at in range(0, len(ids), 10_000):
        some = store.vectors(ids[at : at + 10_000])
        cosines = vectors @ np.stack(list(some.values())).T
        for row, known in zip(cosines, best, strict=True):
            top = np.argpartition(-row, 10)[:10]
            names = list(some)
            known[:] = sorted([*known, *((float(row[place]), names[place]) for place in top)], reverse=True)[:10]
    found = 0
    for vector, known in zip(vectors, best, strict=True):
        found += len({one for one, _ in index.nearest(vector, NEAREST)[:10]} & {one for _, one in known})
    return found / (10 * len(vectors))


def changed(clock: Clock, store: DocumentStore, index: ChunkIndex, make: Make) -> dict[str, float]:
    """Return the seconds until a changed document is found, and until a deleted one is no longer found."""
    put = document(1, make)
    started = clock()
    put(store)
    index.refresh()
    replaced = clock() - started
    last = store.documents()[-1].name
    started = clock()
    store.delete(last)
    index.refresh()
    return {"a changed document is searched": replaced, "a deleted one no more": clock() - started}


def prepared(corpus: Path, folder: Path) -> tuple[Base, dict[str, float]]:
    """Return the chunks that all others are made from, and the speed of adding them; write the questions to a file."""
    if not (folder / "base.json").exists():
        base, figures = embedded(corpus, folder)
        asked = questions(base, random.Random(1))
        assembly = Assembly(load(data_dir=folder / "base"))
        np.save(folder / "questions.npy", assembly.models.embedder.embed_questions(asked))
        assembly.close()
        (folder / "questions.json").write_text(json.dumps(asked), "utf-8")
        np.save(folder / "base.npy", np.stack([vector for _, vector in base]))
        (folder / "base.json").write_text(json.dumps([figures, [text for text, _ in base]]), "utf-8")
    figures, texts = json.loads((folder / "base.json").read_text("utf-8"))
    return list(zip(texts, np.load(folder / "base.npy"), strict=True)), figures


def measure(
    corpus: Path,
    sizes: Sequence[int],
    folder: Path,
    clock: Clock = time.perf_counter,
    engine: IndexEngine = IndexEngine.AUTO,
) -> Iterator[dict[str, float]]:
    """Yield the figures of each size."""
    base, figures = prepared(corpus, folder)
    yield figures
    allow_all_programs("searches are measured in a process of their own")
    before: Path | None = None
    for size in sorted(sizes):
        place, chosen, noise = folder / str(size), random.Random(size), np.random.default_rng(size)
        make = partial(recombined, base, chosen, noise)
        if not (place / BUILT).exists():
            shutil.rmtree(place, ignore_errors=True)
            if before:
                shutil.copytree(before, place)
            else:
                place.mkdir()
            store, index = opened(place, base, engine)
            (place / BUILT).write_text(json.dumps(grow(clock, store, index, size, make)), "utf-8")
            store.close()
        store, index = opened(place, base, engine)
        figures = {"chunks": float(size), **json.loads((place / BUILT).read_text("utf-8"))}
        figures |= changed(clock, store, index, make)
        index.save()
        store.close()
        figures["database, MiB"] = sum(path.stat().st_size for path in place.glob("localcrag.db*")) / 2**20
        figures["index, MiB"] = sum(path.stat().st_size for path in place.glob("collection-*")) / 2**20
        child = [sys.executable, __file__, str(corpus), "--look", str(place), "--engine", engine]
        child += ["--processor"] if clock is time.process_time else []
        figures |= json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
        yield figures
        before = place


def opened(place: Path, base: Base, engine: IndexEngine) -> tuple[OpenStore, ChunkIndex]:
    """Return the collection at `place`, creating it if there is none."""
    store = OpenStore(Database(place / "localcrag.db"), NAME, embedder="scale", dimension=len(base[0][1]))
    return store, ChunkIndex(store, place, engines=EngineChoice(engine))


class OpenStore(DocumentStore):
    """A store whose database can be closed."""

    def close(self) -> None:
        self._database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="where it is built, and stays (default: a temporary one)")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--plot", type=Path, help="an SVG file for a plot of the growth")
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    engines = [*IndexEngine]
    parser.add_argument("--engine", type=IndexEngine, choices=engines, default=IndexEngine.AUTO, help="as index_engine")
    parser.add_argument("--processor", action="store_true", help="the processor's time, not the clock's")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.processor else time.perf_counter
    if arguments.look:
        print(json.dumps(look(arguments.look, clock, EngineChoice(arguments.engine))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        every = []
        for figures in measure(arguments.corpus, arguments.chunks, folder, clock, arguments.engine):
            every.append(figures)
            for name, value in figures.items():
                print(f"{name:<48} {value:14,.3f}")
            print(flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(every, indent=2), "utf-8")
    if arguments.plot:
        draw(every[1:], arguments.plot)


if __name__ == "__main__":
    main()
