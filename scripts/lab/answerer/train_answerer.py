"""Train the LoRA adapter with which the embedded language model answers from evidence.

    .venv/bin/python scripts/lab/answerer/train_answerer.py TRAIN_FOLDER --held-out DEV_FOLDER --work FOLDER
        [--minutes 60] [--everyday FILE …]

TRAIN_FOLDER contains passages.jsonl.gz and sentences.jsonl.gz (scripts/lab/answerer/examples.py describes their use).
Nothing in DEV_FOLDER is trained on. --everyday files contain documents with questions and full answers, in the form of
everyday/train.jsonl.gz (scripts/lab/answerer/everyday_answers.py). The work folder keeps the examples, the loss curve
and a checkpoint: another run resumes, even in the middle of making examples. The script trains rank-16 updates of every
projection (Hu et al. 2021, LoRA) on the dequantised weights of the app's GGUF file. The loss counts only the target.

Every batch is of one task, so that the beginning that its prompts share is evaluated only once.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.tuners.lora import LoraLayer
from transformers import AutoModelForCausalLM, DynamicCache

from localcrag.app.assembly import Assembly
from localcrag.models.llm import LlamaCpp
from localcrag.records.models import ModelRole
from localcrag.settings import load

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.answerer import everyday_answers, examples
from lab.answerer.adapter import write_adapter
from lab.everyday.questions import UnreadableData, read_documents
from lab.relevance.scores import KeepingScorer, fingerprint
from lab.training import pairs
from lab.training.train_relevance import with_large_pages
from lab.training.training_loop import multiplies_in_bf16, train

ROOT = Path(__file__).resolve().parents[3]


MODEL = ROOT / "models" / "smollm2-135m-instruct" / "SmolLM2-135M-Instruct.Q4_1.gguf"
RANK, ALPHA = 16, 32
LOWEST = 10
"""First layer that is adapted: those below need no backward pass (290 tokens a second instead of 230)."""
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LEARNING_RATE = 4e-4
WARM_UP = 0.04
AT_ONCE = 8
"""Examples in a step on a CPU; a GPU has room for more (--at-once)."""
USUAL_TOKENS = 20
"""Target tokens of a typical example, by which every example's loss is divided."""
MOST_TOKENS = 1024
"""Most tokens in prompt and answer together; the evidence may contain a table or a whole list."""
MOST_WORDS = 160
"""Most words in a passage; a longer one would be more than one chunk in the app."""
MOST_VALIDATED = 120
"""Most examples that are kept out of training for the curve."""
QUESTIONS = {
    "squad_train_subset(nqg)": 4200,
    "squadshifts_new_wiki": 3600,
    "selqa_dev": 232,
    "selqa_test": 453,
    "fairytaleqa_train": 500,
    "squadshifts_reddit": 250,
    "squadshifts_amazon_reviews": 200,
    "policyqa_dev": 150,
    "policyqa_test": 150,
}
"""Questions for answering, by source; few from sources whose questions depend on their text and match many."""
QUERIES, FOLLOW_UPS, LEFT_ALONE = 300, 1300, 300
Item = TypeVar("Item")
Learned = Callable[[random.Random], Iterator[examples.Example]]
"""Function that makes the examples of a question, with a random generator."""
GENERAL = frozenset({"squad_train_subset(nqg)", "squadshifts_new_wiki"})


@dataclass(frozen=True, slots=True)
class Tokens:
    """An example in the tokens of the app's language model."""

    task: str
    prompt: tuple[int, ...]
    target: tuple[int, ...]
    source: str = ""


