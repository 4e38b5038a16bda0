"""`localcrag labels`, `pins` and `gaps`: feedback, pinned questions, and unanswered questions.

Slow imports happen only when a subcommand runs, so that `localcrag --help` stays fast.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcrag.interfaces.cli.command import (
    at_least_one,
    counted,
    finish_secure_deletion,
    index_warnings,
    open_app,
    open_history,
    print_result,
)
from localcrag.records.errors import LabelError, SettingsError
from localcrag.text.words import shorten

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.runs.labels import Label, Pin
    from localcrag.runs.statistics import KnowledgeGap
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


ALL = "all"
SHOWN_CHARACTERS = 80


def add_labels_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `labels` and its subcommands; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    labels = subparsers.add_parser(
        "labels", parents=[common, within], help="list, add or export your feedback on answers and passages"
    )
    labels.set_defaults(run=_list_labels, run_id=None)
    named = labels.add_subparsers(metavar="list | add | remove | export")

    command = named.add_parser("list", parents=[common, within], help="list the labels, oldest first")
    command.add_argument("--run", dest="run_id", metavar="RUN", help="list only labels of this run")
    command.set_defaults(run=_list_labels)

    command = named.add_parser("add", parents=[common], help="label a run's answer, passages and sentences")
    command.add_argument("run_id", metavar="RUN")
    verdict = command.add_mutually_exclusive_group()
    verdict.add_argument("--good", dest="answer", action="store_const", const=True, help="the answer is good")
    verdict.add_argument("--bad", dest="answer", action="store_const", const=False, help="the answer is bad")
    command.add_argument("--relevant", nargs="+", default=[], metavar="ID", help="ids of passages that help, or “all”")
    command.add_argument(
        "--not-relevant", nargs="+", default=[], metavar="ID", help="ids of passages that do not help, or “all”"
    )
    command.add_argument(
        "--right", nargs="+", default=[], metavar="N", help="numbers of the answer's correct sentences, starting from 1"
    )
    command.add_argument(
        "--wrong", nargs="+", default=[], metavar="N", help="numbers of the answer's wrong sentences, starting from 1"
    )
    command.set_defaults(run=_add_label)

    command = named.add_parser("remove", parents=[common, within], help="remove labels and what they quote")
    command.add_argument(
        "ids", nargs="*", type=at_least_one("the number of a label"), metavar="ID", help="ids from `labels list`"
    )
    command.add_argument("--run", dest="run_id", metavar="RUN", help="remove all labels of this run")
    command.add_argument(
        "--document", metavar="NAME", help="remove all labels that quote this document, or whose run found it"
    )
    command.add_argument("--all", action="store_true", help="remove all labels, or all of --collection")
    command.set_defaults(run=_remove_label)

    command = named.add_parser(
        "export", parents=[common, within], help="export labels as an evaluation set or as training data"
    )
    command.add_argument(
        "--as", dest="form", choices=["set", "training"], required=True,
        help="set: a folder for `localcrag eval`; training: a file of pairs to train a reranker with",
    )  # fmt: skip
    command.add_argument("path", type=Path, metavar="PATH", help="the folder or file to write")
    command.set_defaults(run=_export)


def _list_labels(parsed: argparse.Namespace, settings: Settings) -> int:
    learning = open_history(parsed, settings).learning
    labels = learning.labels.find(collection=parsed.collection, run_id=parsed.run_id)
    _print(labels, parsed, "\n".join(map(_label_line, labels)) or "No labels yet.")
    return DONE


def _add_label(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.runs.labels import LabelKind

    assembly = open_app(settings)
    run = assembly.runs.get(parsed.run_id)
    passages = [passage.id for passage in run.passages]
    wanted = [(LabelKind.ANSWER, "", parsed.answer)] if parsed.answer is not None else []
    for ids, good in ((parsed.relevant, True), (parsed.not_relevant, False)):
        wanted += [(LabelKind.PASSAGE, name, good) for name in (passages if ids == [ALL] else ids)]
    for numbers, good in ((parsed.right, True), (parsed.wrong, False)):
        wanted += [(LabelKind.SENTENCE, number, good) for number in numbers]
    if not wanted:
        raise SettingsError(
            "Give at least one label: --good or --bad, --relevant ID, --not-relevant ID, --right N, --wrong N."
        )
    if twice := sorted({name for kind, name, good in wanted if (kind, name, not good) in wanted}):
        raise SettingsError(f"Labelled both ways: {', '.join(twice)}. Choose one label for each.")
    labels = assembly.learning.label_all(run.run_id, wanted)
    _print(labels, parsed, "\n".join(map(_label_line, labels)))
    return DONE


def _remove_label(parsed: argparse.Namespace, settings: Settings) -> int:
    assembly = open_history(parsed, settings)
    by_what = parsed.run_id or parsed.document or parsed.all
    if bool(parsed.ids) == bool(by_what):
        raise SettingsError("Choose labels either by their ids, or by --run, --document or --all.")
    ids = parsed.ids or _matching_ids(assembly, parsed)
    removed = assembly.learning.labels.remove(ids)
    finish_secure_deletion(assembly)
    if not removed:
        raise LabelError("No label matches, so none was removed. `localcrag labels list` lists all labels.")
    if (named := len(set(ids))) > removed:
        raise LabelError(
            f"Only {removed} of these {named} labels were found and removed. "
            "`localcrag labels list` lists the remaining labels."
        )
    _print({"removed": removed}, parsed, f"{counted(removed, 'label')} removed.")
    return DONE


def _matching_ids(assembly: Assembly, parsed: argparse.Namespace) -> list[int]:
    found = assembly.learning.labels.find(collection=parsed.collection, run_id=parsed.run_id, document=parsed.document)
    return [label.id for label in found if label.id is not None]


def _export(parsed: argparse.Namespace, settings: Settings) -> int:
    learning = open_history(parsed, settings).learning
    if parsed.form == "training":
        pairs = learning.export_training(parsed.path, parsed.collection)
        relevant = sum(pair.label for pair in pairs)
        summary = {"file": str(parsed.path), "pairs": len(pairs), "relevant": relevant}
        _print(summary, parsed, f"{counted(len(pairs), 'pair')}, {relevant} of them relevant: {parsed.path}")
        return DONE
    made = learning.export_set(parsed.path, parsed.collection)
    for question, why in made.left_out:
        print(f"left out: {question}: {why}", file=sys.stderr)
    summary = {
        "folder": str(parsed.path),
        "questions": len(made.lines),
        "documents": len(made.documents),
        "left_out": [{"question": question, "why": why} for question, why in made.left_out],
    }
    written = f"{counted(len(made.lines), 'question')} about {counted(len(made.documents), 'document')}"
    _print(summary, parsed, f"{written}: {parsed.path}")
    return DONE


def _label_line(label: Label) -> str:
    what = {"answer": "answer", "passage": f"passage {label.target}", "sentence": f"sentence {label.target}"}
    where = f" ({label.document or label.url})" if label.document or label.url else ""
    text = shorten(label.text, SHOWN_CHARACTERS)
    return f"{label.id}  {label.run_id}  {what[label.kind]} {label.verdict}: “{text}”{where}"


def _print(result: Any, parsed: argparse.Namespace, text: str) -> None:
    if isinstance(result, list):
        result = [{**dataclasses.asdict(one), "verdict": one.verdict} for one in result]
    print_result(result, parsed, text)


def add_pins_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `pins` and its subcommands; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    pins = subparsers.add_parser(
        "pins", parents=[common, within], help="manage questions that you re-check after changes"
    )
    pins.set_defaults(run=_list_pins)
    named = pins.add_subparsers(metavar="list | add | remove")

    command = named.add_parser("list", parents=[common, within], help="list the pinned questions, oldest first")
    command.set_defaults(run=_list_pins)

    command = named.add_parser("add", parents=[common], help="pin a run's question and its expected answer")
    command.add_argument("run_id", metavar="RUN")
    command.add_argument(
        "--answer", nargs="+", default=[], metavar="TEXT",
        help="accepted answers (default: the shortest supported sentence of the run's answer or evidence)",
    )  # fmt: skip
    command.add_argument("--unanswerable", action="store_true", help="the question should not be answered")
    command.set_defaults(run=_add_pin)

    command = named.add_parser("remove", parents=[common], help="unpin a question")
    command.add_argument("run_id", metavar="RUN")
    command.set_defaults(run=_remove_pin)


def _list_pins(parsed: argparse.Namespace, settings: Settings) -> int:
    pins = open_history(parsed, settings).learning.pins.find(collection=parsed.collection)
    text = "\n".join(map(_pin_line, pins)) or "No pinned questions yet."
    print_result([dataclasses.asdict(pin) for pin in pins], parsed, text)
    return DONE


def _add_pin(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.runs import labels as labelled_question

    if parsed.answer and parsed.unanswerable:
        raise SettingsError("--answer TEXT and --unanswerable exclude each other. Give one of them.")
    assembly = open_app(settings)
    answers = tuple(parsed.answer) or labelled_question.propose_question(assembly.runs.get(parsed.run_id)).answers[:1]
    if not answers and not parsed.unanswerable:
        raise SettingsError(
            f"The run {parsed.run_id} has no supported sentence to use as the expected answer. Give --answer TEXT, or "
            "--unanswerable if the question should not be answered."
        )
    pin = assembly.learning.pin(parsed.run_id, () if parsed.unanswerable else answers)
    print_result(dataclasses.asdict(pin), parsed, _pin_line(pin))
    return DONE


def _remove_pin(parsed: argparse.Namespace, settings: Settings) -> int:

    assembly = open_app(settings)
    assembly.learning.pins.remove(parsed.run_id)
    finish_secure_deletion(assembly)
    print_result({"removed": parsed.run_id}, parsed, f"{parsed.run_id}: unpinned")
    return DONE


def _pin_line(pin: Pin) -> str:
    answers = " or ".join(f"“{answer}”" for answer in pin.question.answers) or "should not be answered"
    return f"{pin.run_id}  {pin.collection}  {pin.question.question}  →  {answers}"


DONE, FAILED = 0, 1


def add_gaps_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `gaps` and its subcommands; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    gaps = subparsers.add_parser(
        "gaps", parents=[common, within], help="list questions that the documents do not answer, or fill a gap"
    )
    gaps.set_defaults(run=_list_gaps)
    named = gaps.add_subparsers(metavar="list | add")

    command = named.add_parser(
        "list", parents=[common, within], help="list the questions that ended INCORRECT, newest first"
    )
    command.set_defaults(run=_list_gaps)

    command = named.add_parser("add", parents=[common], help="add the web text that answered a run to the documents")
    command.add_argument("run_id", metavar="RUN")
    command.add_argument(
        "--result",
        type=at_least_one("the number of a result"),
        metavar="N",
        help="number of the web result (default: the one that answered)",
    )
    command.set_defaults(run=_add_gap)


def _list_gaps(parsed: argparse.Namespace, settings: Settings) -> int:
    gaps = open_history(parsed, settings).gaps.find(parsed.collection)
    text = "\n".join(map(_gap_lines, gaps)) or "No gaps: no question ended INCORRECT when it was last asked."
    print_result([dataclasses.asdict(gap) for gap in gaps], parsed, text)
    return DONE


def _add_gap(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.uploads import with_warnings
    from localcrag.interfaces.cli import terminal
    from localcrag.records.enums import IngestStatus

    assembly = open_app(settings)
    events = assembly.gaps.add_web_text(parsed.run_id, parsed.result)
    (result,) = with_warnings(terminal.show_ingest(events, quiet=parsed.json), index_warnings(assembly))
    if not parsed.json:
        print("This is web text: it is screened for prompt injection, but not fact-checked.", file=sys.stderr)
    print_result(dataclasses.asdict(result), parsed, f"{result.document}: {result.error or result.status}")
    return FAILED if result.status is IngestStatus.FAILED else DONE


def _gap_lines(gap: KnowledgeGap) -> str:
    times = "asked once" if gap.asked == 1 else f"asked {gap.asked} times"
    lines = [f"{gap.run_id}  {gap.collection}  {gap.question}  ({times})"]
    lines += [f"    also: {other}" for other in gap.others]
    if gap.answered_by:
        lines.append(f"    answered by the web: localcrag gaps add {gap.answered_by}")
    return "\n".join(lines)
