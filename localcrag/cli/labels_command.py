"""`localcrag labels`: list, add, remove and export labels of answers, passages and sentences.

Nothing heavy is imported before a subcommand runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcrag.cli.command_output import counted, print_result
from localcrag.cli.opened import opened_for_the_past, overwrite_the_rest
from localcrag.records.errors import LabelError, SettingsError
from localcrag.text.words import shorten

if TYPE_CHECKING:
    from localcrag.app.assemble import Assembly
    from localcrag.runs.labels import Label
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
ALL = "all"
SHOWN_CHARACTERS = 80


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `labels` and its subcommands; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    labels = subparsers.add_parser("labels", parents=[common, within], help="what you said of answers and passages")
    labels.set_defaults(run=_list, run_id=None)
    named = labels.add_subparsers(metavar="list | add | remove | export")

    command = named.add_parser("list", parents=[common, within], help="the labels, oldest first")
    command.add_argument("--run", dest="run_id", metavar="RUN", help="only those of this run")
    command.set_defaults(run=_list)

    command = named.add_parser("add", parents=[common], help="label a run's answer, passages and sentences")
    command.add_argument("run_id", metavar="RUN")
    verdict = command.add_mutually_exclusive_group()
    verdict.add_argument("--good", dest="answer", action="store_const", const=True, help="the answer is good")
    verdict.add_argument("--bad", dest="answer", action="store_const", const=False, help="the answer is bad")
    command.add_argument("--relevant", nargs="+", default=[], metavar="ID", help="passages that help, or “all”")
    command.add_argument("--not-relevant", nargs="+", default=[], metavar="ID", help="passages that do not, or “all”")
    command.add_argument("--right", nargs="+", default=[], metavar="N", help="sentences of the answer, from 1 on")
    command.add_argument("--wrong", nargs="+", default=[], metavar="N", help="sentences of the answer that are wrong")
    command.set_defaults(run=_add)

    command = named.add_parser("remove", parents=[common, within], help="remove labels, with what they quote")
    command.add_argument("ids", nargs="*", type=int, metavar="ID", help="as `labels list` shows them")
    command.add_argument("--run", dest="run_id", metavar="RUN", help="all of this run")
    command.add_argument("--document", metavar="NAME", help="all that quote this document, or whose run found it")
    command.add_argument("--all", action="store_true", help="all, of the --collection where one is named")
    command.set_defaults(run=_remove)

    command = named.add_parser("export", parents=[common, within], help="labels as an evaluation set, or to train with")
    command.add_argument(
        "--as", dest="form", choices=["set", "training"], required=True,
        help="set: a folder for `localcrag eval`; training: a file for train_relevance.py --labels",
    )  # fmt: skip
    command.add_argument("path", type=Path, metavar="PATH", help="the new folder, or the file")
    command.set_defaults(run=_export)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    learning = opened_for_the_past(parsed, settings).learning
    labels = learning.labels.find(collection=parsed.collection, run_id=parsed.run_id)
    _print(labels, parsed, "\n".join(map(_line, labels)) or "Nothing labelled yet.")
    return DONE


def _add(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415
    from localcrag.runs.labels import LabelKind  # noqa: PLC0415

    assembly = Assembly(settings)
    run = assembly.runs.get(parsed.run_id)
    passages = [passage.id for passage in run.passages]
    wanted = [(LabelKind.ANSWER, "", parsed.answer)] if parsed.answer is not None else []
    for ids, good in ((parsed.relevant, True), (parsed.not_relevant, False)):
        wanted += [(LabelKind.PASSAGE, name, good) for name in (passages if ids == [ALL] else ids)]
    for numbers, good in ((parsed.right, True), (parsed.wrong, False)):
        wanted += [(LabelKind.SENTENCE, number, good) for number in numbers]
    if not wanted:
        raise SettingsError(
            "Say what is labelled: --good or --bad, --relevant ID, --not-relevant ID, --right N, --wrong N."
        )
    if twice := sorted({name for kind, name, good in wanted if (kind, name, not good) in wanted}):
        raise SettingsError(f"Said both ways: {', '.join(twice)}. Choose one.")
    labels = assembly.learning.label_all(run.run_id, wanted)
    _print(labels, parsed, "\n".join(map(_line, labels)))
    return DONE


def _remove(parsed: argparse.Namespace, settings: Settings) -> int:
    assembly = opened_for_the_past(parsed, settings)
    by_what = parsed.run_id or parsed.document or parsed.all
    if bool(parsed.ids) == bool(by_what):
        raise SettingsError("Name labels by their ids, or by --run, --document or --all (of a --collection).")
    ids = parsed.ids or _found(assembly, parsed)
    removed = assembly.learning.labels.remove(ids)
    overwrite_the_rest(assembly)
    if not removed:
        raise LabelError("There are no such labels: none was removed. `localcrag labels list` shows those there are.")
    if (named := len(set(ids))) > removed:
        raise LabelError(
            f"Only {removed} of the {named} labels that you named could be found and removed. "
            "`localcrag labels list` shows those that are left."
        )
    _print({"removed": removed}, parsed, f"{counted(removed, 'label')} removed.")
    return DONE


def _found(assembly: Assembly, parsed: argparse.Namespace) -> list[int]:
    found = assembly.learning.labels.find(collection=parsed.collection, run_id=parsed.run_id, document=parsed.document)
    return [label.id for label in found if label.id is not None]


def _export(parsed: argparse.Namespace, settings: Settings) -> int:
    learning = opened_for_the_past(parsed, settings).learning
    if parsed.form == "training":
        pairs = learning.export_training(parsed.path, parsed.collection)
        relevant = sum(pair.label for pair in pairs)
        said = {"file": str(parsed.path), "pairs": len(pairs), "relevant": relevant}
        _print(said, parsed, f"{len(pairs)} pairs, {relevant} of them relevant: {parsed.path}")
        return DONE
    made = learning.export_set(parsed.path, parsed.collection)
    for question, why in made.left_out:
        print(f"left out: {question}: {why}", file=sys.stderr)
    said = {
        "folder": str(parsed.path),
        "questions": len(made.lines),
        "documents": len(made.documents),
        "left_out": [{"question": question, "why": why} for question, why in made.left_out],
    }
    _print(said, parsed, f"{len(made.lines)} questions over {len(made.documents)} documents: {parsed.path}")
    return DONE


def _line(label: Label) -> str:
    what = {"answer": "answer", "passage": f"passage {label.target}", "sentence": f"sentence {label.target}"}
    where = f" ({label.document or label.url})" if label.document or label.url else ""
    text = shorten(label.text, SHOWN_CHARACTERS)
    return f"{label.id}  {label.run_id}  {what[label.kind]} {label.verdict}: “{text}”{where}"


def _print(result: Any, parsed: argparse.Namespace, text: str) -> None:
    if isinstance(result, list):
        result = [{**dataclasses.asdict(one), "verdict": one.verdict} for one in result]
    print_result(result, parsed, text)
