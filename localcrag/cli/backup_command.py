"""`localcrag backup` and `localcrag restore`: all that cannot be made again, in one file, and back."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.cli.command_output import counted, print_result
from localcrag.cli.opened import app_for

if TYPE_CHECKING:
    from localcrag.records.backed_up import BackedUp
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
LEFT_OUT = "Models, keys of servers and the API's token are not in it."


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `backup` and `restore`; `common` brings `--json` and `--data-dir`."""
    command = subparsers.add_parser(
        "backup", parents=[common], help="copy documents, chats, questions, labels and settings into one file"
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not be there yet")
    command.set_defaults(run=_backup)
    command = subparsers.add_parser("restore", parents=[common], help="go back to a backup")
    command.add_argument("file", type=Path, metavar="FILE", help="what `localcrag backup` or the page wrote")
    command.set_defaults(run=_restore)


def _backup(parsed: argparse.Namespace, settings: Settings) -> int:
    done = app_for(settings).storage.back_up(parsed.file)
    print_result(_plain(done), parsed, "\n".join([f"{_held(done)}, written and read back.", *_not_in(done), LEFT_OUT]))
    return DONE


def _restore(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.repair import restore  # noqa: PLC0415

    done = restore(settings, parsed.file)
    said = f"Restored: {_held(done)}. Settings that are there stayed as they were."
    print_result(_plain(done), parsed, "\n".join([said, *_not_in(done)]))
    return DONE


def _held(done: BackedUp) -> str:
    held = ", ".join([counted(done.documents, "document"), counted(done.chats, "chat"), counted(done.runs, "question")])
    return f"{done.path}: {done.bytes / 1e6:.1f} MB with {held}"


def _not_in(done: BackedUp) -> list[str]:
    """Say which collections have their documents elsewhere."""
    if not done.elsewhere:
        return []
    named = ", ".join(f"“{name}”" for name in done.elsewhere)
    return [f"Not in it: the documents of {named}, which live in a PostgreSQL server. Back up that server as well."]


def _plain(done: BackedUp) -> dict[str, object]:
    return {**dataclasses.asdict(done), "path": str(done.path)}
