"""Relevance models are trained on a little data of our own; what is held out is never trained on."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from lab.relevance.data import read_lines
from lab.training import pairs
from lab.training.pairs import Group, Pair
from lab.training.teacher import TAUGHT
from lab.training.tokenised import MOST_TOKENS, Tokenised
from lab.training.train_exit_head import Judged, Read, fit
from lab.training.train_relevance import main
from lab.training.weights_from_onnx import main as weights_from_onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from safetensors import safe_open
from safetensors.numpy import load_file as numpy_file
from safetensors.numpy import save_file
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

from localcrag.models import download
from localcrag.models.reranker import CrossEncoder
from localcrag.models.reranker_format import LAYERS, VOCABULARY, with_shared_vocabulary
from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.settings import REPOSITORY_MODELS
from localcrag.text.sentences import split_sentences
from tests.support import ROOT
from tests.support.compressed_lines import write
from tests.support.lighthouses import TOWNS
from tests.support.packed_e5 import pack
from tests.support.scripts import run_script
from tests.support.tiny_models import tiny_bert

pytestmark = pytest.mark.lab

LODGE = """# Tarn Lodge: house rules

## Boat hire

A rowing boat is ten euros an hour. The oars are in the shed behind the house. Whoever brings one back late pays another
hour, and nobody takes a boat out after dark.

## Sauna

It is heated from four to eight, on Sundays for women alone. How to light it in winter:

1. Open the flue.
2. Put in two baskets of birch.
3. Close the door when the fire is red.

| Wood | Basket |
|---|---|
| birch | 12 euros |
| pine | 8 euros |
"""
LIBRARY = """# Library of Ostley: how to borrow

## Cards

A card is free for everybody who lives in Ostley, and eight euros a year for all others. Bring a passport and a letter
with your address.

## Loans

Books are lent for four weeks, films for one. You can have them for longer twice, on the telephone or at the desk.
"""
STEPS = ["1. Open the flue.", "2. Put in two baskets of birch.", "3. Close the door when the fire is red."]
ROWS = [
    {"id": "lodge", "text": LODGE, "questions": [
        {"question": "what do I owe for taking the boat out for an hour", "type": "fact",
         "evidence": ["A rowing boat is ten euros an hour."], "also": "price of a boat"},
        {"question": "how do I get the sauna going", "type": "how-to",
         "evidence": STEPS},
        {"question": "price of a basket of pine", "type": "table",
         "evidence": ["| Wood | Basket |", "| pine | 8 euros |"]},
        {"question": "may I bring my dog into the sauna", "type": "yes-no", "evidence": []},
    ]},
    {"id": "library", "text": LIBRARY, "questions": [
        {"question": "how long may I keep a film", "type": "fact",
         "evidence": ["Books are lent for four weeks, films for one."]},
    ]},
]  # fmt: skip


def options_for(data: Path, work: Path, *options: object) -> list[str]:
    places = [data / "train", "--held-out", data / "dev", "--work", work, "--out", work / "model"]
    return [str(one) for one in (*places, "--minutes", "600", "--check-every", "1", *options)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learns in no time, to begin with."""
    return tiny_bert(tmp_path_factory.mktemp("tiny") / "base", REPOSITORY_MODELS / "all-minilm-l6-v2")


