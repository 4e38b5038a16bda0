"""Measure full-text search in other languages: how often words and stems find the right passage.

    .venv/bin/python scripts/lab/measuring/measure_word_search.py FILE … [--most 200] [--among CORPUS]

Each line of a FILE has a question (`lang`, `question`, and the `passage` that answers it) or, in English, a `passage`
with its `questions`. For each language, up to --most questions are asked over all passages of that language. The script
prints how often BM25 ranks the passage first, and among the first ten: with words as SQLite stems them (English), and
with stems of the language.

With --among, English questions are asked over a large collection: the passages, and the paragraphs of a corpus (lines
with a `text`). The script prints the same figures and the CPU milliseconds per question for several values of
MOST_SCORED.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from localcrag.records.documents import Chunk
from localcrag.storage.collections import full_text
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.data import read_lines

FIRST = 10
PARAGRAPH = 700
"""Characters of a paragraph."""


def asked(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield language, question and passage of each question that has an answer."""
    for raw in read_lines(path):
        if "lang" in raw:
            yield raw["lang"], raw["question"], raw["passage"]
        else:
            answered = [one["question"] for one in raw["questions"] if one["answerable"]]
            yield from (("en", question, raw["passage"]) for question in answered)


def shares(store: DocumentStore, rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return the shares of the questions whose passage is first, and among the first ten."""
    texts = {identifier: chunk.text for identifier, (_, chunk) in store.chunks(store.chunk_ids()).items()}
    found = [[texts[one] for one in store.full_text(question, FIRST)] for question, _ in rows]
    hits = [([passage in some[:1], passage in some]) for some, (_, passage) in zip(found, rows, strict=True)]
    return [f"{share:.2f}" for share in np.mean(hits, axis=0)]


def measured(language: str, rows: Sequence[tuple[str, str]], most: int) -> str:
    """Return a language's line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "words.sqlite3")
        store = DocumentStore(database, language, embedder="none", dimension=1)
        for number, text in enumerate(dict.fromkeys(passage for _, passage in rows)):
            put(store, f"{number}.txt", [text])
        some = random.Random(1).sample(rows, min(most, len(rows)))
        by_stems = shares(store, some)
        with database.transaction() as connection:
            connection.execute("UPDATE document_languages SET stemmed = 0")
        by_words = shares(store, some)
        passages = store.number_of_documents()
        database.close()
    return "| " + " | ".join([language, str(len(some)), str(passages), *by_words, *by_stems]) + " |"


def large_collection(rows: Sequence[tuple[str, str]], corpus: Path, most: int) -> Iterator[str]:
    """Yield the table of a large collection."""
    columns = ["scored at most", "first", "in ten", "milliseconds"]
    yield "| " + " | ".join(columns) + " |\n" + "| --- " * len(columns) + "|"
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "words.sqlite3")
        store = DocumentStore(database, "en", embedder="none", dimension=1)
        put(store, "passages", list(dict.fromkeys(passage for _, passage in rows)))
        for number, article in enumerate(read_lines(corpus)):
            put(store, f"article {number}", list(paragraphs(article["text"])))
        some, usual = random.Random(1).sample(rows, min(most, len(rows))), full_text.MOST_SCORED
        for limit in (10**9, 2 * usual, usual, usual // 2):
            full_text.MOST_SCORED = limit
            started = time.process_time()
            found = shares(store, some)
            spent = (time.process_time() - started) / len(some) * 1000
            yield "| " + " | ".join([f"{limit:,}" if limit < 10**9 else "all", *found, f"{spent:.0f}"]) + " |"
        yield f"{len(some)} questions, {store.number_of_chunks():,} paragraphs"
        database.close()


def put(store: DocumentStore, name: str, texts: Sequence[str]) -> None:
    """Add a document with one chunk for each text."""
    if texts:
        store.put(
            name, sha256=name, media_type="text/plain", pages=None, text="\n".join(texts), title="-",
            chunks=[Chunk(None, 0, len(text), text) for text in texts], vectors=np.zeros((len(texts), 1), np.float32),
        )  # fmt: skip


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a text, joined to the length of a passage."""
    some = ""
    for line in text.split("\n"):
        some += f"{line} "
        if len(some) > PARAGRAPH:
            yield some
            some = ""
    if some.strip():
        yield some


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=200, help="questions of a language")
    parser.add_argument("--among", type=Path, metavar="CORPUS", help="in a large collection, English alone")
    arguments = parser.parse_args(given)
    of_language: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in arguments.files:
        for language, question, passage in asked(path):
            of_language[language].append((question, passage))
    if arguments.among:
        for line in large_collection(of_language["en"], arguments.among, arguments.most):
            print(line, flush=True)
        return
    columns = ["language", "questions", "passages", "first", "in ten", "first, by stems", "in ten, by stems"]
    print("| " + " | ".join(columns) + " |\n" + "| --- " * len(columns) + "|")
    for language, rows in sorted(of_language.items()):
        print(measured(language, rows, arguments.most), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
