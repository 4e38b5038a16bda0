"""A bundle on a computer without a network: it is installed, asked, and its page opened; prints what was seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.support import ROOT
from tests.support.app_process import free_port
from tests.support.cut_off import Cable

REFUSALS = "LOCALCRAG_REFUSALS_FILE"
"""As in privacy/egress_log.py. Nothing of localcrag is imported here: its guard would let no program start."""
SAMPLES = ROOT / "localcrag" / "app" / "samples" / "documents"
ASK = """
import json, sys
from localcrag import Localcrag
from localcrag.settings import REPOSITORY_MODELS, load
with Localcrag() as app:
    app.add(sys.argv[1])
    run = app.ask("How many litres does the tank of the KX-30 hold?")
models = {"ours": str(REPOSITORY_MODELS), "others": str(load().models_dir)}
print(json.dumps({"answer": run.answer, "action": run.action, "models": models}))
"""


def main(cable: Cable, bundle: str, folder: str) -> None:
    """Install the bundle in `folder`, and use it."""
    place = Path(folder) / "installed"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "LOCALCRAG_"))}
    # What is refused is told to the test that started this.
    kept |= {name: value for name, value in os.environ.items() if name == REFUSALS}
    environment = {**kept, "HOME": folder, "XDG_DATA_HOME": folder}
    install = [sys.executable, f"{bundle}/install.py", "--to", str(place)]

    def said(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    said(*install, "--no-start")
    asked = json.loads(said(str(place / "bin" / "python"), "-c", ASK, str(SAMPLES / "bruma-kx30-quick-guide.md")))
    port = free_port()
    start = [*install, "--", "--no-browser", "--port", str(port)]
    page = subprocess.Popen(start, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert page.stderr
    opened = next((line for line in page.stderr if "localcrag is at" in line), "")
    with urlopen(f"http://127.0.0.1:{port}/") as response:
        html = response.read().decode()
    page.terminate()
    page.wait()
    print(json.dumps({**asked, "opened": opened, "page": html, "packets": cable.packets()}))
