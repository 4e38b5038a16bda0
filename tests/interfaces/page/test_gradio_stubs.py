"""The page's import of Gradio: without the stub files that Gradio makes for editors."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

IMPORTED = """
import sys
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
from localcrag.interfaces.page import gradio_stubs
gradio_stubs.disable_stubs()
import localcrag.interfaces.page.page
import gradio as gr
print(callable(gr.Textbox.change))
print("gradio.component_meta" in sys.modules)
print([name for name in opened if name.endswith(".pyi")])
"""


def test_no_stub_file_is_read_or_written_and_components_have_their_events() -> None:
    process = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    assert process.stdout.splitlines() == ["True", "True", "[]"], process.stderr
