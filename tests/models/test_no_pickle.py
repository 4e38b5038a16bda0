"""No model runs code of its own: none is read from a pickled file, and no module is imported from a model's folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from localcrag.app.assembly import Assembly
from localcrag.models.encoders import BiEncoder
from localcrag.models.reranker import CrossEncoder
from localcrag.records.errors import ModelDamaged
from localcrag.records.models import ModelRole
from tests.support.tiny_models import tiny_bert

pytestmark = [pytest.mark.models, pytest.mark.slow]

SESSION = """
import json, sys
from pathlib import Path
found = []
sys.addaudithook(lambda event, about: found.append(about) if event == "pickle.find_class" else None)
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.events import RunFinished
from localcrag.settings import load
assembly = Assembly(load(data_dir=Path(sys.argv[1])))
for _ in assembly.ingest(uploads_from([Path(sys.argv[2])])):
    pass
finished = [event for event in assembly.ask("Who keeps the handbook?") if isinstance(event, RunFinished)]
assembly.close()
print(json.dumps([len(finished), sorted({f"{module}.{name}" for module, name in found})]))
"""


class _Runs:
    """What is read from a pickled file runs this."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


def test_a_session_with_all_models_unpickles_nothing(tmp_path: Path, handbook: Path) -> None:
    command = [sys.executable, "-c", SESSION, str(tmp_path / "data"), str(handbook)]
    answers, unpickled = json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
    assert answers == 1
    assert unpickled == []


@pytest.mark.parametrize("load", [BiEncoder, CrossEncoder])
def test_weights_in_a_pickled_file_are_not_read(
    library: Assembly, tmp_path: Path, load: type[BiEncoder] | type[CrossEncoder]
) -> None:
    folder = tiny_bert(tmp_path / "mine", library.library.path("relevance-v3", ModelRole.RELEVANCE))
    (folder / "model.safetensors").unlink()
    marker = tmp_path / "taken"
    torch.save({"x": _Runs(marker)}, folder / "pytorch_model.bin")
    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        load("mine", folder)
    assert not marker.exists()


@pytest.mark.parametrize("load", [BiEncoder, CrossEncoder])
def test_code_in_a_models_folder_is_not_run(
    library: Assembly, tmp_path: Path, load: type[BiEncoder] | type[CrossEncoder]
) -> None:
    folder = tiny_bert(tmp_path / "mine", library.library.path("relevance-v3", ModelRole.RELEVANCE))
    marker = tmp_path / "taken"
    (folder / "modeling_taken.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).touch()\nclass Taken: pass\n"
    )
    module = {"idx": 0, "name": "0", "path": "", "type": "modeling_taken.Taken"}
    (folder / "modules.json").write_text(json.dumps([module]))
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = dict.fromkeys(("AutoConfig", "AutoModel"), "modeling_taken.Taken")
    config["model_type"] = "taken"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        load("mine", folder)
    assert not marker.exists()
