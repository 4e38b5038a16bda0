"""Read every file in a folder as `localcrag ingest` would, and count the results by kind.

    .venv/bin/python scripts/lab/measuring/measure_readers.py FOLDER [--refused] [--each] [--slowest NUMBER]
        [--patience SECONDS]

“Read” counts files with text, “scans” pages that wait for text recognition, and “refused” files with a reason; with
--refused, all of these are printed. “Faults” are unexpected errors of the readers, and files without any result: it
must be 0. Files are read in reader processes one after the other, including files inside other files. If the folder has
a CATALOG.jsonl (`file`, and `chars`, the length that another program found), the length of PDFs' text is compared.

Seconds are for a file without the files inside it: the mean, the slowest, and per page for files with several pages.
--each prints every file before it is read, followed by its seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from localcrag.documents.prepare import DEEPEST, UnpackLimits
from localcrag.documents.readers.process import PATIENCE, ReaderProcesses
from localcrag.records.documents import ARCHIVE
from localcrag.records.errors import DocumentError, UnreadableDocument, UnsupportedDocument
from localcrag.records.ingest import Upload

COLUMNS = ("files", "read", "scans", "pages of scans", "not a kind that is read", "refused", "faults")
SECONDS = ("s a file", "slowest", "s a page")
FAULT = "a fault of localcrag"


@dataclass(frozen=True)
class Looked:
    """The result of a file: why it was refused, or its characters, pages and pages without text; and its seconds."""

    name: str
    seconds: float
    refused: str | None = None
    supported: bool = True
    letters: int = 0
    pages: int = 0
    scans: int = 0

    @property
    def kind(self) -> str:
        return Path(self.name).suffix.lower() or "no ending"

    @property
    def column(self) -> str:
        """Return the column of the table that counts it; scans also have their own columns."""
        if self.refused and FAULT not in self.refused:
            return "refused" if self.supported else "not a kind that is read"
        return "read" if self.letters else "faults" if self.refused or not self.scans else "scans"


class Looking:
    """Reads files and keeps each result; the app's own rules limit the number and depth of files inside a file."""

    def __init__(self, patience: float) -> None:
        self.readers = ReaderProcesses(patience)
        self.looked: list[Looked] = []

    def look(self, upload: Upload, room: UnpackLimits, depth: int = 0) -> None:
        """Read a file and the files inside it, and keep the results."""
        start = time.perf_counter()
        try:
            document = self.readers.open_document(upload.path, upload.name)
            pages = list(document.pages)
            took = time.perf_counter() - start
            if document.media_type != ARCHIVE:
                letters = sum(len("".join(page.text.split())) for page in pages)
                scans = sum(page.unread for page in pages)
                self.looked.append(Looked(upload.name, took, letters=letters, pages=len(pages), scans=scans))
            with closing(document.members) as members, tempfile.TemporaryDirectory() as folder:
                for member in members:
                    if depth == DEEPEST:
                        raise UnreadableDocument(f"{upload.name} lies within {DEEPEST} other files.")
                    if member.error:
                        self.looked.append(Looked(f"{upload.name}/{member.name}", 0.0, member.error))
                        continue
                    room.subtract(member, upload.name)
                    path = Path(folder, "member")
                    path.write_bytes(member.data)
                    self.look(Upload(path, f"{upload.name}/{member.name}"), room, depth + 1)
        except DocumentError as error:
            supported = not isinstance(error, UnsupportedDocument)
            self.looked.append(Looked(upload.name, time.perf_counter() - start, str(error), supported=supported))


def catalogue_of(folder: Path) -> dict[str, int]:
    """Return the characters of files as counted by another program, by file."""
    catalogue = folder / "CATALOG.jsonl"
    rows = map(json.loads, catalogue.read_text("utf-8").splitlines() if catalogue.exists() else ())
    return {row["file"]: row["chars"] for row in rows if row.get("chars")}


def looked_through(given: argparse.Namespace, looking: Looking) -> Iterator[tuple[Path, list[Looked]]]:
    """Yield each file in the folder with the results of it and the files inside it; print what the options select."""
    for path in sorted(one for one in given.folder.rglob("*") if one.is_file() and one.name != "CATALOG.jsonl"):
        if given.each:
            print(f"{path.relative_to(given.folder)} …", end=" ", file=sys.stderr, flush=True)
        before = len(looking.looked)
        looking.look(Upload(path, path.name), UnpackLimits())
        looked = looking.looked[before:]
        if given.each:
            print(f"{sum(one.seconds for one in looked):.2f} s", file=sys.stderr, flush=True)
        for one in looked:
            if one.refused and (given.refused or FAULT in one.refused):
                print(one.refused, file=sys.stderr, flush=True)
        yield path, looked


def row_of(name: str, files: list[Looked]) -> str:
    """Return a row of the table: the results of the files, and their seconds."""
    counts = Counter({"files": len(files), "pages of scans": sum(one.scans for one in files)})
    for one in files:
        counts[one.column] += 1
        counts["scans"] += one.scans > 0 and one.column == "read"
    seconds = [one.seconds for one in files]
    of_pages = [one for one in files if one.pages > 1]
    a_page = sum(one.seconds for one in of_pages) / max(1, sum(one.pages for one in of_pages))
    times = (f"{sum(seconds) / len(seconds):.2f}", f"{max(seconds):.1f}", f"{a_page:.3f}" if of_pages else "")
    return f"| {' | '.join([name, *(str(counts[column]) for column in COLUMNS), *times])} |"


def main() -> None:
    """Read the folder and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--refused", action="store_true", help="print every sentence")
    parser.add_argument("--each", action="store_true", help="print every file and its seconds")
    parser.add_argument("--slowest", type=int, default=5, help="how many of the slowest files are named")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds in which there has to be an answer")
    given = parser.parse_args()
    known, looking, start = catalogue_of(given.folder), Looking(given.patience), time.perf_counter()
    shares = []
    for path, looked in looked_through(given, looking):
        said = known.get(str(path.relative_to(given.folder)))
        if said and not looked[-1].refused and not looked[-1].scans:
            shares.append((looked[-1].letters / said, looked[-1].name))
    looking.readers.close()
    of_all = looking.looked
    kinds = Counter(one.kind for one in of_all)
    print(f"| kind | {' | '.join((*COLUMNS, *SECONDS))} |\n| --- |{' --: |' * len((*COLUMNS, *SECONDS))}")
    for kind, _ in kinds.most_common():
        print(row_of(kind, [one for one in of_all if one.kind == kind]))
    print(row_of("all", of_all))
    print(f"\n{time.perf_counter() - start:.0f} s; the slowest:")
    for one in sorted(of_all, key=lambda one: -one.seconds)[: given.slowest]:
        print(f"  {one.seconds:5.1f} s  {one.name}")
    if shares:
        shares.sort()
        print(f"Letters to those of the catalogue, median of {len(shares)} files: {shares[len(shares) // 2][0]:.2f}")
        print("  least: " + ", ".join(f"{name} {share:.2f}" for share, name in shares[: given.slowest]))


if __name__ == "__main__":
    main()
