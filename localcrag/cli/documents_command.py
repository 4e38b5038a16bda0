"""`localcrag documents`: list or delete documents."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.command_output import counted, print_result
from localcrag.cli.opened import opened
from localcrag.text.places import pages_in

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `documents`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    documents = subparsers.add_parser("documents", parents=[common, within], help="list or delete documents")
    documents.set_defaults(run=_list)
    named = documents.add_subparsers(metavar="list | delete NAME")
    named.add_parser("list", parents=[common, within], help="the collection's documents").set_defaults(run=_list)
    command = named.add_parser("delete", parents=[common, within], help="delete a document")
    command.add_argument("name", metavar="NAME", help="as `documents list` shows it")
    command.set_defaults(run=_delete)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    documents = opened(settings).collections.documents()
    lines = []
    for one in documents:
        pages = f"{pages_in(one.name, one.pages)}, " if one.pages else ""
        scans = [f"read by OCR, {one.confidence:.2f}"] if one.confidence is not None else []
        scans += [f"{counted(one.waiting, 'page')} to be recognised"] if one.waiting else []
        scans += [f"{counted(one.illegible, 'page')} not readable"] if one.illegible else []
        said = ", ".join([f"{pages}{counted(one.chunks, 'chunk')}", *scans, one.added_at])
        lines.append(f"{one.name}  ·  {said}")
    print_result([dataclasses.asdict(one) for one in documents], parsed, "\n".join(lines) or "No documents.")
    return DONE


def _delete(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.text.words import valid  # noqa: PLC0415

    name = valid(parsed.name)
    opened(settings).collections.delete_document(name)
    print_result({"deleted": name}, parsed, f"{name}: deleted")
    return DONE
