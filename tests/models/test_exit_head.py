"""The exit head: passages that surely do not help go through a part of the layers, others as without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from localcrag.models.reranker import CUT, EXIT_HEAD_FILE, LAYERS, CrossEncoder, ExitHead
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelDamaged
from localcrag.text.sentences import split_sentences
from tests.support.tiny_models import tiny_bert

pytestmark = pytest.mark.contract

QUESTION = "What is the hotel limit in London?"
HELPS = "Travel costs are paid back. The hotel limit in London is 195 euros a night. Breakfast is not included."
DOES_NOT = (
    "Photosynthesis turns light into sugar in the leaves of plants.",
    "The washing machine stands in the basement. It takes coins of one and two francs. Please empty the filter.",
)


@pytest.fixture(scope="module")
def with_exit(relevance_folder: Path) -> CrossEncoder:
    return CrossEncoder("mine", relevance_folder, number_format=NumberFormat.FP32)


@pytest.fixture
def without_exit(relevance_folder: Path, tmp_path: Path) -> CrossEncoder:
    for path in relevance_folder.iterdir():
        if path.name != EXIT_HEAD_FILE:
            (tmp_path / path.name).symlink_to(path)
    return CrossEncoder("mine", tmp_path, number_format=NumberFormat.FP32)


def test_what_may_help_scores_as_without_it_and_what_surely_does_not_stays_far_below(
    with_exit: CrossEncoder, without_exit: CrossEncoder
) -> None:
    texts = [DOES_NOT[0], HELPS, DOES_NOT[1]]
    ours, whole = with_exit.logits(QUESTION, texts), without_exit.logits(QUESTION, texts)
    assert ours[1] == pytest.approx(whole[1], abs=1e-4)
    assert ours[1] > 0
    assert max(ours[[0, 2]]) < -6
    assert max(whole[[0, 2]]) < -6


def test_a_text_scores_the_same_alone_and_beside_others_that_exit(with_exit: CrossEncoder) -> None:
    texts = [HELPS, *DOES_NOT, HELPS[:60], DOES_NOT[1] + HELPS]
    alone = [float(with_exit.logits(QUESTION, [text])[0]) for text in texts]
    assert with_exit.logits(QUESTION, texts) == pytest.approx(alone, abs=1e-4)


def test_strips_of_a_passage_that_exited_are_read_as_without_it(
    with_exit: CrossEncoder, without_exit: CrossEncoder
) -> None:
    texts = [DOES_NOT[1], HELPS]
    strips = [split_sentences(text) for text in texts]
    with_exit.logits(QUESTION, texts)
    ours, whole = (one.strip_logits(QUESTION, texts, strips) for one in (with_exit, without_exit))
    assert np.concatenate(ours) == pytest.approx(np.concatenate(whole), abs=1e-4)


def test_below_no_cut_every_pair_goes_through_all_layers(tmp_path: Path, relevance_folder: Path) -> None:
    tiny_bert(tmp_path, relevance_folder, layers=3)
    whole = CrossEncoder("mine", tmp_path, number_format=NumberFormat.FP32)
    encoder: Any = whole._model
    # Of two lengths, so that one is filled up.
    inputs = encoder.tokenizer([QUESTION] * 2, [HELPS, DOES_NOT[0]], padding=True, return_tensors="pt")
    head = ExitHead(written(tmp_path / "head.safetensors", size=8, layers=2, cut=-np.inf))
    model = encoder[0].model
    assert head.fits(model)
    with torch.inference_mode():
        passed, out = head.run(model, inputs), model(**inputs, output_hidden_states=True)
    assert passed.whole.all()
    assert passed.logits.numpy() == pytest.approx(out.logits[:, 0].numpy(), abs=1e-5)
    assert passed.states.shape == out.hidden_states[-1].shape


@pytest.mark.parametrize(("size", "layers"), [(384, 1), (8, 2)], ids=["of other states", "of more layers"])
def test_an_exit_head_of_another_model_is_damage(
    tmp_path: Path, relevance_folder: Path, size: int, layers: int
) -> None:
    tiny_bert(tmp_path, relevance_folder, layers=2)
    written(tmp_path / EXIT_HEAD_FILE, size=size, layers=layers, cut=-6.0)
    with pytest.raises(ModelDamaged, match=r"exit_head\.safetensors is for another model"):
        CrossEncoder("mine", tmp_path)


def written(path: Path, *, size: int, layers: int, cut: float) -> Path:
    """Write a head that estimates 0 for everything."""
    tensors = {"weight": torch.zeros(1, 2 * size), "bias": torch.zeros(1)}
    save_file(tensors, path, metadata={LAYERS: str(layers), CUT: str(cut)})
    return path
