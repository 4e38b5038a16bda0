"""Train the reranker from labelled data, and write a cross-encoder folder with its model card.

    .venv/bin/python scripts/lab/training/train_relevance.py TRAIN_FOLDER --held-out DEV_FOLDER --work FOLDER
        [--minutes 110]

TRAIN_FOLDER contains passages.jsonl.gz and sentences.jsonl.gz (scripts/lab/training/pairs.py describes their use).
Nothing in DEV_FOLDER is trained on, and a training pair that contains any of it ends the run. Training starts from the
weights of the bi-encoder all-MiniLM-L6-v2, or from those of --base (a reranker, or the output of
scripts/lab/training/weights_from_onnx.py). With --frozen N, its lowest N layers do not change, so that more pairs are
learned in the same time. The work folder keeps the pairs, the curve and a checkpoint: another run resumes.

--teacher FOLDER: learn an earlier reranker's scores of passages that are found for general questions
(scripts/lab/training/teacher.py), so that new data does not displace what it knew.

--learn-from FOLDER: learn the scores of a larger reranker that was trained before. The target of every pair and line is
half its label and half that score.

--labels FILE: also train on pairs that users labelled (`localcrag labels export --as training FILE`), unchanged. None
of them is among the groups kept apart for the curve.

--documents FILE …: also train on questions about whole documents, with the passages that the app finds for them
(scripts/lab/training/everyday.py). --plain FILE … adds further questions about those documents, such as these files in
scripts/lab/training/documents: plain_questions.jsonl.gz, in the words of the text, answered and not; and
other_wordings.jsonl.gz, 1,500 of the questions in four other wordings each, which must get the same scores. Our own
documents are in further_documents.jsonl.gz there; short_documents.jsonl.gz has notes and leaflets of a few lines with
direct questions; twin_documents.jsonl.gz has 302 documents with pairs of questions that look equally doubtful, of which
the text decides one. --near-misses FILE …: passages with questions that they do not answer.

--words-stay: keep the token embeddings of --base, a multilingual embedding model, unchanged; the reranker then ships
without them (localcrag/models/reranker_format.py). translated_documents.jsonl.gz has documents in seven languages for
--documents, and translated_questions.jsonl.gz questions in one language about documents in English. Set
LOCALCRAG_EMBEDDER to that embedding model, so that training finds the same passages as the app.

There are three losses: binary cross-entropy of each pair (so that the logit can be calibrated); cross-entropy of the
relevant pair within its group (ranking); and, where the place of the answer is known, binary cross-entropy of each line
by a second head, for whether a complete answer needs the line (so that the model looks for an answer and not for a
topic; the app scores strips with that head). The trainer of sentence-transformers is not used: it has neither groups of
two lengths in one step nor a second head, and needs two more packages. The result is an ordinary sentence-transformers
cross-encoder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer

from localcrag.models.encoders import BiEncoder, read_calibration
from localcrag.privacy.guard import allow_all_programs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.training import everyday, pairs, teacher
from lab.training.course import GROUPS_PER_STEP, PAIRS_OF, QUESTIONS_OF, Course, Material, save_model
from lab.training.trainer import LEARNING_RATE, Trainer
from lab.training.training_loop import Progress, train
from lab.training.without_words import for_pairs, leave_words_out

ROOT = Path(__file__).resolve().parents[3]


BASE = ROOT / "models" / "all-minilm-l6-v2"
WARM_UP = 0.05
LARGE_PAGES = "glibc.malloc.hugetlb=1"
EMBEDDED = 400
"""First characters of a text that are embedded to find look-alikes: they show its topic in a third of the time."""
MOST_VALIDATED = 300
"""Most groups kept apart for the curve; a tenth of a small set."""

T = TypeVar("T")


def embed_cached(embedder: BiEncoder, work: Path) -> Any:
    """Return a function that embeds the beginnings of texts, with a cache in the work folder."""

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        path = work / f"vectors-{key}.npy"
        if not path.exists():
            cut = [text[:EMBEDDED] for text in texts]
            vectors = np.concatenate([embedder.embed(cut[at : at + 512]) for at in range(0, len(cut), 512)])
            temporary = path.with_suffix(".tmp.npy")
            np.save(temporary, vectors)
            temporary.replace(path)
        return np.asarray(np.load(path), dtype=np.float32)

    return embed


def made_once(path: Path, make: Callable[[], T]) -> T:
    """Return the object stored at `path` by an earlier run, or make and store it."""
    if not path.exists():
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(pickle.dumps(make()))
        temporary.replace(path)
    made: T = pickle.loads(path.read_bytes())  # noqa: S301 - our own file
    return made


def prepare(
    data: Path, held_out: Path, encyclopaedia: Path | None, work: Path, *, seed: int, share: float = 1.0
) -> list[pairs.Group]:
    """Return the training groups, cached in the work folder. Raises SystemExit if held-out data is among them."""
    held = pairs.HeldOut.of(held_out)

    def make() -> list[pairs.Group]:
        rows = pairs.load_rows(data)
        clear = pairs.without_held_out(rows, held)
        print(f"{len(rows):,} rows, {len(rows) - len(clear)} left out: question or passage held out", file=sys.stderr)
        embedder = BiEncoder("all-minilm-l6-v2", BASE)
        chosen = random.Random(seed)
        further = pairs.load_encyclopaedia(encyclopaedia, held, chosen) if encyclopaedia else []
        if share < 1:
            clear = chosen.sample(clear, round(share * len(clear)))
        return pairs.make_groups(clear, embed=embed_cached(embedder, work), chosen=chosen, encyclopaedia=further)

    groups = made_once(work / f"groups-{seed}.pickle", make)
    pairs.refuse_held_out(groups, held)
    return groups


def prepare_lessons(arguments: argparse.Namespace) -> list[pairs.Group]:
    """Return the groups with the teacher's scores, cached in the work folder. Raises ModelError."""

    def make() -> list[pairs.Group]:
        held = pairs.HeldOut.of(arguments.held_out)
        return teacher.taught_groups(
            pairs.without_held_out(pairs.load_rows(arguments.data), held),
            arguments.most_taught,
            logits=Trainer(arguments.teacher, arguments.seed).logits,
            calibrations=(read_calibration(arguments.teacher), read_calibration(arguments.base)),
            embed=embed_cached(BiEncoder("all-minilm-l6-v2", BASE), arguments.work),
            chosen=random.Random(arguments.seed),
        )

    return made_once(arguments.work / f"taught-{arguments.seed}.pickle", make)


