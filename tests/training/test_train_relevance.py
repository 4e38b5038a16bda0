"""scripts/lab/training/train_relevance.py, really run: a few steps on a little data of our own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lab.training.course import Material, validate
from lab.training.pairs import Group, Pair
from lab.training.teacher import TAUGHT, lessons
from lab.training.train_relevance import main
from lab.training.trainer import Trainer
from safetensors.torch import load_file

from localcrag.backends.downloads import packed_e5
from localcrag.backends.models.cross_encoder import CrossEncoder
from localcrag.backends.models.place_head import PLACE_FILE
from localcrag.backends.models.with_words import LAYERS, WORDS, whole_model
from localcrag.records.passages import Thresholds
from localcrag.settings import REPOSITORY_MODELS
from localcrag.steps.evaluate.calibration import FittedCalibration, Logistic
from localcrag.text.sentences import split_sentences
from tests.support import ROOT
from tests.support.compressed_lines import write
from tests.support.lighthouses import TOWNS
from tests.support.packed_e5 import pack
from tests.support.tiny_models import tiny_bert
from tests.training.test_relevance_documents import ROWS

ARTICLE = " ".join(f"{{0}} has a lighthouse and keeper number {number} of its own." for number in range(12))


def options_for(data: Path, work: Path, *options: object) -> list[str]:
    places = [data / "train", "--held-out", data / "dev", "--work", work, "--out", work / "model"]
    return [str(one) for one in (*places, "--minutes", "600", "--check-every", "1", *options)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learns in no time, to begin with."""
    return tiny_bert(tmp_path_factory.mktemp("tiny") / "base", REPOSITORY_MODELS / "all-minilm-l6-v2")


