"""scripts/lab/measuring/measure_followups.py, really run on conversations of our own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path


def test_the_measuring_script_prints_its_shares(tmp_path: Path) -> None:
    def turns(*texts: str) -> list[dict[str, str]]:
        return [{"speaker": "user" if at % 2 == 0 else "agent", "text": text} for at, text in enumerate(texts)]

    def task(*texts: str, gold: str) -> str:
        return json.dumps({"input": turns(*texts), "contexts": [{"document_id": gold, "text": f"All about {gold}."}]})

    lines = [
        task("Who built the Eiffel Tower?", gold="towers"),
        task("Who built the Eiffel Tower?", "A company.", "When was it built?", gold="towers"),
        task("What do cats eat?", "Mice.", "Do they eat grass?", "Yes.", "Why?", gold="cats"),
    ]
    data = tmp_path / "conversations.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(lines).encode()))
    script = Path(__file__).resolve().parents[2] / "scripts" / "lab" / "measuring" / "measure_followups.py"
    done = subprocess.run(
        [sys.executable, str(script), str(data), "--without-model"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "first questions behind another conversation: 1, taken for follow-ups: 0.000" in done.stdout
    assert "follow-ups with passages: 2, condensed: 1.000" in done.stdout
    assert "condensed (2), 2 passages" in done.stdout
