"""Print the costs of a growing collection in PostgreSQL: seconds, recall and disk.

    .venv/bin/python scripts/lab/scale/bench_postgres.py CORPUS ADDRESS [--chunks 10000 100000]

CORPUS and its chunks are those of bench_scale.py. ADDRESS is a database without tables of localcrag, such as
postgresql://NAME@/scale?host=/var/run/postgresql. Most documents are added without the index graph, which is then built
for all at once, as when a collection is moved there. Some are added afterwards with it, as when a user adds documents.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from localcrag.app.assembly import Assembly
from localcrag.records.protocols import Vectors
from localcrag.settings import load
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.address import parse_postgres
from localcrag.storage.postgres.connection import PostgresDatabase
from localcrag.storage.postgres.search import PgVectorIndex, PostgresStore
from localcrag.text.words import content_words

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.scale.bench_scale import (
    BY_WORDS,
    NEAREST,
    OF_A_DOCUMENT,
    Make,
    document,
    embedded,
    questions,
    recall,
    recombined,
    timed,
)

ADDED = 20
"""Documents that are added with the index graph."""
TABLES = ("chunks_{}", "chunks_{}_nearest", "chunks_{}_search_idx", "documents", "term_counts")


def put(store: PostgresStore, numbers: Sequence[int], make: Make) -> float:
    """Add documents, and return the chunks added per second."""
    seconds = 0.0
    for number in numbers:
        one = document(number, make)
        started = time.perf_counter()
        one(store)
        seconds += time.perf_counter() - started
    return len(numbers) * OF_A_DOCUMENT / seconds if seconds else 0.0


def searched(store: PostgresStore, asked: Sequence[str], vectors: Vectors) -> dict[str, float]:
    """Measure searches, without the first of each kind, for which the server reads from disk."""
    index, each = PgVectorIndex(store), list(vectors)
    words = [word for question in asked for word in content_words(question)][: len(asked)]
    documents = [one.id for one in store.documents()]
    figures = {}
    for share in (None, 0.01, 0.5):
        some = share and random.Random(2).sample(documents, max(1, int(len(documents) * share)))
        where = f" in {share:.0%} of the documents" if share else ""
        times = len(asked) // 10 if share else len(asked)
        nearest = functools.partial(index.nearest, k=NEAREST, within=some or None)
        by_words = functools.partial(store.full_text, k=BY_WORDS, within=some or None)
        nearest(each[0])
        by_words(asked[0])
        figures[f"nearest{where}, p95 ms"] = timed(time.perf_counter, nearest, each[:times])
        figures[f"by words{where}, p95 ms"] = timed(time.perf_counter, by_words, asked[:times])
    figures["documents with a word, p95 ms"] = timed(time.perf_counter, store.documents_containing, words)
    figures["recall of the 10 nearest"] = recall(store, index, vectors[:100])
    return figures


def measure(corpus: Path, address: str, sizes: Sequence[int], folder: Path) -> Iterator[dict[str, float]]:
    """Yield the figures of each size."""
    base, _ = embedded(corpus, folder)
    chosen, noise = random.Random(1), np.random.default_rng(1)

    def make() -> tuple[str, Vectors]:
        return recombined(base, chosen, noise)

    asked = questions(base, chosen)
    with closing(Assembly(load(data_dir=folder / "base"))) as assembly:
        vectors = assembly.models.embedder.embed_questions(asked)
    with closing(PostgresDatabase(parse_postgres(address))) as database:
        schema.ensure_schema(database)
        number = schema.begin_arrival(
            database, "scale", embedder="scale", dimension=vectors.shape[1], arriving="bench", created_at="now"
        )
        store = PostgresStore(database, number, "scale", embedder="scale", dimension=vectors.shape[1])
        for size in sizes:
            with database.transaction(number) as session:
                schema.drop_index(session, number)
            there = store.number_of_chunks() // OF_A_DOCUMENT
            speed = put(store, range(there, size // OF_A_DOCUMENT), make)
            figures = {"chunks": float(size), "put, chunks a second": speed}
            started = time.perf_counter()
            schema.create_index(database, number)
            figures["graph made, s"] = time.perf_counter() - started
            figures["put with the graph, chunks a second"] = put(store, range(ADDED), make)
            figures |= searched(store, asked, vectors)
            for table in TABLES:
                name = f"localcrag.{table.format(number)}"
                sql = "SELECT CASE relkind WHEN 'i' THEN pg_relation_size(oid) ELSE pg_table_size(oid) END AS size "
                (row,) = database.rows(f"{sql} FROM pg_class WHERE oid = CAST(:name AS regclass)", name=name)
                figures[f"{table.format('N')}, MiB"] = row["size"] / 2**20
            yield figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("address")
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for figures in measure(arguments.corpus, arguments.address, arguments.chunks, Path(folder)):
            for name, value in figures.items():
                print(f"{name:<48} {value:14,.3f}")
            print(flush=True)


if __name__ == "__main__":
    main()
