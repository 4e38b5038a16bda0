"""Files of JSON lines, compressed, as the data sets are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path
