"""Attempts to leave, taken down for one test alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.privacy import egress_log


@pytest.fixture
def egress_folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder that attempts of this process, and of those that it starts, are written to."""
    egress_log.forget(tmp_path)
    egress_log.log_to_folder(tmp_path)
    yield tmp_path
    egress_log.forget(tmp_path)
    egress_log.log_to_folder(None)
