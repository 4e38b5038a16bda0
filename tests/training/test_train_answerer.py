"""scripts/lab/answerer/train_answerer.py, really run: a few steps on a little data of our own, and the adapter in
llama.cpp."""

from __future__ import annotations

import ctypes
import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import llama_cpp
import numpy as np
import pytest
import torch
from lab.answerer.adapter import permuted, write_adapter
from lab.answerer.train_answerer import ALPHA, LOWEST, MODEL, Tokens, Trainer, batches, main
from numpy.typing import NDArray

from localcrag.backends.models.faster_copy import faster_copy
from localcrag.backends.models.llama_cpp import LlamaCpp
from localcrag.records.errors import ModelDamaged
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from tests.support import ROOT
from tests.support.first_start import started_before

# peft 0.21 asks transformers for a property under its old name.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")

PROMPTS = ("The lighthouse of Arvik was built in", "Who kept the light, and", "Question: What is the hotel limit")


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    """The real model with an adapter that changes what it says a good deal."""
    made = Trainer(MODEL, seed=1, precision=torch.float32)
    torch.manual_seed(2)
    with torch.no_grad():
        for name, weights in made.model.named_parameters():
            if "lora_B" in name:
                weights.normal_(0, 0.02)
    return made


@pytest.fixture(scope="module")
def adapter(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapter") / "adapter.gguf"
    write_adapter(path, trainer.weights(), trainer.model.config, alpha=ALPHA)
    return path


@pytest.fixture(scope="module")
def in_16_bits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The model with 16-bit weights: with 4-bit ones llama.cpp rounds what goes through a layer to eight bits."""
    path = tmp_path_factory.mktemp("model") / "model.F16.gguf"
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype, parameters.allow_requantize = llama_cpp.LLAMA_FTYPE_MOSTLY_F16, True
    assert llama_cpp.llama_model_quantize(str(MODEL).encode(), str(path).encode(), ctypes.byref(parameters)) == 0
    yield path
    path.unlink()  # 270 MB, which pytest would keep


def in_llama_cpp(model: Path, prompts: list[list[int]], adapter: Path | None) -> NDArray[np.float32]:
    """Return the logits behind each prompt, shape (prompts, vocabulary)."""
    llama = llama_cpp.Llama(
        str(model), n_ctx=64, logits_all=True, verbose=False, lora_path=str(adapter) if adapter else None
    )
    found = []
    for prompt in prompts:
        llama.reset()  # type: ignore[no-untyped-call]
        llama.eval(prompt)
        found.append(llama.scores[len(prompt) - 1].copy())
    llama.close()
    return np.array(found, dtype=np.float32)


def test_the_adapter_says_in_llama_cpp_what_it_says_in_peft(trainer: Trainer, adapter: Path, in_16_bits: Path) -> None:
    vocabulary = llama_cpp.Llama(str(MODEL), vocab_only=True, verbose=False)
    prompts = [vocabulary.tokenize(text.encode(), add_bos=False) for text in PROMPTS]
    vocabulary.close()
    model = trainer.model.eval()
    with torch.no_grad():
        theirs = np.array([model(torch.tensor([prompt])).logits[0, -1].numpy() for prompt in prompts])
        with model.disable_adapter():
            plain = np.array([model(torch.tensor([prompt])).logits[0, -1].numpy() for prompt in prompts])
    ours, without = in_llama_cpp(in_16_bits, prompts, adapter), in_llama_cpp(in_16_bits, prompts, None)
    for number in range(len(prompts)):
        # What the adapter changes; 0.95 with rows of query and key in the wrong order.
        assert np.corrcoef(ours[number] - without[number], theirs[number] - plain[number])[0, 1] > 0.998


def test_the_faster_copy_has_the_weights_that_peft_would_merge(trainer: Trainer, adapter: Path, tmp_path: Path) -> None:
    copy = faster_copy(MODEL, tmp_path, adapter)
    before, after = ({tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors} for path in (MODEL, copy))
    layer = trainer.model.base_model.model.model.layers[LOWEST + 1]
    for name, part in {
        "attn_q": layer.self_attn.q_proj,
        "attn_v": layer.self_attn.v_proj,
        "ffn_down": layer.mlp.down_proj,
    }.items():
        change = part.get_delta_weight("default").detach().numpy()
        if name == "attn_q":
            change = permuted(change, trainer.model.config.num_attention_heads)
        old, new = (of[f"blk.{LOWEST + 1}.{name}.weight"] for of in (before, after))
        made = gguf.dequantize(new.data, new.tensor_type) - gguf.dequantize(old.data, old.tensor_type)
        # Q8_0 rounds to a 127th of a block's largest weight.
        largest = float(np.abs(gguf.dequantize(new.data, new.tensor_type)).max())
        np.testing.assert_allclose(made, change, atol=largest / 127)
        # The rest is rounding; 0 with rows or columns in another order.
        assert np.corrcoef(made.ravel(), change.ravel())[0, 1] > 0.9
    unadapted = after["blk.0.attn_q.weight"]
    assert unadapted.tensor_type is gguf.GGMLQuantizationType.Q8_0
    copy.unlink()  # 140 MB, which pytest would keep


def test_an_adapter_of_another_model_is_not_merged_and_said_to_be_unusable(
    trainer: Trainer, adapter: Path, tmp_path: Path
) -> None:
    other = tmp_path / "adapter.gguf"
    factors = {"lora_A": torch.ones(2, 64), "lora_B": torch.ones(64, 2)}
    weights = {f"model.layers.0.self_attn.v_proj.{name}.weight": factor for name, factor in factors.items()}
    write_adapter(other, weights, trainer.model.config, alpha=1.0)
    half = tmp_path / "half.gguf"
    half.write_bytes(adapter.read_bytes()[: adapter.stat().st_size // 2])
    for unusable in (other, half):
        assert faster_copy(MODEL, tmp_path / "cache", unusable) == MODEL, unusable
        with pytest.raises(ModelDamaged, match=unusable.name):
            LlamaCpp("mine", MODEL, context_tokens=64, threads=0, cache=tmp_path / "cache", adapter=unusable)
    assert [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"] == []


def test_a_beginning_read_once_for_all_gives_the_losses_that_each_prompt_has_by_itself(trainer: Trainer) -> None:
    beginning = tuple(range(100, 140))
    some = [Tokens("answer", (*beginning, *range(length * 20, length * 21)), (7, 8, 9)) for length in (3, 9, 5)]
    with torch.no_grad():
        together, tokens = trainer.losses(some)
        each = torch.cat([trainer.losses([one])[0] for one in some])
    torch.testing.assert_close(together, each, atol=0.1, rtol=0.02)
    assert tokens == 40 + (3 + 3) + (9 + 3) + (5 + 3)


def test_batches_hold_one_kind_of_prompt(trainer: Trainer) -> None:
    some = [Tokens(task, (1, 2, number), (3,)) for number in range(30) for task in ("answer", "not said", "query")]
    kinds = [{one.task for one in batch} for batch in batches(some, random.Random(1))]
    assert sum(len(batch) for batch in batches(some, random.Random(1))) == len(some)
    assert all(kind == {"query"} or kind <= {"answer", "not said"} for kind in kinds)


LEASE = {
    "id": "lease",
    "text": "# Lease of the attic\n\nThe rent of the attic is 310 euros a month. The keys are with Ada Thorne.\n",
    "questions": [
        {
            "question": "What do I pay for the attic a month?", "type": "fact", "short": ["310"],
            "evidence": ["The rent of the attic is 310 euros a month."],
            "answer": "The rent of the attic is 310 euros a month. It was 290 euros in Bergen before.",
        },
        {
            "question": "May I keep a dog?", "type": "near miss", "evidence": [], "answer": None,
            "why": "It does not say.",
        },
    ],
}  # fmt: skip


def test_a_training_that_is_killed_goes_on_and_leaves_an_adapter(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    for apps in ("data", "everyday"):
        started_before(work / apps)
    everyday = tmp_path / "everyday.jsonl"
    everyday.write_text(json.dumps(LEASE))
    places = [data / "train", "--held-out", data / "dev", "--work", work, "--out", work / "adapter.gguf"]
    options = [*map(str, places), "--everyday", str(everyday), "--check-every", "1", "--validated", "4", "--minutes"]
    command = [sys.executable, str(ROOT / "scripts" / "lab" / "answerer" / "train_answerer.py"), *options, "600"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert json.loads(first.stdout.readline())["step"] == 1
    first.send_signal(signal.SIGKILL)
    first.communicate()
    main([*options, "0.05"])
    assert "going on at step" in capsys.readouterr().err
    report = json.loads((work / "report.json").read_text())
    assert report["steps"] >= 1
    lines = (work / "examples-1.jsonl").read_text().splitlines()
    texts = [json.loads(line) for line in lines]
    assert {one["task"] for one in texts} >= {"answer", "not said", "query"}
    (of_lease,) = (one for one in texts if one["source"] == "everyday answers")
    assert of_lease["target"] == "The rent of the attic is 310 euros a month [1]."
    # The passage of the last town is held out.
    assert not any("Porsgrund" in json.dumps(one["messages"][-1]) for one in texts)
    llama = LlamaCpp(
        "trained", MODEL, context_tokens=256, threads=0, cache=tmp_path / "cache", adapter=work / "adapter.gguf"
    )
    stream: Any = llama.stream([Message("user", "Who keeps the light?")], Decoding(max_tokens=4))
    assert "".join(stream)