def test_a_killed_run_goes_on_and_ends_with_the_weights_of_one_that_was_not(
    data: Path, tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(options_for(data, tmp_path / "whole", "--base", tiny))
    printed, complaints = capsys.readouterr()
    assert "2 left out: question or passage held out" in complaints

    of_killed = options_for(data, tmp_path / "killed", "--base", tiny)
    command = [sys.executable, str(ROOT / "scripts" / "lab" / "training" / "train_relevance.py"), *of_killed]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    assert json.loads(killed.stdout.readline())["step"] == 1
    killed.kill()
    killed.communicate()
    assert not (tmp_path / "killed" / "model").exists()

    main(of_killed)
    assert "going on at step 1 of 2" in capsys.readouterr().err
    for file in ("model.safetensors", PLACE_FILE):
        one, two = (load_file(tmp_path / run / "model" / file) for run in ("whole", "killed"))
        assert one.keys() == two.keys()
        assert all(one[name].equal(two[name]) for name in one)

    card = (tmp_path / "whole" / "model" / "CARD.md").read_text()
    assert "| squadshifts_new_wiki | CC BY 4.0 |" in card
    assert re.search(r"^\| 2 \| \d+ \| ", card, re.MULTILINE), "the second step, after some minutes"
    report = json.loads((tmp_path / "whole" / "report.json").read_text())
    assert report["steps"] == 2
    assert report["groups"] == 24
    assert str(report["pairs"]) in printed

    text = "The road is closed. Its first keeper was Anna Holm."
    scorer = CrossEncoder("trained", tmp_path / "whole" / "model")
    assert scorer.logits("who was the first keeper", [text]).shape == (1,)
    assert scorer.strip_logits("who was the first keeper", [text], [split_sentences(text)])[0].shape == (2,)

    # Trained on from there, with other negatives: the card keeps what is known of the training before.
    write(data / "articles.jsonl.gz", *({"title": town, "text": ARTICLE.format(town)} for town in TOWNS))
    options = ("--base", tmp_path / "whole" / "model", "--encyclopaedia", data / "articles.jsonl.gz", "--seed", "2")
    main(options_for(data, tmp_path / "further", *options))
    card = (tmp_path / "further" / "model" / "CARD.md").read_text()
    assert "### The training before: the weights that this one began with" in card
    before, after = (json.loads((tmp_path / run / "report.json").read_text()) for run in ("whole", "further"))
    assert after["base"] == "model"
    assert after["pairs"] > before["pairs"], "some questions have an article among their negatives"
    assert f"{before['pairs']:,} pairs of 24 questions" in card


def test_a_model_with_the_words_of_its_embedder_ships_without_them(data: Path, tmp_path: Path) -> None:
    embedder = tmp_path / "multilingual"
    embedder.mkdir()
    packed_e5.unpack(pack(tmp_path / "e5.bin", positions=512), embedder)
    main(options_for(data, tmp_path / "work", "--base", embedder, "--words-stay"))
    model = tmp_path / "work" / "model"
    assert (model / LAYERS).exists()
    assert not {"model.safetensors", "tokenizer.json"} & {path.name for path in model.iterdir()}
    whole = whole_model(model, embedder, tmp_path / "cache")
    words = load_file(embedder / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert load_file(whole / "model.safetensors")[WORDS].equal(words), "nothing was learned of them"
    text = "The road is closed. Its first keeper was Anna Holm."
    scorer = CrossEncoder("trained", whole)
    assert scorer.logits("who was the first keeper", [text]).shape == (1,)
    assert scorer.strip_logits("who was the first keeper", [text], [split_sentences(text)])[0].shape == (2,)


def test_pairs_that_people_labelled_are_trained_on_and_held_out_ones_are_not(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    main(options_for(data, tmp_path / "labelled", "--labels", labels))
    assert "45 labelled pairs, 1 more left out" in capsys.readouterr().err
    report = json.loads((tmp_path / "labelled" / "report.json").read_text())
    assert report["questions"]["labels"] > 0
    assert report["pairs_by_source"]["labels"] > report["questions"]["labels"], "with what is not relevant beside it"
    assert "| labels | own, may quote private documents |" in (tmp_path / "labelled" / "model" / "CARD.md").read_text()


def test_documents_and_further_questions_on_them_are_trained_on_but_for_those_kept_apart(
    data: Path, tiny: Path, tmp_path: Path
) -> None:
    write(tmp_path / "everyday.jsonl.gz", *ROWS)
    for name, document in (("lodge", "lodge"), ("library", "library"), ("nowhere", "nowhere")):
        asked = {"id": document, "question": f"loans of films in the {name}", "type": "fact", "evidence": []}
        write(tmp_path / f"{name}.jsonl.gz", asked)
    near = {"passage": "The tower was built in 1822.", "answered": [], "not_answered": ["who built the tower"]}
    write(tmp_path / "near.jsonl.gz", near)
    options = (
        "--base", tiny, "--documents", tmp_path / "everyday.jsonl.gz", "--near-misses", tmp_path / "near.jsonl.gz",
        "--plain", *(tmp_path / f"{name}.jsonl.gz" for name in ("lodge", "library", "nowhere")), "--times", "2",
    )  # fmt: skip
    main(options_for(data, tmp_path / "work", "--apart", "2", *options))
    assert json.loads((tmp_path / "work" / "apart.json").read_text()) == ["lodge.md"]
    report = json.loads((tmp_path / "work" / "report.json").read_text())
    for name in ("everyday documents", "plain questions", "near_misses"):
        assert report["questions"][name] in {1, 2}, "one question, twice; the last groups do not fill a step"
    assert "| plain questions | Apache-2.0 | " in (tmp_path / "work" / "model" / "CARD.md").read_text()


def test_what_an_earlier_model_says_is_learned_as_it_is_said(data: Path, tiny: Path, tmp_path: Path) -> None:
    options = ("--base", tiny, "--teacher", tiny, "--most-taught", "9")
    main(options_for(data, tmp_path / "work", *options))
    report = json.loads((tmp_path / "work" / "report.json").read_text())
    assert report["questions"][TAUGHT] in range(1, 10), "the last groups do not fill a step"
    assert report["pairs_by_source"][TAUGHT] == 6 * report["questions"][TAUGHT]
    assert f"| {TAUGHT} | CC BY-SA 4.0 |" in (tmp_path / "work" / "model" / "CARD.md").read_text()


def test_a_lesson_makes_of_the_new_model_what_the_earlier_one_makes_of_its_own() -> None:
    wide = Thresholds(upper=0.25, lower=0.1, strip=0.1)
    narrow = Thresholds(upper=0.1, lower=0.01, strip=0.01)
    teacher = FittedCalibration(Logistic(0.5, -3.0, cosine=4.0, overlap=2.0), Logistic(1.0, 0.0), wide)
    pupil = FittedCalibration(Logistic(0.8, -2.0, cosine=1.0), Logistic(1.0, 0.0), narrow)
    logits, cosines, overlaps = np.array([-1.0, 1.0, 2.0]), np.array([0.3, 0.5, 0.6]), np.array([0.0, 0.5, 1.0])
    learned = lessons(logits, cosines, overlaps, teacher, pupil)
    said, meant = teacher.passages(logits, cosines, overlaps), pupil.passages(learned, cosines, overlaps)
    assert ((said >= wide.upper) == (meant >= narrow.upper)).all()
    odds = [values / (1 - values) for values in (said, meant)]
    assert np.allclose(odds[0] / odds[1], (0.25 / 0.75) / (0.1 / 0.9), rtol=1e-4)


def test_a_file_that_holds_no_labels_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"question": "one"}\n', "utf-8")
    with pytest.raises(SystemExit, match="holds no labels"):
        main(options_for(data, tmp_path / "work", "--labels", tmp_path / "labels.jsonl"))


def test_a_larger_models_opinion_counts_beside_the_labels_in_every_pass(data: Path, tiny: Path, tmp_path: Path) -> None:
    larger = tiny_bert(tmp_path / "larger", REPOSITORY_MODELS / "all-minilm-l6-v2", layers=2)
    options = ("--base", tiny, "--passes", "2", "--groups-per-step", "6")
    main(options_for(data, tmp_path / "alone", *options))
    main(options_for(data, tmp_path / "taught", *options, "--learn-from", larger))
    alone, taught = (load_file(tmp_path / run / "model" / "model.safetensors") for run in ("alone", "taught"))
    assert any(not alone[name].equal(taught[name]) for name in alone)
    report = json.loads((tmp_path / "taught" / "report.json").read_text())
    assert report["groups"] > 28, "there are no more, and each is seen twice"
    assert report["larger"] == "larger"
    card = (tmp_path / "taught" / "model" / "CARD.md").read_text()
    assert "the opinion of larger, a larger model" in card


def test_a_kind_of_text_that_nothing_is_known_of_has_no_figures_in_the_curve(tiny: Path) -> None:
    known = [Group("one", (Pair("why", "because", True), Pair("why", "no", False)), ())]
    trainer = Trainer(tiny, seed=1)
    figures = validate(trainer, Material.of(known, known, trainer.tokenizer).known)
    assert figures["passages_auc"] in {0.0, 0.5, 1.0}
    assert np.isnan([figures["strips_auc"], figures["strips_mrr"]]).all()
