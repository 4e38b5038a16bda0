"""Embedders and relevance models that cannot be used: an error with the file, never a model that scores at random."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.models.encoders import BiEncoder, unsupported_reason
from localcrag.models.reranker import SPAN_HEAD_FILE, CrossEncoder
from localcrag.models.reranker_format import load_fastest
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelDamaged, ModelError
from localcrag.settings import REPOSITORY_MODELS, load
from tests.support.tiny_models import TOKENIZER, broken_bert, tiny_bert

pytestmark = pytest.mark.contract

Folder = Callable[..., Path]
FORMATS = [
    NumberFormat.AUTO,
    *(one for one in NumberFormat if one is not NumberFormat.AUTO and not unsupported_reason(one)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    def make(source: Path, *missing: str) -> Path:
        """Return a folder with links to the files of `source`, without the `missing` ones."""
        for path in source.rglob("*"):
            name = path.relative_to(source).as_posix()
            if path.is_file() and name not in missing:
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).symlink_to(path)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        pytest.param(("config.json",), "config.json", id="the settings"),
        pytest.param(("model.safetensors",), "model.safetensors", id="the weights"),
        pytest.param(("1_Pooling/config.json",), "1_Pooling/config.json", id="a module's settings"),
        pytest.param(TOKENIZER, "tokenizer.json", id="the tokenizer"),
    ],
)
def test_an_embedder_without_a_file_it_needs_is_damaged(
    embedder_folder: Path, folder: Folder, missing: tuple[str, ...], named: str
) -> None:
    broken = folder(embedder_folder, *missing)
    with pytest.raises(ModelDamaged, match=named) as raised:
        BiEncoder("mine", broken)
    assert str(broken) in str(raised.value)
    assert "`localcrag models get mine`" in str(raised.value)


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        pytest.param(("config.json",), "config.json", id="the settings"),
        pytest.param(("model.safetensors",), "model.safetensors", id="the weights"),
        pytest.param(TOKENIZER, "tokenizer.json", id="the tokenizer"),
    ],
)
def test_a_relevance_model_without_a_file_it_needs_is_damaged(
    relevance_folder: Path, folder: Folder, missing: tuple[str, ...], named: str
) -> None:
    broken = folder(relevance_folder, *missing)
    with pytest.raises(ModelDamaged, match=named) as raised:
        CrossEncoder("mine", broken)
    assert str(broken) in str(raised.value)
    assert "`localcrag models verify mine`" in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "config.json",
        "modules.json",
        "1_Pooling/config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ],
)
def test_an_embedder_with_a_truncated_file_is_damaged_and_the_file_is_named(
    embedder_folder: Path, folder: Folder, name: str
) -> None:
    broken = truncated(folder(embedder_folder), name)
    with pytest.raises(ModelDamaged, match=f"{name} is damaged"):
        BiEncoder("mine", broken)


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "place_head.safetensors",
        "exit_head.safetensors",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ],
)
def test_a_relevance_model_with_a_truncated_file_is_damaged_and_the_file_is_named(
    relevance_folder: Path, folder: Folder, name: str
) -> None:
    broken = truncated(folder(relevance_folder), name)
    with pytest.raises(ModelDamaged, match=f"{name} is damaged"):
        CrossEncoder("mine", broken)


def test_a_place_head_of_another_model_is_damage(tmp_path: Path, relevance_folder: Path) -> None:
    tiny_bert(tmp_path, relevance_folder)
    (tmp_path / SPAN_HEAD_FILE).symlink_to(relevance_folder / SPAN_HEAD_FILE)
    with pytest.raises(ModelDamaged, match=r"place_head\.safetensors is for 384 numbers a token, not for 8"):
        CrossEncoder("mine", tmp_path)


def truncated(folder: Path, name: str) -> Path:
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    (folder / name).write_bytes(content[: min(len(content) // 2, 1_000_000)])
    return folder


def test_an_embedder_is_no_relevance_model(embedder_folder: Path) -> None:
    with pytest.raises(ModelError, match=r"no layer that gives a score.*`localcrag models use NAME`"):
        CrossEncoder("mine", embedder_folder)


def test_a_classifier_with_several_scores_is_no_relevance_model(tmp_path: Path, relevance_folder: Path) -> None:
    with pytest.raises(ModelError, match="3 scores for a text"):
        CrossEncoder("mine", tiny_bert(tmp_path, relevance_folder, num_labels=3))


@pytest.mark.parametrize("number_format", FORMATS)
def test_a_relevance_model_without_its_weights_is_damaged_in_every_format(
    relevance_folder: Path, folder: Folder, tmp_path: Path, number_format: NumberFormat
) -> None:
    broken = folder(relevance_folder, "model.safetensors")
    with pytest.raises(ModelDamaged, match=r"model\.safetensors"):
        load_fastest("mine", broken, wanted=number_format, threads=0, cache=tmp_path / "cache")


@pytest.mark.parametrize("number_format", FORMATS)
def test_a_relevance_model_that_gives_no_numbers_is_an_error_and_no_relevance(
    tmp_path: Path, relevance_folder: Path, number_format: NumberFormat
) -> None:
    scorer = CrossEncoder("mine", broken_bert(tmp_path, relevance_folder), number_format=number_format)
    with pytest.raises(ModelError, match=r"mine returned an invalid score.*`localcrag models verify mine`"):
        scorer.logits("a question", ["a text"])


def test_a_relevance_model_with_a_wrong_checksum_is_not_loaded(tmp_path: Path, relevance_folder: Path) -> None:
    models = tmp_path / "models"
    shutil.copytree(relevance_folder, models / relevance_folder.name, copy_function=os.symlink)
    shutil.copy(REPOSITORY_MODELS / "models.toml", models)
    changed = models / relevance_folder.name / "config.json"
    changed.unlink()
    changed.write_bytes((relevance_folder / "config.json").read_bytes() + b"\n")
    assembly = Assembly(load(data_dir=tmp_path / "data", models_dir=models))
    with pytest.raises(ModelDamaged, match=r"config\.json does not have the checksum"):
        assembly.models.scorer  # noqa: B018 - loaded when it is asked for
    assembly.close()


def test_a_relevance_model_without_a_calibration_uses_the_named_fallback(
    tmp_path: Path, relevance_folder: Path
) -> None:
    scorer = CrossEncoder("mine", tiny_bert(tmp_path, relevance_folder))
    assert not scorer.calibration.fitted
    assert scorer.logits("a question", ["a text", "another"]).shape == (2,)


def test_a_relevance_model_whose_calibration_is_damaged_is_not_used_without_it(
    relevance_folder: Path, folder: Folder
) -> None:
    broken = truncated(folder(relevance_folder), "calibration.json")
    with pytest.raises(ModelDamaged, match=r"calibration\.json is not a calibration"):
        CrossEncoder("mine", broken)


def test_a_folder_that_is_not_there_is_an_error_with_its_path(tmp_path: Path) -> None:
    for make in (BiEncoder, CrossEncoder):
        with pytest.raises(ModelDamaged, match="nowhere"):
            make("mine", tmp_path / "nowhere")


def test_the_settings_of_the_shipped_models_are_whole(embedder_folder: Path, relevance_folder: Path) -> None:
    for source in (embedder_folder, relevance_folder):
        for path in source.rglob("*.json"):
            json.loads(path.read_bytes())