def labels_of(folder: Path) -> Path:
    """Write pairs that people labelled; the last one's question is held out."""
    rows = [
        {"question": f"what does the ferry to {town} cost", "text": text, "label": label, "kind": kind}
        for town in TOWNS
        for text, label, kind in (
            (f"A ticket to {town} costs nine crowns.", 1, "passage"),
            (f"The ferry to {town} leaves at noon.", 0, "passage"),
            (f"Nine crowns, to {town}.", 1, "sentence"),
        )
    ]
    rows.append({"question": "something else", "text": "Held out by its question.", "label": 1, "kind": "passage"})
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_model_is_trained_on_every_kind_of_data_but_for_what_is_held_out(
    data: Path, tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "everyday.jsonl.gz", *ROWS)
    for name in ("lodge", "library"):
        asked: dict[str, Any] = {
            "id": name,
            "question": f"loans of films in the {name}",
            "type": "fact",
            "evidence": [],
        }
        write(tmp_path / f"{name}.jsonl.gz", asked)
    near = {"passage": "The tower was built in 1822.", "answered": [], "not_answered": ["who built the tower"]}
    write(tmp_path / "near.jsonl.gz", near)
    options = (
        "--base", tiny, "--documents", tmp_path / "everyday.jsonl.gz", "--near-misses", tmp_path / "near.jsonl.gz",
        "--plain", tmp_path / "lodge.jsonl.gz", tmp_path / "library.jsonl.gz", "--apart", "2",
        "--labels", labels_of(tmp_path), "--teacher", tiny, "--most-taught", "9",
    )  # fmt: skip
    main(options_for(data, tmp_path / "work", *options))
    complaints = capsys.readouterr().err
    assert "2 left out: question or passage held out" in complaints
    assert "45 labelled pairs, 1 more left out" in complaints
    report = json.loads((tmp_path / "work" / "report.json").read_text())
    assert set(report["questions"]) >= {"everyday documents", "near_misses", "labels", TAUGHT}
    assert json.loads((tmp_path / "work" / "apart.json").read_text()) == ["lodge.md"]
    card = (tmp_path / "work" / "model" / "CARD.md").read_text()
    assert "| squadshifts_new_wiki | CC BY 4.0 |" in card
    text = "The road is closed. Its first keeper was Anna Holm."
    scorer = CrossEncoder("trained", tmp_path / "work" / "model")
    assert scorer.logits("who was the first keeper", [text]).shape == (1,)
    assert scorer.strip_logits("who was the first keeper", [text], [split_sentences(text)])[0].shape == (2,)


