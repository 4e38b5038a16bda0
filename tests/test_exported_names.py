"""The names that `from localcrag import ...` gives, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import localcrag
from localcrag.app.facade import Localcrag
from localcrag.records.errors import LocalcragError


def test_these_names_are_public_and_no_others() -> None:
    assert sorted(localcrag.__all__) == [
        "Action", "AnswerPiece", "Event", "IngestError", "IngestResult", "Localcrag", "LocalcragError", "Preset",
        "Recording", "Restriction", "Run", "Source", "Turn", "__version__", "guard",
    ]  # fmt: skip
    assert dir(localcrag) == sorted(localcrag.__all__)


@pytest.mark.parametrize("name", localcrag.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(localcrag, name) is not None


def test_they_are_what_the_app_itself_works_with() -> None:
    assert (localcrag.Localcrag, localcrag.LocalcragError) == (Localcrag, LocalcragError)


def test_what_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Localcrab'"):
        _ = localcrag.Localcrab


def test_importing_the_front_door_imports_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "llama_cpp", "gradio", "matplotlib", "scipy", "sklearn", "usearch")
    code = f"import sys; from localcrag import Localcrag; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
