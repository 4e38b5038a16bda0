"""`localcrag forget`: remove documents with all that quotes them, and search the data folder."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.command_output import counted, print_result
from localcrag.cli.opened import opened
from localcrag.records.errors import SettingsError
from localcrag.text.places import place

if TYPE_CHECKING:
    from localcrag.records.forgetting import Forgotten, Place, Searched
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE, FOUND = 0, 1
SHOWN = 20
"""Places that are printed; --json has all."""
_ABOUT = """Removes documents, with the runs, turns of chats, labels, pins, web answers and evaluations that quote them,
writes the files anew that had them, and searches every byte of the data folder for what they said. `documents delete`
keeps what quotes a document; this can be called after it, too. Without a NAME: what earlier deletions left in files is
overwritten. Exit status 1: something is left."""


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `forget`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    words = "delete documents with all that quotes them, and search the data folder's bytes for the rest"
    command = subparsers.add_parser("forget", parents=[common, within], help=words, description=_ABOUT)
    command.add_argument("names", metavar="NAME", nargs="*", help="any that `documents list` shows")
    command.add_argument(
        "--verify", metavar="NAME|WORDS", nargs="?", const="",
        help="delete nothing; search the data folder for what this document says, or for these words",
    )  # fmt: skip
    command.set_defaults(run=_forget)


def _forget(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.text.words import valid  # noqa: PLC0415

    names = [valid(name) for name in parsed.names]
    if parsed.verify and names:
        raise SettingsError("Name either what is to be forgotten, or, after --verify, what is to be searched for.")
    if parsed.verify == "" and not names:
        raise SettingsError("Say what is searched for: --verify NAME, or --verify WORDS.")
    assembly = opened(settings)
    forgetting = assembly.forgetting
    if parsed.verify:
        found = forgetting.verify(valid(parsed.verify))
        print_result(dataclasses.asdict(found), parsed, "\n".join(_searched(found, found.places)))
        return FOUND if found.places else DONE
    if not names:
        forgetting.overwrite_all()
        print_result(
            {"overwritten": True}, parsed, "What was deleted before is in no file of the data folder any more."
        )
        return DONE
    meant = assembly.collections.named.meant(names)
    forgotten = forgetting.forget([one.name for one in meant])
    said = _said([place(one.name, None, (), one.also) for one in meant], forgotten)
    print_result(dataclasses.asdict(forgotten), parsed, "\n".join(said))
    return FOUND if forgotten.left else DONE


def _said(names: list[str], forgotten: Forgotten) -> list[str]:
    removed = forgotten.removed
    parts = [
        counted(number, noun)
        for number, noun in (
            (len(forgotten.documents), "document"), (removed.runs, "run"), (removed.turns, "turn"),
            (removed.chats, "chat"), (removed.labels, "label"), (removed.pins, "pin"),
            (removed.web_answers, "web answer"), (len(removed.folders), "folder"),
        )
        if number
    ]  # fmt: skip
    lines = [f"{', '.join(names)}: removed {', '.join(parts) or 'nothing, since nothing was left'}"]
    if removed.redacted:
        lines.append(
            f"{counted(removed.redacted, 'run')} had found it and used nothing of it: the passages were removed"
        )
    lines += [f"removed: {name}" for name in removed.folders]
    lines += _searched(forgotten.searched, forgotten.left)
    if forgotten.backups:
        lines.append(f"Copies that you made still have it, remove them yourself: {', '.join(forgotten.backups)}")
    lines.append("Copies of the data folder, and files that you exported elsewhere, are not searched.")
    copies = [f"“{name}” in the collection “{collection}”" for name, collection in forgotten.copies]
    return lines + ([f"The same content is still there as {', '.join(copies)}."] if copies else [])


def _searched(found: Searched, places: tuple[Place, ...]) -> list[str]:
    """Return what a search came to, for a person."""
    if not found.marks:
        return ["Nothing to search for: it says nothing that no other document says."]
    what = f"{counted(found.marks, 'mark')} (phrases, pieces of files, vectors) in {counted(found.files, 'file')}"
    lines = [f"Searched for {what}, {found.bytes / 1e6:,.1f} MB, and in all tables: {'found' if places else 'nothing'}"]
    for one in places[:SHOWN]:
        where = f"table {one.table}" if one.table else f"byte {one.at}"
        lines.append(f"{one.file}, {where}: {one.said}")
    if len(places) > SHOWN:
        lines.append(f"… and {len(places) - SHOWN} more; --json has all.")
    return lines + [f"not searched: {name}" for name in found.unread]
