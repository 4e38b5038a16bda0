"""How long files that are added may still take."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.records.ingest import FileProgress, TimeEstimate, Upload


def test_less_and_less_is_left_from_the_first_page_read_to_the_last_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("localcrag.records.ingest.time.perf_counter", lambda: now[0])
    uploads = []
    for name, size in (("first.txt", 1_000), ("second.txt", 100_000)):
        (tmp_path / name).write_bytes(bytes(size))
        uploads.append(Upload(tmp_path / name, name))
    pace = TimeEstimate(uploads)
    pace.finished(uploads[0])
    now[0] = 1.0
    progress = FileProgress(uploads[1], 2, pace)
    phases = [("reading", 1), ("reading", 9), ("cutting", 1), ("cutting", 9), ("embedding", 1), ("embedding", 9)]
    left = [progress.at(phase, done, 10).seconds_left or 0 for phase, done in phases]
    assert left == sorted(left, reverse=True)
