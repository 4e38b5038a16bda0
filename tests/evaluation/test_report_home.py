"""An evaluation's report is written without anything in the user's home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.process

SCRIPT = """
import sys
from pathlib import Path
from localcrag.evaluation import report
from tests.support.made_evaluations import varied
assert "matplotlib" not in sys.modules
report.write(varied(), Path(sys.argv[1]))
assert "matplotlib.pyplot" not in sys.modules
"""


def test_a_report_leaves_nothing_in_the_users_home(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPL"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path / "report")],
        env=kept | {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "report" / "report.html").is_file()
    assert not list(home.rglob("*"))
    assert not list(temporary.rglob("*"))
