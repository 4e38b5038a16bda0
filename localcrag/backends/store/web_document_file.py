"""A web document as a temporary file, while it is added to a collection."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localcrag.records.errors import StoreError
from localcrag.steps.ingest.web_document import WebDocument


@contextmanager
def as_file(document: WebDocument, data_dir: Path) -> Iterator[Path]:
    """Yield the path of a file with the document's text; it is gone afterwards. Raises StoreError."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=".web-", dir=data_dir, ignore_cleanup_errors=True)
        path = Path(folder.name) / "page.md"
        path.write_bytes(document.text.encode())
    except OSError as error:
        raise StoreError(
            f"The web text could not be written to {data_dir}: {error.strerror or error}. Check that the disk has room."
        ) from error
    with folder:
        yield path