def prepare_documents(arguments: argparse.Namespace) -> tuple[list[pairs.Group], list[pairs.Group]]:
    """Return the groups of documents and near misses to train on, and those kept apart; cached for each file.

    The names of the documents kept apart are also written to the work folder, since a calibration is fitted to them.
    """
    parts: list[everyday.Made] = []
    plain = everyday.plain_questions(arguments.plain)
    chosen = random.Random(arguments.seed)
    again: list[pairs.Group] = []
    seen: list[pairs.Group] = []
    for file in arguments.documents:
        folder: Path = arguments.work / f"{file.name.split('.')[0]}-{arguments.seed}"
        made = [_documents_made(file, folder, arguments)]
        if plain:
            made.append(_documents_made(file, folder, arguments, plain))
        parts += made
        (seen if file == arguments.documents[-1] else again).extend(group for part in made for group in part.seen)
    seen += chosen.sample(again, min(len(again), arguments.most_again or len(again)))
    known = [group for part in parts for group in part.known]
    names = sorted({name for part in parts for name in part.names})
    (arguments.work / "apart.json").write_text(json.dumps(names), "utf-8")
    near = [group for file in arguments.near_misses for group in everyday.near_miss_groups(file, random.Random(1))]
    seen += chosen.sample(near, min(len(near), arguments.most_near or len(near)))
    held = pairs.HeldOut.of(arguments.held_out)
    kept = [group for group in seen if not pairs.is_held_out(group, held)]
    print(f"{len(seen):,} groups, {len(seen) - len(kept)} left out: question or text held out", file=sys.stderr)
    kept = [everyday.dressed(group, chosen) for _ in range(arguments.times) for group in kept]
    return kept, known


