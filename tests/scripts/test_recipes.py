"""The Python of docs/guide/other-programs.md runs: the package, LangChain, and LlamaIndex in a venv of its own.

llama-index-core brings some thirty packages that nothing else here needs, so that it is in no lock: its recipe runs
where it was installed beside this environment's packages, for this test alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.fixtures_handbook import WARRANTY

pytestmark = pytest.mark.process

BASE, LANGCHAIN, LLAMA_INDEX = re.findall(
    r"^```python\n(.*?)^```",
    (ROOT / "docs" / "guide" / "other-programs.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.usefixtures("beside_the_handbook")
def test_the_package_answers_and_langchain_retrieves(capsys: pytest.CaptureFixture[str]) -> None:
    made: dict[str, Any] = {}
    exec(compile(BASE + LANGCHAIN, "other-programs.md", "exec"), made)  # noqa: S102 - what the page tells people to run
    made["app"].close()
    assert WARRANTY in capsys.readouterr().out
    (document,) = made["documents"]
    assert WARRANTY in document.page_content
    assert (document.metadata["source"], document.metadata["page"]) == ("handbook.pdf", 1)
    assert document.metadata["relevance"] > 0.5


def test_llama_index_retrieves(beside_the_handbook: Path) -> None:
    environment = beside_the_handbook / "venv"
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    # What this environment has is seen there as well, and is not installed once more.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "beside.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "llama-index-core>=0.14,<0.15"]
    subprocess.run(pip, check=True)
    said = "app.close()\nprint(nodes[0].score, nodes[0].metadata['source'], nodes[0].text)"
    done = subprocess.run(
        [str(python), "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{BASE}{LLAMA_INDEX}\n{said}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    score, source, text = done.stdout.strip().splitlines()[-1].split(" ", 2)
    assert float(score) > 0.5
    assert source == "handbook.pdf"
    assert WARRANTY in text
