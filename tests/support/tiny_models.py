"""Small relevance models with a real tokenizer: of random weights, or of a real one's first layers."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedModel,
)

from localcrag.models.encoders import CALIBRATION_FILE
from localcrag.models.reranker import SPAN_HEAD_FILE

TOKENIZER = ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json")
WORDS = 30522


def tiny_bert(folder: Path, relevance_folder: Path, *, num_labels: int = 1, layers: int = 1) -> Path:
    """Make a model in `folder`, with links to the tokenizer of a real one."""
    config = BertConfig(
        vocab_size=WORDS, hidden_size=8, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=8,
        # Of the usual 0.02, logits differ by 1e-8 from text to text, and in int8 by nothing now and then.
        initializer_range=1.0,
    )  # fmt: skip
    config.num_labels = num_labels
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = BertForSequenceClassification(config)
    return _saved(model, folder, relevance_folder)


def first_layers(folder: Path, relevance_folder: Path, layers: int) -> Path:
    """Make a model of a real one's first layers, with links to its tokenizer and to the heads above."""
    model = BertForSequenceClassification.from_pretrained(relevance_folder, num_hidden_layers=layers)
    _saved(model, folder, relevance_folder)
    for name in (SPAN_HEAD_FILE, CALIBRATION_FILE):
        (folder / name).symlink_to(relevance_folder / name)
    return folder


def broken_bert(folder: Path, relevance_folder: Path) -> Path:
    """Make a model whose every logit is no number."""
    tiny_bert(folder, relevance_folder)
    model = BertForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.classifier.bias.fill_(torch.nan)
    model.save_pretrained(folder)
    return folder


def tiny_gpt2(folder: Path, relevance_folder: Path) -> Path:
    """Make a model of an architecture that has no linear layers: its own kind is the other way round."""
    config = GPT2Config(vocab_size=WORDS, n_embd=8, n_layer=1, n_head=2, pad_token_id=0)
    config.num_labels = 1
    return _saved(GPT2ForSequenceClassification(config), folder, relevance_folder)


def _saved(model: PreTrainedModel, folder: Path, relevance_folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    model.save_pretrained(folder)
    for name in TOKENIZER:
        if (relevance_folder / name).exists():
            (folder / name).symlink_to(relevance_folder / name)
    return folder
