"""`localcrag labels`, `pins` and `gaps`: feedback, pinned questions, and unanswered questions.

Slow imports happen only when a subcommand runs, so that `localcrag --help` stays fast.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli import command as cli
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import LabelError, SettingsError
from localcrag.text.translation import counted
from localcrag.text.words import shorten

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.runs.labels import Label, Pin
    from localcrag.runs.statistics import KnowledgeGap
    from localcrag.settings import Settings


ALL = "all"
SHOWN_CHARACTERS = 80


def add_commands(commands: cli.Commands) -> None:
    """Add `labels`, `pins` and `gaps`."""
    words = "list, add or export your feedback on answers and passages"
    labels = commands.add("labels", _list_labels, words, collection=True)
    labels.set_defaults(run_id=None)
    named = commands.subcommands(labels, "list | add | remove | export")

    command = named.add("list", _list_labels, "list the labels, oldest first", collection=True)
    command.add_argument("--run", dest="run_id", metavar="RUN", help="list only labels of this run")

    command = named.add("add", _add_label, "label a run's answer, passages and sentences")
    command.add_argument("run_id", metavar="RUN")
    verdict = command.add_mutually_exclusive_group()
    verdict.add_argument("--good", dest="answer", action="store_const", const=True, help="the answer is good")
    verdict.add_argument("--bad", dest="answer", action="store_const", const=False, help="the answer is bad")
    for option, metavar, words in (
        ("--relevant", "ID", "ids of passages that help, or “all”"),
        ("--not-relevant", "ID", "ids of passages that do not help, or “all”"),
        ("--right", "N", "numbers of correct sentences of the answer, from 1 on"),
        ("--wrong", "N", "numbers of wrong sentences of the answer, from 1 on"),
    ):
        command.add_argument(option, nargs="+", default=[], metavar=metavar, help=words)

    command = named.add("remove", _remove_label, "remove labels and what they quote", collection=True)
    number = cli.positive_number("the number of a label")
    command.add_argument("ids", nargs="*", type=number, metavar="ID", help="ids from `labels list`")
    command.add_argument("--run", dest="run_id", metavar="RUN", help="remove all labels of this run")
    words = "remove all labels that quote this document, or whose run found it"
    command.add_argument("--document", metavar="NAME", help=words)
    command.add_argument("--all", action="store_true", help="remove all labels, or all of --collection")

    command = named.add("export", _export, "export labels as an evaluation set or as training data", collection=True)
    words = "set: a folder for `localcrag eval`; training: a file of pairs to train a reranker with"
    command.add_argument("--as", dest="form", choices=["set", "training"], required=True, help=words)
    command.add_argument("path", type=Path, metavar="PATH", help="the folder or file to write")

    pins = commands.add("pins", _list_pins, "manage questions that you re-check after changes", collection=True)
    named = commands.subcommands(pins, "list | add | remove")
    named.add("list", _list_pins, "list the pinned questions, oldest first", collection=True)

    command = named.add("add", _add_pin, "pin a run's question and its expected answer")
    command.add_argument("run_id", metavar="RUN")
    words = "accepted answers (default: the shortest supported sentence of the run's answer or evidence)"
    command.add_argument("--answer", nargs="+", default=[], metavar="TEXT", help=words)
    command.add_argument("--unanswerable", action="store_true", help="the question should not be answered")

    named.add("remove", _remove_pin, "unpin a question").add_argument("run_id", metavar="RUN")

    words = "list questions that the documents do not answer, or fill a gap"
    gaps = commands.add("gaps", _list_gaps, words, collection=True)
    named = commands.subcommands(gaps, "list | add")
    named.add("list", _list_gaps, "list the questions that ended INCORRECT, newest first", collection=True)

    command = named.add("add", _add_gap, "add the web text that answered a run to the documents")
    command.add_argument("run_id", metavar="RUN")
    words = "number of the web result (default: the one that answered)"
    cli.add_count(command, "--result", "the number of a result", words)


def _list_labels(parsed: argparse.Namespace, settings: Settings) -> None:
    learning = cli.open_history(parsed, settings).learning
    labels = learning.labels.find(collection=parsed.collection, run_id=parsed.run_id)
    _print_labels(labels, parsed, "No labels yet.")


def _add_label(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.runs.labels import LabelKind

    assembly = cli.open_app(settings)
    run = assembly.runs.get(parsed.run_id)
    passages = [passage.id for passage in run.passages]
    wanted = [(LabelKind.ANSWER, "", parsed.answer)] if parsed.answer is not None else []
    for ids, good in ((parsed.relevant, True), (parsed.not_relevant, False)):
        wanted += [(LabelKind.PASSAGE, name, good) for name in (passages if ids == [ALL] else ids)]
    for numbers, good in ((parsed.right, True), (parsed.wrong, False)):
        wanted += [(LabelKind.SENTENCE, number, good) for number in numbers]
    if not wanted:
        options = "--good or --bad, --relevant ID, --not-relevant ID, --right N, --wrong N"
        raise SettingsError(f"Give at least one label: {options}.")
    if twice := sorted({name for kind, name, good in wanted if (kind, name, not good) in wanted}):
        raise SettingsError(f"Labelled both ways: {', '.join(twice)}. Choose one label for each.")
    _print_labels(assembly.learning.label_all(run.run_id, wanted), parsed)


def _remove_label(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly = cli.open_history(parsed, settings)
    by_what = parsed.run_id or parsed.document or parsed.all
    if bool(parsed.ids) == bool(by_what):
        raise SettingsError("Choose labels either by their ids, or by --run, --document or --all.")
    ids = parsed.ids or _matching_ids(assembly, parsed)
    removed = assembly.learning.labels.remove(ids)
    cli.finish_secure_deletion(assembly)
    if not removed:
        raise LabelError("No label matches, so none was removed. `localcrag labels list` lists all labels.")
    if (named := len(set(ids))) > removed:
        found = f"Only {removed} of these {named} labels were found and removed."
        raise LabelError(f"{found} `localcrag labels list` lists the remaining labels.")
    cli.print_result({"removed": removed}, parsed, f"{counted(removed, 'label')} removed.")


def _matching_ids(assembly: Assembly, parsed: argparse.Namespace) -> list[int]:
    found = assembly.learning.labels.find(collection=parsed.collection, run_id=parsed.run_id, document=parsed.document)
    return [label.id for label in found if label.id is not None]


def _export(parsed: argparse.Namespace, settings: Settings) -> None:
    learning = cli.open_history(parsed, settings).learning
    if parsed.form == "training":
        pairs = learning.export_training(parsed.path, parsed.collection)
        relevant = sum(pair.label for pair in pairs)
        text = f"{counted(len(pairs), 'pair')}, {relevant} of them relevant: {parsed.path}"
        cli.print_result({"file": parsed.path, "pairs": len(pairs), "relevant": relevant}, parsed, text)
        return
    made = learning.export_set(parsed.path, parsed.collection)
    for question, why in made.left_out:
        cli.say(f"left out: {question}: {why}")
    left_out = [{"question": question, "why": why} for question, why in made.left_out]
    questions, documents = len(made.lines), len(made.documents)
    text = f"{counted(questions, 'question')} about {counted(documents, 'document')}: {parsed.path}"
    result = {"folder": parsed.path, "questions": questions, "documents": documents, "left_out": left_out}
    cli.print_result(result, parsed, text)


def _label_line(label: Label) -> str:
    what = f"{label.kind} {label.target}".strip()
    where = f" ({label.document or label.url})" if label.document or label.url else ""
    text = shorten(label.text, SHOWN_CHARACTERS)
    return f"{label.id}  {label.run_id}  {what} {label.verdict}: “{text}”{where}"


def _print_labels(labels: list[Label], parsed: argparse.Namespace, otherwise: str = "") -> None:
    result = [{**dataclasses.asdict(one), "verdict": one.verdict} for one in labels]
    cli.print_result(result, parsed, "\n".join(map(_label_line, labels)) or otherwise)


def _list_pins(parsed: argparse.Namespace, settings: Settings) -> None:
    pins = cli.open_history(parsed, settings).learning.pins.find(collection=parsed.collection)
    cli.print_result(pins, parsed, "\n".join(map(_pin_line, pins)) or "No pinned questions yet.")


def _add_pin(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.runs import labels as labelled_question

    if parsed.answer and parsed.unanswerable:
        raise SettingsError("--answer TEXT and --unanswerable exclude each other. Give one of them.")
    assembly = cli.open_app(settings)
    answers = tuple(parsed.answer) or labelled_question.propose_question(assembly.runs.get(parsed.run_id)).answers[:1]
    if not answers and not parsed.unanswerable:
        why = f"The run {parsed.run_id} has no supported sentence to use as the expected answer."
        remedy = "Give --answer TEXT, or --unanswerable if the question should not be answered."
        raise SettingsError(f"{why} {remedy}")
    pin = assembly.learning.pin(parsed.run_id, () if parsed.unanswerable else answers)
    cli.print_result(pin, parsed, _pin_line(pin))


def _remove_pin(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly = cli.open_app(settings)
    assembly.learning.pins.remove(parsed.run_id)
    cli.finish_secure_deletion(assembly)
    cli.print_result({"removed": parsed.run_id}, parsed, f"{parsed.run_id}: unpinned")


def _pin_line(pin: Pin) -> str:
    answers = " or ".join(f"“{answer}”" for answer in pin.question.answers) or "should not be answered"
    return f"{pin.run_id}  {pin.collection}  {pin.question.question}  →  {answers}"


def _list_gaps(parsed: argparse.Namespace, settings: Settings) -> None:
    gaps = cli.open_history(parsed, settings).gaps.find(parsed.collection)
    text = "\n".join(map(_gap_lines, gaps)) or "No gaps: no question ended INCORRECT when it was last asked."
    cli.print_result(gaps, parsed, text)


def _add_gap(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.uploads import with_warnings
    from localcrag.interfaces.cli import terminal

    assembly = cli.open_app(settings)
    events = assembly.gaps.add_web_text(parsed.run_id, parsed.result)
    (result,) = with_warnings(terminal.show_ingest(events, quiet=parsed.json), cli.index_warnings(assembly))
    if not parsed.json:
        cli.say("This is web text: it is screened for prompt injection, but not fact-checked.")
    cli.print_result(result, parsed, f"{result.document}: {result.error or result.status}")
    return cli.FAILED if result.status is IngestStatus.FAILED else cli.DONE


def _gap_lines(gap: KnowledgeGap) -> str:
    times = "asked once" if gap.asked == 1 else f"asked {gap.asked} times"
    lines = [f"{gap.run_id}  {gap.collection}  {gap.question}  ({times})"]
    lines += [f"    also: {other}" for other in gap.others]
    lines += [f"    answered by the web: localcrag gaps add {gap.answered_by}"] if gap.answered_by else []
    return "\n".join(lines)
