"""What the training scripts learn from in tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lighthouses import write_training_data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Passages about lighthouses that do not exist; one question each on builder and year."""
    return write_training_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep scripts that name no data folder away from the one of the user who runs the tests."""
    monkeypatch.setenv("LOCALCRAG_DATA_DIR", str(tmp_path_factory.mktemp("data-folder")))
