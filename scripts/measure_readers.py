"""Read every file of a folder as `localcrag ingest` would, and count by kind what becomes of them.

    .venv/bin/python scripts/measure_readers.py FOLDER [--refused]

Read: text came of it. Scans: pages that wait for text recognition. Refused: with a sentence that says why; with
--refused all of these are printed. Faults are errors of the readers' own, and files of which nothing was said: 0 is the
only right number. Files are read in reader processes, one after the other, those within others too. Where the folder
has a CATALOG.jsonl (`file`, and `chars` as another program counted them), the length of PDFs' text is compared with it.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localcrag.backends.readers.reader_process import ReaderProcesses  # noqa: E402
from localcrag.records.documents import ARCHIVE  # noqa: E402
from localcrag.records.errors import DocumentError, UnsupportedDocument  # noqa: E402

COLUMNS = ("files", "read", "scans", "pages of scans", "not a kind that is read", "refused", "faults")
FAULT = "a fault of localcrag"


def look(readers: ReaderProcesses, path: Path, name: str) -> Iterator[tuple[str, str | None, int, int]]:
    """Yield for a file, and each within it: its name, why it was refused, its letters, and its pages of scans."""
    try:
        document = readers.open_document(path, name)
        pages = list(document.pages)
        if document.media_type != ARCHIVE:
            yield name, None, sum(len(page.text) for page in pages), sum(page.unread for page in pages)
        with closing(document.members) as members, tempfile.TemporaryDirectory() as folder:
            for number, member in enumerate(members):
                within = f"{name}/{member.name}"
                if member.error:
                    yield within, member.error, 0, 0
                    continue
                place = Path(folder) / str(number)
                place.write_bytes(member.data)
                yield from look(readers, place, within)
    except DocumentError as error:
        kind = "unsupported: " if isinstance(error, UnsupportedDocument) else ""
        yield name, kind + str(error), 0, 0


def main() -> None:
    """Read the folder and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--refused", action="store_true", help="print every sentence")
    given = parser.parse_args()
    catalogue = given.folder / "CATALOG.jsonl"
    known = {}
    if catalogue.exists():
        rows = map(json.loads, catalogue.read_text("utf-8").splitlines())
        known = {row["file"]: row["chars"] for row in rows if row.get("chars")}
    counts: dict[str, Counter[str]] = {}
    shares, readers, start = [], ReaderProcesses(), time.perf_counter()
    for path in sorted(one for one in given.folder.rglob("*") if one.is_file() and one != catalogue):
        for name, refused, letters, scans in look(readers, path, path.name):
            of_kind = counts.setdefault(Path(name).suffix.lower() or "no ending", Counter())
            of_kind["files"] += 1
            if refused is None:
                of_kind["read"] += letters > 0
                of_kind["scans"] += scans > 0
                of_kind["pages of scans"] += scans
                of_kind["faults"] += not letters and not scans
            elif FAULT in refused:
                of_kind["faults"] += 1
            else:
                of_kind[COLUMNS[4] if refused.startswith("unsupported: ") else "refused"] += 1
            if refused and (given.refused or FAULT in refused):
                print(refused, file=sys.stderr)
        said = known.get(str(path.relative_to(given.folder)))
        if said and refused is None and not scans:
            shares.append(letters / said)
    readers.close()
    print(f"| kind | {' | '.join(COLUMNS)} |\n| --- |{' --: |' * len(COLUMNS)}")
    for kind, of_kind in sorted(counts.items(), key=lambda item: -item[1]["files"]):
        print(f"| {kind} | {' | '.join(str(of_kind[column]) for column in COLUMNS)} |")
    total = sum(counts.values(), Counter())
    print(f"| all | {' | '.join(str(total[column]) for column in COLUMNS)} |")
    print(f"\n{time.perf_counter() - start:.0f} s")
    if shares:
        print(
            f"Letters to those of the catalogue, median of {len(shares)} files: {sorted(shares)[len(shares) // 2]:.2f}"
        )


if __name__ == "__main__":
    main()
