"""The page's import of Gradio: without the stub files that Gradio makes for editors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

IMPORTED = """
import sys
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
from pathlib import Path
from localcrag.interfaces.cli.start import prepare_gradio
from localcrag.settings import load
prepare_gradio(load(data_dir=Path(sys.argv[1])))
import localcrag.interfaces.page.page
import gradio as gr
print(callable(gr.Textbox.change))
print("gradio.component_meta" in sys.modules)
print([name for name in opened if name.endswith(".pyi")])
"""


def test_no_stub_file_is_read_or_written_and_components_have_their_events(tmp_path: Path) -> None:
    command = [sys.executable, "-c", IMPORTED, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.stdout.splitlines() == ["True", "True", "[]"], process.stderr