def test_a_model_with_the_words_of_its_embedder_ships_without_them(data: Path, tmp_path: Path) -> None:
    embedder = tmp_path / "multilingual"
    embedder.mkdir()
    download.unpack(pack(tmp_path / "e5.bin", positions=512), embedder)
    main(options_for(data, tmp_path / "work", "--base", embedder, "--words-stay"))
    model = tmp_path / "work" / "model"
    assert (model / LAYERS).exists()
    assert not {"model.safetensors", "tokenizer.json"} & {path.name for path in model.iterdir()}
    whole = with_shared_vocabulary(model, embedder, tmp_path / "cache")
    words = load_file(embedder / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert load_file(whole / "model.safetensors")[VOCABULARY].equal(words), "nothing was learned of them"


PASSAGE = (
    "The lighthouse of Arvik was built in 1862 by Anna Holm. It stands on the north side of the harbour. Its lamp "
    "burned whale oil until 1904, when the keepers changed to paraffin. Three keepers lived there with their families. "
    "The last keeper, Olaf Berg, left in 1978. Since then the tower is empty, and the light works by itself."
)


def test_rows_of_held_out_questions_and_passages_are_left_out_whatever_their_dress(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl.gz", {"passage": PASSAGE.upper(), "questions": [{"question": "Who BUILT it?"}]})
    write(tmp_path / "b.jsonl.gz", {"question": "where is it?", "passage": "short"})
    held = pairs.HeldOut.of(tmp_path)
    fine = pairs.Row("boolq_dev", "is it red", "Something quite different about the colour of towers.", (), None, None)
    asked = pairs.Row("boolq_dev", "who built it", fine.passage, (), None, None)
    longer = pairs.Row("boolq_dev", "is it tall", f"An introduction. {PASSAGE}", (), None, None)
    assert pairs.without_held_out([fine, asked, longer], held) == [fine]


def test_training_is_refused_when_held_out_data_is_among_the_pairs(tmp_path: Path) -> None:
    write(tmp_path / "dev.jsonl.gz", {"passage": PASSAGE, "question": "who built it"})
    held = pairs.HeldOut.of(tmp_path)
    fine = pairs.Group("boolq_dev", (pairs.Pair("is it red", "No, it is white.", True),), ())
    pairs.refuse_held_out([fine], held)
    by_text = pairs.Group("boolq_dev", (), (pairs.Pair("is it red", f"Before. {PASSAGE[:100]}", True),))
    by_question = pairs.Group("boolq_dev", (pairs.Pair("Who built it?", "Somebody.", True),), ())
    for bad in (by_text, by_question):
        with pytest.raises(SystemExit, match=r"held-out data among the training pairs of boolq_dev"):
            pairs.refuse_held_out([fine, bad], held)


def test_without_held_out_data_nothing_is_trained(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"holds no \*\.jsonl\.gz"):
        pairs.HeldOut.of(tmp_path)


def test_our_own_documents_hold_every_needed_line_and_every_question_once() -> None:
    folder = ROOT / "scripts" / "lab" / "training" / "documents"
    names = ("further_documents", "short_documents", "twin_documents")
    documents = [row for name in names for row in read_lines(folder / f"{name}.jsonl.gz")]
    assert max(Counter(document["id"] for document in documents).values()) == 1
    for document in documents:
        for asked in document["questions"]:
            assert all(line in document["text"] and "\n" not in line.strip() for line in asked["evidence"])
            assert bool(asked["evidence"]) != bool(asked.get("why"))
    questions = [(document["id"], asked) for document in documents for asked in document["questions"]]
    questions += [(row["id"], row) for row in read_lines(folder / "plain_questions.jsonl.gz")]
    assert max(Counter((name, asked["question"]) for name, asked in questions).values()) == 1
    assert Counter(bool(asked["evidence"]) for _, asked in questions) == {True: 8524, False: 7096}


QUESTION = "What does the ferry to Ytterholm cost?"
FARES = "Fares of the ferry\nA grown-up pays nine crowns. Bicycles travel free; mopeds don't. "
LINES = tuple(
    (FARES.index(line), FARES.index(line) + len(line), line.startswith("A grown-up"))
    for line in ("A grown-up pays nine crowns.", "Bicycles travel free; mopeds don't.")
)
OTHER = "The Hübnerstraße is closed, naïve as it sounds: 1,234 m of it."


def groups() -> list[Group]:
    passages = (Pair(QUESTION, FARES, True, lines=LINES), Pair(QUESTION, OTHER, False), Pair(QUESTION, "", False))
    taught = (Pair("ferry", OTHER, False, wanted=-1.5), Pair("ferry", FARES * 40, False, wanted=0.0))
    return [Group("one", passages, (Pair("ferry", "Nine crowns.", True),)), Group("two", taught, ())]


def test_a_step_holds_what_the_tokenizer_makes_of_each_pair() -> None:
    tokenizer: Any = AutoTokenizer.from_pretrained(REPOSITORY_MODELS / "all-minilm-l6-v2")
    tokenised = Tokenised.of(groups(), tokenizer)
    lesson = tokenised.lesson([1, 0], at_once=2)
    pairs = [pair for group in (groups()[1], groups()[0]) for pair in (*group.passages, *group.strips)]
    assert lesson.lengths.tolist() == [2, 3, 1]
    assert lesson.relevant.tolist() == [pair.relevant for pair in pairs]
    assert [None if math.isnan(one) else one for one in lesson.wanted.tolist()] == [pair.wanted for pair in pairs]
    assert len(lesson.shares) == 3
    assert sorted(place for share in lesson.shares for place in share.places.tolist()) == list(range(len(pairs)))
    for share in lesson.shares:
        for row, place in enumerate(share.places.tolist()):
            of_pair = tokenizer(
                [pairs[place].question], [pairs[place].text], truncation="only_second", max_length=MOST_TOKENS
            )
            count = len(of_pair["input_ids"][0])
            for name, (values,) in of_pair.items():
                assert share.inputs[name][row, :count].tolist() == values
                assert not share.inputs[name][row, count:].any()
    assert lesson.tokens == sum(share.tokens for share in lesson.shares)
    assert [tokenised.pairs_of(number) for number in range(len(tokenised))] == [4, 2]


def read(question: str, name: str, *, logit: float, states: object = 0.0, held: int = 0) -> Read:
    passage = Passage(id=name, origin=Origin.LOCAL, text=name, document="a.md", page=None, cosine=0.5, overlap=0.5)
    return Read(question, passage, held, np.asarray(states, np.float32), logit)


def test_a_logit_that_is_linear_in_the_states_is_found() -> None:
    chance = np.random.default_rng(1)
    states = chance.normal(3.0, 2.0, (40_000, 4))
    pairs = [read("?", "a", logit=float(row @ [1, -2, 0, 0.5] - 4), states=row) for row in states]
    weights, bias = fit(pairs)
    assert states @ weights + bias == pytest.approx([pair.logit for pair in pairs], abs=1.5)
    assert weights == pytest.approx([1, -2, 0, 0.5], abs=0.3)


def test_what_exits_change_is_counted() -> None:
    pairs = [
        read("one", "helps", logit=6.0, held=1),
        read("one", "does not", logit=-9.0),
        read("two", "helps, and exits", logit=5.0, held=2),
        read("two", "does not", logit=-9.0),
    ]
    judged = Judged(pairs, CrossEncoder("mine", REPOSITORY_MODELS / "relevance-v3"))
    figures = judged.figures(np.array([2.0, -8.0, -8.0, -7.0]), -6.0)
    assert figures["exit"] == 0.75
    assert (figures["not incorrect"], figures["of these exit"], figures["another action"]) == (2, 1, 1)
    assert figures["lines among 6"] == 0
    assert judged.figures(np.array([2.0, -8.0, 4.0, -7.0]), -6.0)["another action"] == 0


def test_models_are_averaged_tensor_by_tensor_in_the_first_ones_format(tmp_path: Path) -> None:
    for name, value in (("one", 1.0), ("other", 3.0)):
        (tmp_path / name).mkdir()
        save_file({"w": np.full((2, 3), value, np.float16)}, tmp_path / name / "model.safetensors", {"head": name})
        (tmp_path / name / "config.json").write_text(name)
        (tmp_path / name / "calibration.json").write_text(name)
    run_script(
        "lab/training/average_models", f"{tmp_path}/one=0.75", f"{tmp_path}/other=0.25", "--out", str(tmp_path / "out")
    )
    weights = numpy_file(tmp_path / "out" / "model.safetensors")["w"]
    with safe_open(tmp_path / "out" / "model.safetensors", framework="numpy") as opened:
        assert opened.metadata() == {"head": "one"}
    assert weights.dtype == np.float16
    assert weights.tolist() == [[1.5] * 3] * 2
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"model.safetensors", "config.json"}
    assert (tmp_path / "out" / "config.json").read_text() == "one"


HEADS = 2


@pytest.fixture
def bert() -> Any:
    torch.manual_seed(1)
    sizes: Any = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": HEADS}
    sizes |= {"vocab_size": 30, "max_position_embeddings": 12, "num_labels": 1}
    config = BertConfig(**sizes)
    made: Any = BertForSequenceClassification(config)
    return made.eval()


def in_whole_numbers(weights: NDArray[np.float32], kind: type) -> tuple[NDArray[Any], ...]:
    """Return weights as ONNX Runtime's dynamic quantisation stores them, with their scale and zero point."""
    low, high = float(weights.min()), float(weights.max())
    scale = np.float32((high - low) / 255)
    zero = round(-low / scale) + np.iinfo(kind).min
    limits = np.iinfo(kind).min, np.iinfo(kind).max
    whole = np.clip(np.round(weights / scale) + zero, *limits).astype(kind)
    return whole, np.array(scale), np.array(zero, dtype=kind)


def exported(model: Any) -> onnx.ModelProto:
    """Return the model as such a file has it: with the names of its nodes and tensors, and no inputs or outputs."""
    tensors: dict[str, NDArray[Any]] = {}
    nodes = []
    for number, (name, value) in enumerate(model.state_dict().items()):
        weights = value.numpy()
        if name.endswith((".bias", "LayerNorm.weight")):
            tensors[name] = weights
        elif "embeddings" in name:
            parts = in_whole_numbers(weights, np.uint8)
            tensors |= dict(zip((f"{name}_quantized", f"{name}_scale", f"{name}_zero_point"), parts, strict=True))
        else:
            module = "/" + name.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.")
            stored = f"onnx::MatMul_{number}"
            parts = in_whole_numbers(weights.T, np.int8)
            tensors |= dict(zip((f"{stored}_quantized", f"{stored}_scale", f"{stored}_zero_point"), parts, strict=True))
            gemm = "Gemm_" if name.startswith(("bert.pooler", "classifier")) else ""
            inputs = ["x", f"{stored}_quantized", "x_zero_point", f"{stored}_zero_point"]
            nodes.append(helper.make_node("MatMulInteger", inputs, [f"y{number}"], name=f"{module}/{gemm}MatMul_quant"))
    stored_tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items()]
    return helper.make_model(helper.make_graph(nodes, "bert", [], [], stored_tensors))


def test_the_weights_are_those_of_the_file_and_transformers_loads_them(
    bert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, made = tmp_path / "given", tmp_path / "made"
    given.mkdir()
    onnx.save(exported(bert), given / "model.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (given / name).write_text("{}")
    monkeypatch.setattr(sys, "argv", ["", str(given), "--heads", str(HEADS), "--out", str(made)])
    weights_from_onnx()
    loaded: Any = AutoModelForSequenceClassification.from_pretrained(made, dtype=torch.float32).eval()
    assert loaded.state_dict().keys() == bert.state_dict().keys()
    for name, value in bert.state_dict().items():
        spread = float(value.max() - value.min())
        torch.testing.assert_close(loaded.state_dict()[name], value, rtol=0, atol=spread / 255)
    ids = torch.arange(1, 11)[None]
    with torch.no_grad():
        assert abs(float(loaded(ids).logits - bert(ids).logits)) < 0.02
    assert (made / "tokenizer.json").exists()