def _documents_made(
    file: Path, folder: Path, arguments: argparse.Namespace, plain: Sequence[everyday.Question] = ()
) -> everyday.Made:
    """Return the groups of a file's documents, cached in its folder."""
    path = folder / ("plain.pickle" if plain else "groups.pickle")
    made = made_once(
        path,
        lambda: everyday.document_groups(
            file, folder, arguments.apart, random.Random(arguments.seed), plain, beside=arguments.beside
        ),
    )
    print(f"  {path}: {len(made.seen)} groups, {len(made.known)} kept apart", file=sys.stderr, flush=True)
    return made


def apart(groups: list[pairs.Group]) -> tuple[list[pairs.Group], list[pairs.Group]]:
    """Return the groups for the curve and those to train on."""
    count = min(MOST_VALIDATED, len(groups) // 10)
    return groups[:count], groups[count:]


def with_labels(seen: Sequence[pairs.Group], file: Path, held_out: Path) -> list[pairs.Group]:
    """Return the groups to train on, followed by those of labelled pairs."""
    labelled, left_out = pairs.load_labels(file, pairs.HeldOut.of(held_out))
    count = sum(len(group.passages) + len(group.strips) for group in labelled)
    print(f"{count} labelled pairs, {left_out} more left out: question or text held out", file=sys.stderr)
    return [*seen, *labelled]


def put_together(arguments: argparse.Namespace) -> tuple[list[pairs.Group], list[pairs.Group]]:
    """Return the groups for the curve, and those to train on, from all sources in random order."""
    groups = prepare(
        arguments.data, arguments.held_out, arguments.encyclopaedia, arguments.work,
        seed=arguments.seed, share=arguments.share,
    )  # fmt: skip
    known, seen = apart(groups)
    if arguments.documents:
        further, new = prepare_documents(arguments)
        new = random.Random(arguments.seed).sample(new, min(len(new), MOST_VALIDATED // 2))
        known = [*known[: MOST_VALIDATED // 2], *new]
        seen = [*seen[: arguments.most_general], *further]
    if arguments.teacher:
        seen += prepare_lessons(arguments)
    if arguments.labels:
        seen = with_labels(seen, arguments.labels, arguments.held_out)
    random.Random(arguments.seed).shuffle(seen)
    return known, seen


def parsed(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--held-out", type=Path, required=True, help="folder of *.jsonl.gz that must not be trained on")
    parser.add_argument(
        "--encyclopaedia", type=Path, help="file of articles (title, text as *.jsonl.gz) for further negatives"
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "models" / "relevance-v3")
    parser.add_argument(
        "--base", type=Path, default=BASE, help="whose weights to begin with; a relevance model trains on"
    )
    parser.add_argument("--origin", default="all-MiniLM-L6-v2 (Apache-2.0)", help="whose weights those were in the end")
    parser.add_argument("--documents", type=Path, nargs="*", default=[], help="files of documents with questions")
    parser.add_argument(
        "--plain", type=Path, nargs="*", default=[], help="files of further questions on those documents, one a line"
    )
    parser.add_argument("--near-misses", type=Path, nargs="*", default=[], help="files of passages with near misses")
    parser.add_argument(
        "--most-again", type=int, help="groups at most of all --documents but the last: those that --base has seen"
    )
    parser.add_argument("--teacher", type=Path, help="an earlier relevance model, whose judgement of DATA is kept")
    parser.add_argument("--most-taught", type=int, default=2_500, help="questions that the teacher judges at most")
    parser.add_argument("--most-near", type=int, help="groups of near misses beside the documents' at most")
    parser.add_argument("--most-general", type=int, help="groups of DATA_FOLDER beside the documents' at most")
    parser.add_argument(
        "--times", type=int, default=1, help="each question of --documents and --near-misses is seen, put in other ways"
    )
    parser.add_argument(
        "--apart", type=int, default=9, help="one of so many documents is kept apart, for the curve and the calibration"
    )
    parser.add_argument(
        "--beside", type=int, default=1, help="times the usual three or four passages beside each answer"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of each source's questions that is trained on")
    parser.add_argument("--rate", type=float, default=LEARNING_RATE, help="the highest learning rate")
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers that stay as they are, with the words")
    parser.add_argument(
        "--words-stay", action="store_true", help="those of --base, an embedder, without which the model then ships"
    )
    parser.add_argument("--learn-from", type=Path, help="a larger relevance model, whose opinion counts beside labels")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of the hidden numbers left out at random")
    parser.add_argument("--groups-per-step", type=int, default=GROUPS_PER_STEP, help="that are learned from at once")
    parser.add_argument(
        "--tokens-per-step", type=int, help="in its place: groups of about the same length, so much at once (a GPU)"
    )
    parser.add_argument("--passes", type=int, default=1, help="over all that is learned from")
    parser.add_argument("--labels", type=Path, help="pairs labelled in use, to be trained on as well")
    parser.add_argument("--minutes", type=float, default=110, help="of training, preparation not counted")
    parser.add_argument("--check-every", type=int, default=250, help="steps between two checkpoints")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    arguments = parsed(given)
    arguments.work.mkdir(parents=True, exist_ok=True)
    base: Path = arguments.base
    if arguments.words_stay:
        base = for_pairs(base, arguments.work / base.name)
    material = made_once(
        arguments.work / f"material-{arguments.seed}{_mark(arguments.labels)}.pickle",
        lambda: Material.of(*put_together(arguments), AutoTokenizer.from_pretrained(base)),
    )
    trainer = Trainer(
        base, arguments.seed, arguments.rate, frozen=arguments.frozen, words_stay=arguments.words_stay,
        dropout=arguments.dropout, larger=arguments.learn_from,
    )  # fmt: skip
    course = Course(
        trainer, material, random.Random(arguments.seed),
        passes=arguments.passes, groups_per_step=arguments.groups_per_step, tokens_per_step=arguments.tokens_per_step,
    )  # fmt: skip
    number_format = "bf16 autocast" if trainer.in_bf16 else "fp32"
    threads = torch.get_num_threads()
    machine = torch.cuda.get_device_name() if trainer.device == "cuda" else f"{threads} cores of {os.uname().machine}"
    print(f"{len(material.seen):,} groups on {machine}, {number_format}", file=sys.stderr, flush=True)
    progress = train(
        course, len(course.steps), arguments.work / f"checkpoint-{arguments.out.name}.pt",
        minutes=arguments.minutes, warm_up=WARM_UP, check_every=arguments.check_every,
    )  # fmt: skip
    save_model(trainer, base, arguments.out)
    if arguments.words_stay:
        leave_words_out(arguments.out)
    report = {"base": arguments.base.name, "origin": arguments.origin, "machine": machine}
    report |= {"larger": arguments.learn_from.name if arguments.learn_from else None, "passes": arguments.passes}
    report |= {"number_format": number_format, "seed": arguments.seed, "millions": trainer.model.num_parameters() / 1e6}
    report |= summary(progress)
    (arguments.work / "report.json").write_text(json.dumps(report, indent=2))
    before = earlier_training(arguments.base)
    (arguments.out / "CARD.md").write_text(card(arguments.out.name, report, progress.curve) + before, "utf-8")
    print(json.dumps(report, indent=2))


def _mark(labels: Path | None) -> str:
    """Return a mark for the cache's name that depends on the labels; "" if there are none."""
    return f"-{hashlib.sha256(labels.read_bytes()).hexdigest()[:16]}" if labels and labels.exists() else ""


def summary(progress: Progress) -> dict[str, Any]:
    """Return the duration and the amounts of training data, in all and by source."""
    questions = {name[len(QUESTIONS_OF) :]: count for name, count in progress.counts.items() if QUESTIONS_OF in name}
    return {
        "minutes": progress.seconds / 60,
        "steps": progress.step,
        "pairs": progress.counts["pairs"],
        "tokens": progress.counts["tokens"],
        "groups": sum(questions.values()),
        "questions": questions,
        "pairs_by_source": {source: progress.counts[PAIRS_OF + source] for source in questions},
    }


def card(name: str, report: dict[str, Any], curve: list[dict[str, float]]) -> str:
    """Return the model card in Markdown; scripts/lab/relevance/eval_relevance.py adds the figures to it."""
    sources = "\n".join(
        f"| {source} | {licence_of(source)} | {count:,} | {report['pairs_by_source'][source]:,} |"
        for source, count in sorted(report["questions"].items(), key=lambda item: -item[1])
    )
    rows = "\n".join(
        f"| {row['step']:,} | {row['minutes']:.0f} | {row['loss']:.3f} | {row['passages_auc']:.3f} | "
        f"{row['passages_mrr']:.3f} | {row['strips_auc']:.3f} | {row['strips_mrr']:.3f} |"
        for row in curve
    )
    larger = LARGER.format(**report) if report["larger"] else ""
    further = {"name": name, "sources": sources, "curve": rows, "kept_apart": MOST_VALIDATED, "opinion": larger}
    return CARD.format(**report, **further)


def licence_of(source: str) -> str:
    """Return the licence of a source. Labels belong to the person who gave them, and quote that person's documents."""
    further = {pairs.LABELS: "own, may quote private documents", teacher.TAUGHT: teacher.LICENCE, **everyday.LICENCES}
    return further.get(source) or pairs.SOURCES[source].licence


def earlier_training(base: Path) -> str:
    """Return the training section of the base model's card under a heading of its own; "" if it has none."""
    path = base / "CARD.md"
    text = path.read_text("utf-8") if path.exists() else ""
    found = re.search(r"^## Training\n(.*?)(?=^## (?!#)|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return f"\n### The training before: the weights that this one began with\n{found[1].rstrip()}\n" if found else ""


LARGER = """Of every pair and line, it learned beside its label the opinion of {larger}, a larger model trained on
the same pairs (`--learn-from`), half of each. """
CARD = """# {name}

A relevance model: a cross-encoder (BertForSequenceClassification, one logit, {millions:.1f} M parameters, fp16
safetensors, uncased), made from {origin} by `scripts/lab/training/train_relevance.py`, in this run from the
weights of {base}. Our own weights, licence Apache-2.0. It reads a question and a text (a passage of about 180 tokens,
or one sentence of it) and gives one logit: how likely the text helps to answer. `place_head.safetensors` is one linear
layer over its last hidden states that says which lines of the text a complete answer needs. `calibration.json` turns
both logits into probabilities.

## Training
{pairs:,} pairs of {groups:,} questions ({tokens:,} tokens, {steps:,} steps, seed {seed}) in {minutes:.0f} minutes on
{machine}, {number_format}, in {passes} passes or less. A question's pairs are its passage (12 to 150 words round the
answer, some with their title in front), passages of the same source and of an encyclopaedia that the bi-encoder takes
for it and that do not hold the answer, the passage with the answer's sentence cut out, the passage under a question
that it does not answer, the answer's sentence, and other sentences of the passage. Questions come as sentences, in
lower case without a mark, and as keywords. *everyday documents* are what the app retrieves from whole documents for
questions in other words than theirs, passages with the headings that they stand under: relevant are those that hold the
needed lines; the others, the same passages with the needed lines cut out, and all that is found for questions that a
document does not answer are not. *plain questions* are asked of the same documents, in their own words, answered and
not (`scripts/lab/training/documents/plain_questions.jsonl.gz`), and in four other wordings (`other_wordings.jsonl.gz`
there); of the documents 274, 240 and 302 are those of `further_documents`, `short_documents` and
`twin_documents.jsonl.gz` there. *near_misses* are passages with questions that they answer and plausible ones that they
do not. *what the earlier model says* are passages that the bi-encoder finds for general questions, with the logit of a
relevance model that knew those (`--teacher`). {opinion}No question or passage of the data that it is
measured on was trained on: the script leaves such rows out, and refuses when one is left.

| source | licence | questions | pairs |
| --- | --- | --- | --- |
{sources}

The curve, on {kept_apart} groups kept apart:

| step | minutes | loss | passages AUC | MRR | strips AUC | MRR |
| --- | --- | --- | --- | --- | --- | --- |
{curve}
"""


def with_large_pages() -> None:
    """Restart the script with the C library's memory in large pages, if the system offers them (Linux).

    Torch allocates and frees hundreds of megabytes in each step. With small pages, the kernel takes a fifth of the
    time (20 pairs a second instead of 27).
    """
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ:
        allow_all_programs("this script once more")
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "GLIBC_TUNABLES": LARGE_PAGES})  # noqa: S606


if __name__ == "__main__":
    with_large_pages()
    main()
