"""Measure the search by words in other languages: the right passage found by words, and by stems.

    .venv/bin/python scripts/measure_word_search.py FILE … [--most 200]

A FILE has a question a line: `lang`, `question`, `passage` that answers it; or, English, a `passage` a line with its
`questions`. Of each language, up to --most questions are put to all its passages. Printed are the shares whose passage
is the first by BM25, and among the first ten: by words as SQLite stems them (English), and by stems of the language.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from relevance.data import read_lines

from localcrag.backends.store.database import Database
from localcrag.backends.store.document_store import DocumentStore
from localcrag.records.documents import Chunk

FIRST = 10


def asked(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield language, question and passage of each question that has an answer."""
    for raw in read_lines(path):
        if "lang" in raw:
            yield raw["lang"], raw["question"], raw["passage"]
        else:
            answered = [one["question"] for one in raw["questions"] if one["answerable"]]
            yield from (("en", question, raw["passage"]) for question in answered)


def shares(store: DocumentStore, rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return the shares of the questions whose passage is the first, and among the first ten."""
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
            store.put(
                f"{number}.txt", sha256=str(number), media_type="text/plain", pages=None, text=text, dated=None,
                chunks=[Chunk(None, 0, len(text), text)], vectors=np.zeros((1, 1), np.float32), title="-",
            )  # fmt: skip
        some = random.Random(1).sample(rows, min(most, len(rows)))
        by_stems = shares(store, some)
        with database.transaction() as connection:
            connection.execute("UPDATE document_languages SET stemmed = 0")
        by_words = shares(store, some)
        passages = store.number_of_documents()
        database.close()
    return "| " + " | ".join([language, str(len(some)), str(passages), *by_words, *by_stems]) + " |"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=200, help="questions of a language")
    arguments = parser.parse_args(given)
    of_language: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in arguments.files:
        for language, question, passage in asked(path):
            of_language[language].append((question, passage))
    columns = ["language", "questions", "passages", "first", "in ten", "first, by stems", "in ten, by stems"]
    print("| " + " | ".join(columns) + " |\n" + "| --- " * len(columns) + "|")
    for language, rows in sorted(of_language.items()):
        print(measured(language, rows, arguments.most), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
