"""An adapter is trained in a few steps and says the same in llama.cpp as in peft; and what it is measured by."""

from __future__ import annotations

import ctypes
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import pytest
import torch
from lab.answerer import everyday_instructions, train_answerer
from lab.answerer.adapter import permuted, write_adapter
from lab.answerer.examples import Task, answer, follow_ups
from lab.answerer.train_answerer import ALPHA, LOWEST, MODEL, Tokens, Trainer
from lab.training.pairs import Row, locate
from numpy.typing import NDArray
from peft import set_peft_model_state_dict

from localcrag.crag import condense
from localcrag.evaluation import results
from localcrag.evaluation.plan import FULL
from localcrag.models.gguf import faster_copy
from localcrag.models.llm import LlamaCpp
from localcrag.records.errors import ModelDamaged
from localcrag.records.passages import Evidence
from tests.support.first_start import started_before
from tests.support.made_evaluations import varied
from tests.support.scripts import run_script

# peft 0.21 asks transformers for a property under its old name.
pytestmark = [
    pytest.mark.lab,
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),
]

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


def test_a_training_leaves_an_adapter(
    data: Path, trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    for apps in ("data", "everyday"):
        started_before(work / apps)
    everyday = tmp_path / "everyday.jsonl"
    everyday.write_text(json.dumps(LEASE))
    # Loading the model takes most of the time; the other tests get its adapter back as it was.
    monkeypatch.setattr(train_answerer, "Trainer", lambda *_model_and_seed: trainer)
    before = {name: weights.clone() for name, weights in trainer.weights().items()}
    places = [data / "train", "--held-out", data / "dev", "--work", work, "--out", work / "adapter.gguf"]
    options = [*map(str, places), "--everyday", str(everyday), "--questions", "4"]
    train_answerer.main([*options, "--validated", "1", "--at-once", "1", "--minutes", "0.01"])
    changed = [name for name, weights in trainer.weights().items() if not weights.equal(before[name])]
    set_peft_model_state_dict(trainer.model, before)
    assert changed
    assert json.loads((work / "report.json").read_text())["steps"] >= 1
    assert (work / "adapter.gguf").stat().st_size > 100_000
    texts = [json.loads(line) for line in (work / "examples-1.jsonl").read_text().splitlines()]
    assert {one["task"] for one in texts} >= {"answer", "query"}
    (of_lease,) = (one for one in texts if one["source"] == "everyday answers")
    assert of_lease["target"] == "The rent of the attic is 310 euros a month [1]."
    # The passage of the last town is held out.
    assert not any("Porsgrund" in json.dumps(one["messages"][-1]) for one in texts)


def test_what_models_write_from_the_evidence_of_an_evaluation_is_compared(tmp_path: Path) -> None:
    made, path = varied(), tmp_path / "evaluation"
    results.begin(path, made)
    with results.open_for_runs(path) as runs:
        for configuration, own in made.runs.items():
            for name, run in own.items():
                runs.add(configuration, name, run)
    done = run_script(
        "lab/answerer/eval_answerer", str(path), "smollm2-135m-instruct", "--configuration", FULL, "--questions", "2",
        "--show", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown, _, table = done.stdout.partition("| | smollm2-135m-instruct |")
    assert shown.count("smollm2-135m-instruct: ") == shown.count("the best sentences, quoted: ") == 1
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    cells = {name: model for name, model, _ in rows}
    assert float(cells["tokens a second, median"]) > 0


def test_everyday_instructions_are_followed_by_each_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(everyday_instructions, "INSTRUCTIONS", "What is the capital of France?\n")
    monkeypatch.setattr(everyday_instructions, "MAX_TOKENS", 8)
    monkeypatch.setattr(sys, "argv", ["everyday_instructions", "smollm2-135m-instruct"])
    everyday_instructions.main()
    assert "smollm2-135m-instruct: " in capsys.readouterr().out


def row(question: str, passage: str, said: str) -> Row:
    return Row("squadshifts_new_wiki", question, passage, (said,), locate(said, passage), None)


def test_an_answer_is_the_sentence_that_says_it_with_its_number() -> None:
    passage = "The lighthouse stands on a rock. Its first keeper was Kari Lund."
    own = [Evidence(3, passage, "chunk-1", "source-1", 0.8)]
    assert answer(row("Who kept it first?", passage, "Kari Lund"), "Who kept it first?", own) == (
        "Its first keeper was Kari Lund [3]."
    )


def test_follow_ups_are_taken_for_such_and_their_target_would_be_accepted() -> None:
    passage = "Kari Lund kept the light from 1840 on. She was born in Arvik. Her house is a museum."
    rows = [
        row("When did Kari Lund begin to keep the light?", passage, "1840"),
        row("Where was Kari Lund born?", passage, "Arvik"),
    ]
    made = list(follow_ups(rows, random.Random(3)))
    assert made
    for example in made:
        assert example.task is Task.CONDENSE
        assert "Kari Lund" in example.target
        assert not condense.stands_alone(example.messages[-1].content.split("User: ")[-1].split("\n")[0])
