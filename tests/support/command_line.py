"""The command line as a process of its own, and its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def localcrag(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "localcrag", *arguments],
        capture_output=True, text=True, env={**os.environ, "LOCALCRAG_DATA_DIR": str(data), **environment}, check=False,
    )  # fmt: skip


def as_json(process: subprocess.CompletedProcess[str], status: int = 0) -> Any:
    assert process.returncode == status, process.stderr
    return json.loads(process.stdout)
