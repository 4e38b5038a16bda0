"""`localcrag collection`: list collections, move one to a PostgreSQL server or back, use one there."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from localcrag.cli.command_output import counted, print_result

if TYPE_CHECKING:
    from localcrag.app.assemble import Assembly
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
ADDRESS = "postgresql://USER@HOST:PORT/DATABASE; on this computer postgresql://USER@/DATABASE?host=SOCKET-FOLDER"


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `collection`; `common` brings `--json` and `--data-dir`."""
    words = "list collections, move one to a PostgreSQL server or back"
    collection = subparsers.add_parser("collection", parents=[common], help=words)
    collection.set_defaults(run=_list)
    named = collection.add_subparsers(metavar="list | move NAME --to … | connect NAME ADDRESS | …")
    named.add_parser("list", parents=[common], help="all collections, and where they live").set_defaults(run=_list)
    command = named.add_parser(
        "move",
        parents=[common],
        help="move one to a PostgreSQL server, or back; goes on where it stopped",
    )
    command.add_argument("name", metavar="NAME", help="the collection")
    command.add_argument("--to", metavar="ADDRESS|local", required=True, help=f"{ADDRESS}; or local")
    command.set_defaults(run=_move)
    command = named.add_parser("connect", parents=[common], help="use a collection that lives in a PostgreSQL server")
    command.add_argument("name", metavar="NAME", help="what it is called here")
    command.add_argument("address", metavar="ADDRESS", help=ADDRESS)
    command.add_argument("--there", metavar="NAME", help="what it is called there, where that is another name")
    command.set_defaults(run=_connect)
    command = named.add_parser("disconnect", parents=[common], help="use such a collection no more; it stays there")
    command.add_argument("name", metavar="NAME", help="the collection")
    command.set_defaults(run=_disconnect)
    words = "have what was deleted from such a collection be in no table or index of its server any more"
    command = named.add_parser("vacuum", parents=[common], help=words)
    command.add_argument("name", metavar="NAME", help="the collection")
    command.set_defaults(run=_vacuum)


def _opened(settings: Settings) -> Assembly:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415

    return Assembly(settings)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    found = []
    collections = _opened(settings).collections
    for name in collections.names():
        home = collections.homes.of(name)
        found.append({"name": name, "home": str(home.server or "local")})
    width = max((len(one["name"]) for one in found), default=0)
    lines = "\n".join(f"{one['name']:<{width}}  {one['home']}" for one in found) or "No collections."
    print_result(found, parsed, lines)
    return DONE


def _move(parsed: argparse.Namespace, settings: Settings) -> int:
    collections, last = _opened(settings).collections, None
    for last in collections.moving.move(parsed.name, parsed.to):
        if sys.stderr.isatty() and not parsed.json:
            print(f"\r{last.done} of {counted(last.total, 'document')} copied and compared", end="", file=sys.stderr)
    if sys.stderr.isatty() and not parsed.json and last:
        print(file=sys.stderr)
    home, number = collections.homes.of(parsed.name).server, last.total if last else 0
    copied = f"{counted(number, 'document')} copied and compared" if last else "nothing was to be moved"
    said = f"{parsed.name}: {copied}; it lives {f'at {home}' if home else 'on this computer'}."
    print_result({"name": parsed.name, "home": str(home or "local"), "documents": number}, parsed, said)
    return DONE


def _connect(parsed: argparse.Namespace, settings: Settings) -> int:
    home = _opened(settings).collections.homes.connect(parsed.name, parsed.address, parsed.there)
    print_result({"name": home.name, "home": str(home.server)}, parsed, f"{home.name}: connected to {home.server}")
    return DONE


def _disconnect(parsed: argparse.Namespace, settings: Settings) -> int:
    _opened(settings).collections.homes.disconnect(parsed.name)
    said = f"{parsed.name}: disconnected; its documents stay in the server."
    print_result({"disconnected": parsed.name}, parsed, said)
    return DONE


def _vacuum(parsed: argparse.Namespace, settings: Settings) -> int:
    _opened(settings).collections.homes.vacuum(parsed.name)
    said = f"{parsed.name}: what was deleted is in no table or index of the server any more."
    print_result({"vacuumed": parsed.name}, parsed, said)
    return DONE