def prepare(given: argparse.Namespace) -> list[Tokens]:
    """Return the examples in random order; they are made once and stored in the work folder."""
    path = given.work / f"examples-{given.seed}.jsonl"
    if not path.exists():
        make(given, path)
    with path.open(encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return [Tokens(row["task"], tuple(row["prompt"]), tuple(row["written"]), row["source"]) for row in rows]


def make(given: argparse.Namespace, path: Path) -> None:
    """Write the examples with their text to `path`; if interrupted, the next run resumes from a partial file."""
    seed = given.seed
    held = pairs.HeldOut.of(given.held_out)
    rows = [row for row in pairs.load_rows(given.data) if len(row.passage.split()) <= MOST_WORDS]
    kept = pairs.without_held_out(rows, held)
    print(f"{len(rows):,} rows, {len(rows) - len(kept)} left out: question or passage held out", file=sys.stderr)
    chosen = random.Random(seed)
    asked: list[pairs.Row] = []
    for source, number in QUESTIONS.items():
        asked += some((row for row in kept if row.source == source and row.answer_at), number, chosen)
    chosen.shuffle(asked)
    with closing(Assembly(load(data_dir=given.work / "data"))) as assembly:
        scorer = keeping_scorer(assembly, given.work)
        library = examples.Library(assembly, scorer, asked)
        llm = getattr(assembly.models.llm, "_model", None)
        assert isinstance(llm, LlamaCpp)  # noqa: S101 - for the type alone
        # The collection contains all passages, even if fewer questions are used.
        learned: list[Learned] = [partial(examples.answering, [row], library) for row in asked[: given.questions]]
        with closing(Assembly(load(data_dir=given.work / "everyday"))) as other:
            if given.everyday:
                learned += on_everyday(given.everyday, other, given.work, scorer)
            unfinished = path.with_suffix(".part")
            write_examples(learned, llm, unfinished, seed)
        general = [row for row in kept if row.source in GENERAL]
        further = [
            *some(examples.queries(some(general, 2 * QUERIES, chosen), chosen), QUERIES, chosen),
            *some(examples.follow_ups(general, chosen), FOLLOW_UPS, chosen),
            *some(examples.left_alone(some(general, 4 * LEFT_ALONE, chosen), chosen), LEFT_ALONE, chosen),
        ]
        lines = unfinished.read_text("utf-8").splitlines()
        lines += [json.dumps(as_json(example, llm, len(learned))) for example in further]
    chosen.shuffle(lines)
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    temporary.replace(path)
    unfinished.unlink()


def keeping_scorer(assembly: Assembly, work: Path) -> KeepingScorer:
    """Return the app's reranker with its scores cached in the work folder, so that an interrupted run resumes."""
    scorer = assembly.parts(assembly.settings).scorer
    folder = assembly.library.path(assembly.settings.relevance, ModelRole.RELEVANCE)
    return KeepingScorer(scorer, work / f"scores-{scorer.name}-{fingerprint(folder)}.sqlite3")


def on_everyday(files: Sequence[Path], assembly: Assembly, work: Path, scorer: KeepingScorer) -> list[Learned]:
    """Return the functions that make examples from the documents of these files. Raises SystemExit."""
    try:
        documents = [document for file in files for document in read_documents(file)]
    except UnreadableData as error:
        raise SystemExit(str(error)) from error
    shelf = everyday_answers.Shelf(assembly, documents, work / "documents", scorer)
    return [
        partial(everyday_answers.answering, one, asked, shelf)
        for one in documents
        for asked in one.questions
        if everyday_answers.is_to_be_written(asked)
    ]


def write_examples(learned: Sequence[Learned], llm: LlamaCpp, path: Path, seed: int) -> None:
    """Write the examples to `path`, or resume an interrupted run."""
    done = 0
    if path.exists():
        whole = path.read_text("utf-8").rpartition("\n")[0].splitlines()
        done = 1 + max((json.loads(line)["row"] for line in whole), default=-1)
        path.write_text("".join(f"{line}\n" for line in whole), "utf-8")
    with path.open("a", encoding="utf-8") as out:
        began = time.monotonic()
        for number in range(done, len(learned)):
            # Each question has its own random generator, so that an interruption changes nothing.
            for example in learned[number](random.Random(f"{seed} {number}")):
                out.write(json.dumps(as_json(example, llm, number)) + "\n")
            if number % 200 == 199:
                out.flush()
                left = (time.monotonic() - began) / (number - done + 1) * (len(learned) - number - 1)
                print(
                    f"{number + 1} of {len(learned)} questions, {left / 60:.0f} min left", file=sys.stderr, flush=True
                )


def some(found: Iterable[Item], most: int, chosen: random.Random) -> list[Item]:
    """Return up to `most` randomly chosen items."""
    every = list(found)
    return chosen.sample(every, min(most, len(every)))


def as_json(example: examples.Example, llm: LlamaCpp, row: int) -> dict[str, Any]:
    """Return an example as JSON, with its tokens for the app's language model."""
    prompt = llm._tokens(example.messages)
    target = llm._llama.tokenize(llm._plain(example.target).encode(), add_bos=False, special=False)
    written = [*target, llm._llama.token_eos()]
    return {
        "row": row,
        "task": example.task,
        "source": example.source,
        "messages": [dataclasses.asdict(message) for message in example.messages],
        "target": example.target,
        "prompt": prompt,
        "written": written,
    }


class Trainer:
    """The language model with its adapter and optimiser, on a GPU if there is one."""

    def __init__(self, model: Path, seed: int, precision: torch.dtype | None = None) -> None:
        """Load the model from a GGUF file, with its own weights in `precision` and the adapter's in 32 bits.

        None means bf16 if that saves time, otherwise fp32.
        """
        torch.manual_seed(seed)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        if precision is None:
            precision = torch.bfloat16 if multiplies_in_bf16(self.device) else torch.float32
        self.in_bf16 = precision is torch.bfloat16
        base: Any = AutoModelForCausalLM.from_pretrained(
            model.parent, gguf_file=model.name, dtype=precision, attn_implementation="sdpa"
        )
        config = LoraConfig(
            r=RANK,
            lora_alpha=ALPHA,
            lora_dropout=0.0,
            target_modules=list(PROJECTIONS),
            layers_to_transform=list(range(LOWEST, base.config.num_hidden_layers)),
            task_type="CAUSAL_LM",
        )
        self.model: Any = get_peft_model(base.to(self.device), config)
        for part in self.model.modules():
            if isinstance(part, LoraLayer):
                # Autocast rounds the weights; otherwise, inputs would first be converted to 32 bits (290 tokens a
                # second instead of 230; 350 with both).
                part.cast_input_dtype_enabled = not self.in_bf16
        self.parameters = [one for one in self.model.parameters() if one.requires_grad]
        self.optimiser = torch.optim.AdamW(self.parameters, lr=LEARNING_RATE, weight_decay=0.01, fused=True)

    def step(self, batch: Sequence[Tokens], rate: float) -> tuple[float, int]:
        """Train on the examples at `rate` times the learning rate; return the loss and the number of tokens."""
        self.model.train()
        for part in self.optimiser.param_groups:
            part["lr"] = LEARNING_RATE * rate
        losses, tokens = self.losses(batch)
        loss = losses.mean() / USUAL_TOKENS
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return float(loss.detach()), tokens

    def losses(self, batch: Sequence[Tokens]) -> tuple[torch.Tensor, int]:
        """Return each example's loss, summed over its target tokens, and the number of tokens processed.

        The loss is summed, not averaged. The first tokens decide whether the model answers at all. With a mean, each
        would weigh a fortieth in a long answer, but a seventh in “Not in the evidence.”, and the model would then
        always write that.
        """
        prompts = [one.prompt[:-1] for one in batch]  # At least the last token is not shared between examples.
        common = sum(1 for _ in itertools.takewhile(lambda all_: len(set(all_)) == 1, zip(*prompts, strict=False)))
        rows = [[*one.prompt, *one.target][common:] for one in batch]
        width = max(map(len, rows))
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        attended = torch.zeros(len(rows), common + width, dtype=torch.long)
        attended[:, :common] = 1
        written = torch.zeros(len(rows), width, dtype=torch.bool)
        for number, (row, one) in enumerate(zip(rows, batch, strict=True)):
            ids[number, : len(row)] = torch.tensor(row)
            attended[number, common : common + len(row)] = 1
            # The first target token is predicted at the token before it.
            written[number, len(row) - len(one.target) - 1 : len(row) - 1] = True
        ids, attended, written = ids.to(self.device), attended.to(self.device), written.to(self.device)
        inner = self.model.base_model.model
        with torch.autocast(self.device, torch.bfloat16, enabled=self.in_bf16):
            cache = None
            if common:
                beginning = torch.tensor([batch[0].prompt[:common]], device=self.device)
                cache = inner.model(beginning, use_cache=True, past_key_values=DynamicCache()).past_key_values
                cache.batch_repeat_interleave(len(rows))
            states = inner.model(
                ids,
                attention_mask=attended,
                position_ids=torch.arange(common, common + width, device=self.device)[None].expand(len(rows), -1),
                past_key_values=cache,
                use_cache=cache is not None,
            ).last_hidden_state
            logits = inner.lm_head(states[written]).float()
        following = torch.roll(ids, -1, dims=1)[written]
        each = torch.nn.functional.cross_entropy(logits, following, reduction="none")
        losses = torch.stack([part.sum() for part in torch.split(each, [len(one.target) for one in batch])])
        return losses, common + sum(map(len, rows))

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the adapter's weights, under peft's names."""
        # Otherwise, peft looks up the model's configuration, even on the hub, to see whether the vocabulary grew.
        found: dict[str, torch.Tensor] = get_peft_model_state_dict(self.model, save_embedding_layers=False)
        return found

    @torch.no_grad()
    def validate(self, known: Sequence[Tokens]) -> dict[str, float]:
        """Return the loss of each task on examples that are not trained on."""
        self.model.eval()
        found: dict[str, list[float]] = {}
        for batch in batches(known, random.Random(0)):
            for one, loss in zip(batch, self.losses(batch)[0].tolist(), strict=True):
                found.setdefault(one.task, []).append(loss)
        return {task: float(np.mean(losses)) for task, losses in found.items()}


def batches(some_of: Sequence[Tokens], chosen: random.Random, size: int = AT_ONCE) -> list[list[Tokens]]:
    """Return random batches of up to `size` examples, each with one kind of prompt and about the same length."""
    kinds: dict[str, list[Tokens]] = {}
    for one in some_of:
        # The prompts of answering and abstaining begin with the same text.
        kinds.setdefault("answer" if one.task == examples.Task.NOT_SAID else one.task, []).append(one)
    found = []
    for every in kinds.values():
        # Sorted by length only within a few hundred, so that a batch's length does not depend on its subject.
        own = chosen.sample(every, len(every))
        for start in range(0, len(own), 40 * size):
            part = sorted(own[start : start + 40 * size], key=lambda one: len(one.prompt))
            found += [part[at : at + size] for at in range(0, len(part), size)]
    chosen.shuffle(found)
    return found


class Course:
    """The training data in steps, for training_loop.py."""

    def __init__(self, trainer: Trainer, known: Sequence[Tokens], todo: Sequence[Sequence[Tokens]]) -> None:
        self.trainer, self.known, self.todo = trainer, known, todo

    def learn(self, number: int, rate: float) -> tuple[float, dict[str, int]]:
        """Train on batch `number`."""
        loss, tokens = self.trainer.step(self.todo[number], rate)
        return loss, {"tokens": tokens}

    def validate(self) -> dict[str, float]:
        """Return the loss of each task over the known examples."""
        return self.trainer.validate(self.known)

    def state(self) -> dict[str, Any]:
        """Return the adapter and the optimiser."""
        return {"adapter": self.trainer.weights(), "optimiser": self.trainer.optimiser.state_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the adapter and the optimiser from a checkpoint."""
        set_peft_model_state_dict(self.trainer.model, state["adapter"])
        self.trainer.optimiser.load_state_dict(state["optimiser"])


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--held-out", type=Path, required=True, help="folder of *.jsonl.gz that must not be trained on")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=MODEL, help="the GGUF file that the adapter is for")
    parser.add_argument("--out", type=Path, default=ROOT / "models" / "answerer-v1" / "adapter.gguf")
    parser.add_argument("--questions", type=int, metavar="N", help="so many of those that answering is learned from")
    parser.add_argument("--everyday", type=Path, nargs="*", default=[], metavar="FILE", help="documents with answers")
    parser.add_argument("--minutes", type=float, default=60, help="of training, preparation not counted")
    parser.add_argument("--passes", type=int, default=1, help="over the examples, if the minutes reach")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, metavar="N", help="examples of a step")
    parser.add_argument("--check-every", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--validated", type=int, default=MOST_VALIDATED, help="examples kept apart for the curve")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(given)
    arguments.work.mkdir(parents=True, exist_ok=True)
    made = prepare(arguments)
    fitting = [one for one in made if len(one.prompt) + len(one.target) <= MOST_TOKENS]
    known, seen = fitting[: arguments.validated], fitting[arguments.validated :]
    chosen = random.Random(arguments.seed)
    todo = [batch for _ in range(arguments.passes) for batch in batches(seen, chosen, arguments.at_once)]
    print(f"{len(made):,} examples, {len(made) - len(fitting)} too long: {Counter(one.task for one in fitting)}",
          file=sys.stderr, flush=True)  # fmt: skip
    trainer = Trainer(arguments.model, arguments.seed)
    progress = train(
        Course(trainer, known, todo), len(todo), arguments.work / "checkpoint.pt",
        minutes=arguments.minutes, warm_up=WARM_UP, check_every=arguments.check_every,
    )  # fmt: skip
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_adapter(arguments.out, trainer.weights(), trainer.model.config, alpha=ALPHA)
    machine = torch.cuda.get_device_name() if trainer.device == "cuda" else f"{torch.get_num_threads()} cores"
    report = {"minutes": progress.seconds / 60, "steps": progress.step, "machine": machine, **progress.counts}
    report["number_format"] = "bf16" if trainer.in_bf16 else "fp32"
    report |= {"seed": arguments.seed, "curve": progress.curve}
    (arguments.work / "report.json").write_text(json.dumps(report, indent=2))
    shown = [one for batch in todo[: progress.step] for one in batch]
    used = list(dict.fromkeys(shown))
    report["shown"] = len(shown)
    (arguments.out.parent / "CARD.md").write_text(card(arguments.out.parent.name, report, used), "utf-8")


def licence_of(source: str) -> str:
    """Return the licence of a source of examples."""
    return everyday_answers.LICENCE if source == everyday_answers.SOURCE else pairs.SOURCES[source].licence


def card(name: str, report: dict[str, Any], used: Sequence[Tokens]) -> str:
    """Return the model card in Markdown; measured figures are added manually, with the command that printed them."""
    tasks = [task.value for task in examples.Task]
    counts = Counter((one.source, one.task) for one in used)
    sources = sorted({one.source for one in used}, key=lambda source: -sum(counts[source, task] for task in tasks))
    table = [f"| source | licence | {' | '.join(tasks)} |", f"| --- | --- |{' --: |' * len(tasks)}"]
    table += [
        f"| {source} | {licence_of(source)} | {' | '.join(str(counts[source, task]) for task in tasks)} |"
        for source in sources
    ]
    curve = [f"| step | minutes | loss | {' | '.join(tasks)} |", f"| --: | --: | --: |{' --: |' * len(tasks)}"]
    curve += [
        f"| {row['step']:,} | {row['minutes']:.0f} | {row['loss']:.3f} | "
        f"{' | '.join(f'{row[task]:.3f}' if task in row else '' for task in tasks)} |"
        for row in report["curve"]
    ]
    return CARD.format(
        name=name,
        rank=RANK,
        alpha=ALPHA,
        lowest=LOWEST,
        count=len(used),
        sources="\n".join(table),
        rows="\n".join(curve),
        **report,
    )


CARD = """# {name}

A LoRA adapter (rank {rank}, alpha {alpha}, every projection from layer {lowest} on, 16-bit GGUF) for
SmolLM2-135M-Instruct (Apache-2.0), made by `scripts/lab/answerer/train_answerer.py`. Our own weights, licence
Apache-2.0. With it, the embedded language model answers from numbered evidence in the evidence's own sentences, says
when the evidence does not answer, puts follow-ups so that they can be understood alone, and shortens questions to
search queries. It was trained on de-quantised weights and is loaded by llama.cpp on the quantised ones;
`tests/lab/test_answerer.py` holds the two against each other.

## Training
{count:,} examples, shown {shown:,} times in all ({tokens:,} tokens, {steps:,} steps, seed {seed}), {minutes:.0f}
minutes on {machine} in {number_format}. Prompts are the app's own, with evidence that its retriever, relevance model
and refiner made (`scripts/lab/answerer/examples.py`).
No question or passage of the data that it is measured on was trained on: the script leaves such rows out.

{sources}

The curve, the loss of each task in nats an example, on examples kept apart:

{rows}
"""


if __name__ == "__main__":
    with_large_pages()
    main()
