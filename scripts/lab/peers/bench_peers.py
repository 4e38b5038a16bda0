"""Compare localcrag with LangChain and LlamaIndex on the same documents, questions and models.

    .venv/bin/python scripts/lab/peers/bench_peers.py DATA [--answerable 60] [--unanswerable 20] [--program NAME …]
        [--json FILE] [--folder DIR] [--answers FILE]

DATA contains everyday/dev.jsonl.gz (scripts/lab/everyday/eval_everyday.py describes it). Half of its documents are
added. The questions are a seeded sample of those that these documents answer, and of those that they do not (near
misses, and questions about the other half). LangChain uses Chroma. Each program is set up as at the start of its
documentation, in its own environment (made once, below --folder) that shares torch, sentence-transformers and
llama-cpp-python with localcrag. The programs run one after the other, without a network and without telemetry, with
all-minilm-l6-v2, smollm2-135m-instruct, one thread per core, greedy decoding and answers of at most 256 tokens.
localcrag also runs with its default, its own adapter on that model.

An answer is complete if it contains every needed line (by the rules of eval_everyday.py). It is made up if the
documents do not answer the question, and neither the program nor the text says that there is no answer. Shares have
95 % intervals over the questions. The script prints a Markdown table; --json writes the figures, and --answers writes
every answer as a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from localcrag.privacy.guard import allow_all_programs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.everyday.questions import Case, Document, UnreadableData, read_documents
from lab.peers.child import Answered, Measured, Task
from lab.peers.environments import NotInstalled, environment, python_for, without_network
from lab.peers.programs import PEERS, Peer
from lab.peers.scoring import documents_of, questions_of, scored, shares, table, taken

ROOT = Path(__file__).resolve().parents[3]
MODELS = Path(os.environ.get("LOCALCRAG_MODELS_DIR") or ROOT / "models")
EMBEDDER = "all-minilm-l6-v2"
LANGUAGE_MODEL = "smollm2-135m-instruct"
TOKENS = 256
"""Most tokens of an answer: the default of LangChain and LlamaIndex."""


class Failed(Exception):
    """A program ended before it was measured; the message contains the end of its output."""


def run(peer: Peer, documents: Sequence[Document], cases: Sequence[Case], environments: Path) -> Measured:
    """Run a program, and return its figures and answers. Raises NotInstalled and Failed."""
    python = python_for(peer.packages, environments)
    (llm,) = (MODELS / LANGUAGE_MODEL).glob("*.gguf")
    embedder = next(path for path in (MODELS / EMBEDDER, *(MODELS / EMBEDDER).rglob("*")) if is_a_model(path))
    with TemporaryDirectory(prefix="localcrag-peers-") as temporary:
        folder = Path(temporary)
        for name in ("documents", "data"):
            (folder / name).mkdir()
        for document in documents:
            document.write(folder / "documents")
        task = Task(
            str(folder / "documents"), str(folder / "data"), str(embedder), str(llm), TOKENS, os.cpu_count() or 1,
            tuple(case.labelled.text for case in cases), peer.options,
        )  # fmt: skip
        (folder / "task.json").write_text(json.dumps({"module": peer.module, "task": asdict(task)}), "utf-8")
        done = subprocess.run(
            [*without_network(), str(python), "-m", "lab.peers.child", "task.json", "result.json"], cwd=folder,
            env=environment((ROOT, ROOT / "scripts")), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
            raise Failed(f"{peer.name} ended with status {done.returncode}:\n{said}")
        result = json.loads((folder / "result.json").read_text("utf-8"))
    return Measured(**{**result, "answers": tuple(Answered(**one) for one in result["answers"])})


def is_a_model(folder: Path) -> bool:
    """Return whether sentence-transformers would load this folder."""
    return (folder / "modules.json").is_file()


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--answerable", type=int, default=60, metavar="N", help="questions with an answer (60)")
    parser.add_argument("--unanswerable", type=int, default=20, metavar="N", help="questions without one (20)")
    parser.add_argument("--program", action="append", choices=[one.name for one in PEERS], help="only this one")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".artifacts" / "peers", help="where the environments are made"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write every answer with what it is worth")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    allow_all_programs("other programs, to be measured")
    columns, answers = {}, []
    try:
        every = read_documents(chosen.data / "everyday" / "dev.jsonl.gz")
        cases = questions_of(every, chosen.answerable, chosen.unanswerable)
        for peer in PEERS:
            if chosen.program and peer.name not in chosen.program:
                continue
            print(f"{peer.name}: {peer.set_up}", file=sys.stderr, flush=True)
            measured = run(peer, documents_of(every), cases, chosen.folder.absolute())
            marks = [scored(*one) for one in zip(cases, measured.answers, strict=True)]
            columns[peer.name] = (taken(measured), shares(marks))
            print(table({peer.name: columns[peer.name]}), file=sys.stderr, flush=True)  # the others may take an hour
            for case, answered, mark in zip(cases, measured.answers, marks, strict=True):
                answers.append(
                    {"program": peer.name, "question": case.labelled.text, **asdict(answered), **asdict(mark)}
                )
    except (UnreadableData, NotInstalled, Failed) as error:
        print(f"bench_peers: {error}", file=sys.stderr)
        return 1
    finally:
        if chosen.answers:
            lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in answers)
            chosen.answers.write_text("".join(lines), "utf-8")
    print(table(columns))
    if chosen.json:
        figures = {
            name: {**took, **{what: one and asdict(one) for what, one in found.items()}}
            for name, (took, found) in columns.items()
        }
        chosen.json.write_text(json.dumps(figures, indent=2), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
