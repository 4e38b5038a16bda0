"""A multilingual encoder as its package packs it: unpacked, loaded, and joined to a relevance model without words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from lab.training import without_words
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForSequenceClassification

from localcrag.models import download, reranker_format
from localcrag.models.encoders import BiEncoder
from localcrag.models.reranker import CrossEncoder
from localcrag.models.reranker_format import LAYERS, VOCABULARY, with_shared_vocabulary
from localcrag.records.errors import ModelDamaged
from tests.support.packed_e5 import HIDDEN, INNER, PIECES, POSITIONS, pack

pytestmark = pytest.mark.models


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "multilingual"
    made.mkdir()
    download.unpack(pack(tmp_path / "e5.bin"), made)
    return made


def test_an_unpacked_encoder_embeds(folder: Path) -> None:
    embedder = BiEncoder("tiny", folder)
    assert embedder.dimension == HIDDEN
    assert embedder.max_tokens == POSITIONS - 2
    assert embedder.count_tokens(["Katze", "cats  cats", "Katzen"]) == [1, 4, 2]


def test_questions_and_passages_are_read_behind_the_words_that_the_model_was_trained_with(folder: Path) -> None:
    embedder = BiEncoder("tiny", folder)
    plain = BiEncoder("tiny", folder)
    plain._model.prompts = {"query": "", "document": ""}
    assert np.allclose(embedder.embed(["cat"]), plain.embed(["passage: cat"]), atol=1e-5)
    assert np.allclose(embedder.embed_questions(["cat"]), plain.embed(["query: cat"]), atol=1e-5)


def test_what_is_unpacked_is_the_same_every_time(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    download.unpack(tmp_path / "e5.bin", again)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert [(folder / path).read_bytes() for path in files] == [(again / path).read_bytes() for path in files]


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ValueError, match="not in the format that this localcrag expects"):
        download.unpack(other, tmp_path)


# A relevance model without words.


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    made = tmp_path / "relevance"
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(PIECES), hidden_size=HIDDEN, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=INNER, max_position_embeddings=POSITIONS,
    )  # fmt: skip
    config.num_labels = 1
    model = BertForSequenceClassification(config)
    model.save_pretrained(made)
    (made / "model.safetensors").unlink()
    save_file(
        without_words.pack({name: weight for name, weight in model.state_dict().items() if name != VOCABULARY}),
        made / LAYERS,
    )
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>",
                "cls_token": "<s>", "sep_token": "</s>", "model_max_length": POSITIONS,
                "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}  # fmt: skip
    (made / "tokenizer_config.json").write_text(json.dumps(settings))
    return made


def test_a_relevance_model_reads_pairs_with_the_words_of_its_embedder(
    folder: Path, layers: Path, tmp_path: Path
) -> None:
    whole = with_shared_vocabulary(layers, folder, tmp_path / "cache")
    words = load_file(whole / "model.safetensors")[VOCABULARY]
    assert torch.equal(words, load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"])
    scorer = CrossEncoder("tiny", whole, number_format="fp32")
    logits = scorer.logits("Katze", ["cat", "cats"])
    assert logits.shape == (2,)
    pair = scorer._model.tokenizer("Katze", "cats")
    assert pair["input_ids"] == [PIECES.index(piece) for piece in ("<s>", "▁Katze", "</s>", "▁cat", "s", "</s>")]
    assert pair["token_type_ids"] == [0, 0, 0, 1, 1, 1]


def test_it_is_made_once_and_anew_when_what_it_is_made_from_changes(folder: Path, layers: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = with_shared_vocabulary(layers, folder, cache)
    made = (first / "model.safetensors").stat().st_mtime_ns
    (layers / "calibration.json").write_text("{}")
    assert with_shared_vocabulary(layers, folder, cache) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == made
    assert (first / "calibration.json").read_text() == "{}"
    download.unpack(pack(tmp_path / "e5.bin", seed=2), folder)
    second = with_shared_vocabulary(layers, folder, cache)
    assert second != first
    assert not first.exists()


def test_words_of_another_size_are_refused(layers: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    save_file({"other": torch.zeros(2, 2)}, folder / "model.safetensors")
    with pytest.raises(ModelDamaged, match="does not fit the token embeddings"):
        with_shared_vocabulary(layers, folder, tmp_path / "cache")


def test_eight_bits_keep_a_matrix_to_within_half_a_step_of_each_row() -> None:
    torch.manual_seed(1)
    weights = torch.randn(4, 64) * torch.tensor([[1.0], [10.0], [0.1], [0.0]])
    back = reranker_format.unpack(without_words.pack({"w": weights, "b": torch.ones(3)}))
    steps = weights.abs().amax(dim=1, keepdim=True) / 127
    assert ((back["w"].float() - weights).abs() <= steps / 2 + 0.01 * steps.clamp(min=1e-3)).all()
    assert back["b"].dtype is torch.float16
