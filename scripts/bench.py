"""Print the project's speed figures, measured on this machine with the models in use.

    .venv/bin/python scripts/bench.py [--quick] [--json]

Ratios are of two things measured in the same run, so that they hold on a noisy machine; seconds are medians.
The texts are made here, from a seeded vocabulary of plain sentences with one fact each: speed depends on their length,
not on their sense. The questions ask for those facts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import llama_cpp

from localcrag.app.assemble import Assembly
from localcrag.app.files_to_add import uploads_from
from localcrag.backends.models.llama_cpp import LlamaCpp
from localcrag.backends.models.lookup_decoding import LookupLlama
from localcrag.records.events import AnswerPiece, RunFinished
from localcrag.records.protocols import Decoding
from localcrag.settings import load
from localcrag.steps.answer import generate
from localcrag.steps.retrieve.retrieve import retrieve
from localcrag.ui.page import build

ROOT = Path(__file__).resolve().parent.parent


TOWNS = "Aldermoor Brackwater Cindlesea Dunhollow Elmsworth Farrowby Glenhaven Harrowgate Inverlock Jarrowmere".split()
THINGS = "harbour library windmill bakery museum theatre bridge school hospital market lighthouse brewery".split()
FILLER = (
    "Visitors come in every season and stay for a day or two.",
    "The council repairs the roof when the money allows it, which is not every year.",
    "On market days the square in front of it is full of stalls and carts.",
    "Older people remember a time when there was no electric light in the street.",
    "A small path leads from there down to the river and on to the next village.",
    "Nobody knows for sure who planted the chestnut trees along the wall.",
)


def write_documents(folder: Path, chunks: int, chosen: random.Random) -> list[str]:
    """Write text files of about `chunks` chunks and return questions that they answer."""
    questions = []
    for number in range(max(1, chunks // 10)):
        sentences = []
        for _ in range(10):
            town, thing, year = chosen.choice(TOWNS), chosen.choice(THINGS), chosen.randint(1500, 1990)
            name = f"{town} {thing} number {number}"
            sentences.append(f"The {name} was built in {year} and cost {chosen.randint(2, 90)} thousand crowns.")
            sentences += chosen.choices(FILLER, k=10)
            questions.append(f"When was the {name} built?")
        (folder / f"{number}.txt").write_text(" ".join(sentences), "utf-8")
    return chosen.sample(questions, min(len(questions), 60))


def ingest_share(assembly: Assembly, folder: Path) -> dict[str, float]:
    """Return the ingest's throughput, the raw encoder's on the same texts, and their ratio."""
    start = time.perf_counter()
    for _ in assembly.ingest(uploads_from([folder])):
        pass
    whole = time.perf_counter() - start
    texts = [row["text"] for row in assembly.database.rows("SELECT text FROM chunks")]
    start = time.perf_counter()
    assembly.models.embedder.embed(texts)
    raw = time.perf_counter() - start
    return {
        "chunks": float(len(texts)),
        "ingest, chunks a second": len(texts) / whole,
        "raw encoder, chunks a second": len(texts) / raw,
        "ingest / raw encoder": raw / whole,
    }


def corrected(assembly: Assembly, question: str) -> dict[str, float]:
    """Return the seconds of each step, to the first token, and to the last."""
    start = time.perf_counter()
    first = None
    for event in assembly.ask(question):
        if isinstance(event, AnswerPiece) and first is None:
            first = time.perf_counter() - start
        if isinstance(event, RunFinished):
            steps = {step.name: step.seconds for step in event.run.steps}
            tokens = next((step.prompt_tokens for step in event.run.steps if step.name == "generate"), 0)
    whole = time.perf_counter() - start
    steps["retrieve + evaluate + refine"] = sum(steps.get(name, 0.0) for name in ("retrieve", "evaluate", "refine"))
    return {**steps, "first token": first or whole, "last token": whole, "prompt tokens": float(tokens)}


def plain(assembly: Assembly, question: str) -> dict[str, float]:
    """Return the seconds of plain RAG: the same retrieval, no evaluation, no refinement, all passages in the prompt."""
    parts, settings = assembly.parts(assembly.settings), assembly.settings
    start = time.perf_counter()
    passages = retrieve(
        question, question, k=settings.k, candidates=settings.candidates, embedder=parts.embedder,
        index=parts.index, store=parts.store,
    )  # fmt: skip
    stream = parts.llm.stream(
        generate.plain_prompt(question, question, passages), Decoding(max_tokens=settings.answer_tokens)
    )
    first = None
    for _ in stream:
        first = first or time.perf_counter() - start
    whole = time.perf_counter() - start
    return {"first token": first or whole, "last token": whole, "prompt tokens": float(stream.prompt_tokens)}


def questions_report(assembly: Assembly, questions: list[str]) -> dict[str, float]:
    """Return medians of corrected and plain answers to the same questions, asked in turn, and their ratio."""
    assembly.warm_up()
    for question in questions[:2]:
        corrected(assembly, question)
        plain(assembly, question)
    ours, theirs = [], []
    for question in questions[2:]:
        ours.append(corrected(assembly, question))
        theirs.append(plain(assembly, question))
    figures = {f"corrected: {key}": statistics.median(one.get(key, 0.0) for one in ours) for key in ours[0]}
    figures |= {f"plain RAG: {key}": statistics.median(one[key] for one in theirs) for key in theirs[0]}
    figures["corrected / plain RAG, question to last token"] = sum(one["last token"] for one in ours) / sum(
        one["last token"] for one in theirs
    )
    return figures


def decoding(assembly: Assembly, questions: list[str]) -> dict[str, float]:
    """Return the tokens a second of answers to the best two passages, with and without guesses, and what differs."""
    llm, parts, settings = assembly.models.llm, assembly.parts(assembly.settings), assembly.settings
    assert isinstance(llm, LlamaCpp)  # noqa: S101 - for the type alone
    ways: dict[str, Callable[..., Iterator[int]]] = {
        "guessing ahead": LookupLlama.generate,
        "token by token": llama_cpp.Llama.generate,
    }
    seconds, count, texts = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0), []
    for number, question in enumerate(questions):
        passages = retrieve(
            question, question, k=2, candidates=settings.candidates, embedder=parts.embedder, index=parts.index,
            store=parts.store,
        )  # fmt: skip
        prompt, (end,) = llm.tokens(generate.plain_prompt(question, question, passages), "")
        found = {}
        for way in list(ways)[:: 1 if number % 2 else -1]:
            written: list[int] = []
            start = 0.0
            for token in itertools.islice(ways[way](llm._llama, prompt, temp=0.0), settings.answer_tokens):
                start = start or time.perf_counter()  # the prompt has been read
                written.append(token)
                if token == end:
                    break
            seconds[way] += time.perf_counter() - start
            count[way] += len(written) - 1
            found[way] = written
        texts.append(len({tuple(written) for written in found.values()}) == 1)
    speed = {way: count[way] / seconds[way] for way in ways}
    figures = {f"written tokens a second, {way}": each for way, each in speed.items()}
    figures["guessing ahead / token by token"] = speed["guessing ahead"] / speed["token by token"]
    return {**figures, "share of the answers that are the same": statistics.mean(texts)}


def startup(folder: Path) -> dict[str, float]:
    """Return the seconds until the page answers, at the second start, and those of `localcrag --help`."""
    python, environment = sys.executable, {**os.environ, "LOCALCRAG_DATA_DIR": str(folder)}
    times = []
    for port in (7951, 7952):
        start = time.perf_counter()
        server = subprocess.Popen(
            [python, str(ROOT / "app.py"), "--no-browser", "--port", str(port)], env=environment,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not _answers(port):
            time.sleep(0.05)
        times.append(time.perf_counter() - start)
        server.terminate()
        server.wait()
    helped = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([python, "-m", "localcrag", "--help"], stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
        helped.append(time.perf_counter() - start)
    return {"page answers, second start": times[1], "localcrag --help": statistics.median(helped)}


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
            return bool(page.status == 200)
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 chunks and 8 questions instead of 1,000 and 30")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    chunks, asked = (200, 8) if arguments.quick else (1000, 30)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "documents").mkdir()
        questions = write_documents(folder / "documents", chunks, random.Random(1))[: asked + 2]
        assembly = Assembly(load(data_dir=folder / "data"))
        build(assembly)  # so that the peak of memory counts the page as well
        assembly.models.embedder.embed(["warm up"] * 8)
        figures = ingest_share(assembly, folder / "documents")
        figures |= questions_report(assembly, questions)
        figures |= decoding(assembly, questions)
        figures["peak memory of this session with page, GiB"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        )
        assembly.close()
        figures |= startup(folder / "data")
    if arguments.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"{os.cpu_count()} cores, models: {assembly.settings.embedder}, {assembly.settings.relevance}, "
          f"{assembly.settings.llm}; seconds unless it says otherwise, medians of {asked} questions")  # fmt: skip
    for name, value in figures.items():
        print(f"{name:<50} {value:10.3f}")


if __name__ == "__main__":
    main()
