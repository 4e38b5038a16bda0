"""`localcrag collection`, `web` and `presets`: manage collections and their settings."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import (
    PRESETS,
    WEB_MODES,
    counted,
    finish_secure_deletion,
    open_app,
    open_collection,
    print_result,
)

if TYPE_CHECKING:
    from localcrag.app.collections.locator import TransferProgress
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


DONE = 0
ADDRESS = "postgresql://USER@HOST:PORT/DATABASE; on this computer postgresql://USER@/DATABASE?host=SOCKET-FOLDER"


def add_collection_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `collection`; `common` has `--json` and `--data-dir`."""
    words = "list, copy, merge, export, import or move collections"
    collection = subparsers.add_parser("collection", parents=[common], help=words)
    collection.set_defaults(run=_list)
    named = collection.add_subparsers(metavar="list | copy NAME NEW | merge FROM INTO | export NAME FILE | …")
    named.add_parser("list", parents=[common], help="list all collections and where they are stored").set_defaults(
        run=_list
    )
    _add_copies(named, common)
    _add_servers(named, common)


def _add_copies(named: Subparsers, common: argparse.ArgumentParser) -> None:
    command = named.add_parser("copy", parents=[common], help="copy a collection with its index")
    command.add_argument("name", metavar="NAME", help="the collection to copy")
    command.add_argument("new", metavar="NEW", help="name of the copy")
    command.set_defaults(run=_copy)
    words = "move all documents of a collection into another one, and remove the first; renames documents if necessary"
    command = named.add_parser("merge", parents=[common], help=words)
    command.add_argument("name", metavar="FROM", help="the collection to empty and remove")
    command.add_argument("into", metavar="INTO", help="the collection that receives the documents")
    command.set_defaults(run=_merge)
    command = named.add_parser("export", parents=[common], help="write a collection to a file that `import` reads")
    command.add_argument("name", metavar="NAME", help="the collection to export")
    command.add_argument("file", metavar="FILE", type=Path, help="the file to write; only your user may read it")
    command.set_defaults(run=_export)
    command = named.add_parser("import", parents=[common], help="make a new collection from an exported file")
    command.add_argument(
        "file", metavar="FILE", type=Path, help="a file that `export` wrote, on this or another computer"
    )
    command.add_argument("name", metavar="NAME", nargs="?", help="name of the new collection (default: as in the file)")
    command.set_defaults(run=_import)
    words = "choose a collection's embedding model; searches use the old one until you run `ingest --re-embed`"
    command = named.add_parser("embedder", parents=[common], help=words)
    command.add_argument("name", metavar="NAME", help="the collection")
    command.add_argument(
        "embedder", metavar="MODEL|default", help="a name from `models list`; default: the model from the settings"
    )
    command.set_defaults(run=_embedder)


def _add_servers(named: Subparsers, common: argparse.ArgumentParser) -> None:
    command = named.add_parser(
        "move",
        parents=[common],
        help="move a collection to a PostgreSQL server, or back; resumes an interrupted move",
    )
    command.add_argument("name", metavar="NAME", help="the collection to move")
    command.add_argument("--to", metavar="ADDRESS|local", required=True, help=f"{ADDRESS}; or local: this computer")
    command.set_defaults(run=_move)
    command = named.add_parser("connect", parents=[common], help="use a collection that is on a PostgreSQL server")
    command.add_argument("name", metavar="NAME", help="name of the collection on this computer")
    command.add_argument("address", metavar="ADDRESS", help=ADDRESS)
    command.add_argument("--there", metavar="NAME", help="name of the collection on the server (default: the same)")
    command.set_defaults(run=_connect)
    command = named.add_parser(
        "disconnect", parents=[common], help="stop using a collection on a server; it stays there"
    )
    command.add_argument("name", metavar="NAME", help="the collection")
    command.set_defaults(run=_disconnect)
    words = "erase deleted data from the tables and indexes of a collection's server"
    command = named.add_parser("vacuum", parents=[common], help=words)
    command.add_argument("name", metavar="NAME", help="the collection")
    command.set_defaults(run=_vacuum)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    found = []
    collections = open_app(settings).collections
    for name in collections.names():
        home = collections.homes.of(name)
        found.append({"name": name, "home": str(home.server or "local")})
    width = max((len(one["name"]) for one in found), default=0)
    lines = "\n".join(f"{one['name']:<{width}}  {one['home']}" for one in found) or "No collections."
    print_result(found, parsed, lines)
    return DONE


def _copy(parsed: argparse.Namespace, settings: Settings) -> int:
    number = _show_progress(open_app(settings).collection_copies.copy(parsed.name, parsed.new), parsed, "copied")
    text = f"{parsed.new}: {counted(number, 'document')} copied from {parsed.name}."
    print_result({"name": parsed.new, "documents": number}, parsed, text)
    return DONE


def _merge(parsed: argparse.Namespace, settings: Settings) -> int:
    merged = open_app(settings).collection_copies.merge(parsed.name, parsed.into)
    lines = [f"{parsed.into}: {counted(merged.documents, 'document')} of {parsed.name} merged into it."]
    lines += [f"renamed: {old} is now {new}" for old, new in merged.renamed]
    lines += [f"already there with the same content: {name}" for name in merged.same]
    print_result(dataclasses.asdict(merged), parsed, "\n".join(lines))
    return DONE


def _export(parsed: argparse.Namespace, settings: Settings) -> int:
    number = _show_progress(open_app(settings).collection_copies.export(parsed.name, parsed.file), parsed, "written")
    text = (
        f"{parsed.name}: {counted(number, 'document')} written to {parsed.file}. Keep the file safe: it has their text."
    )
    print_result({"file": str(parsed.file), "documents": number}, parsed, text)
    return DONE


def _import(parsed: argparse.Namespace, settings: Settings) -> int:
    assembly = open_app(settings)
    names: list[str] = []

    def noted(events: Iterator[tuple[str, TransferProgress]]) -> Iterator[TransferProgress]:
        for name, moved in events:
            names[:] = [name]
            yield moved

    try:
        with closing(assembly.collection_copies.import_file(parsed.file, parsed.name)) as events:
            number = _show_progress(noted(events), parsed, "checked and imported")
    except BaseException:
        # The imported part is removed again, but the full-text index still contains its words.
        finish_secure_deletion(assembly)
        raise
    text = f"{names[0]}: {counted(number, 'document')} imported."
    if names[0] in assembly.collections.embedders.to_reindex():
        text += f" Before you can ask it, run: localcrag ingest --re-embed --collection {names[0]}"
    print_result({"name": names[0], "documents": number}, parsed, text)
    return DONE


def _embedder(parsed: argparse.Namespace, settings: Settings) -> int:
    assembly = open_app(settings)
    chosen = None if parsed.embedder == "default" else parsed.embedder
    assembly.collection_settings.set_embedder(chosen, parsed.name)
    embedders = assembly.collections.embedders
    wanted, there = embedders.wanted(parsed.name), embedders.name_of(parsed.name)
    text = f"{parsed.name}: {wanted}"
    if wanted != there:
        text += f"; searches use {there} until you run: localcrag ingest --re-embed --collection {parsed.name}"
    print_result({"name": parsed.name, "embedder": wanted, "searched_with": there}, parsed, text)
    return DONE


def _show_progress(steps: Iterator[TransferProgress], parsed: argparse.Namespace, what: str) -> int:
    """Show the progress on a terminal, and return the number of documents."""
    last = None
    for last in steps:
        if sys.stderr.isatty() and not parsed.json:
            print(f"\r{last.done} of {counted(last.total, 'document')} {what}", end="", file=sys.stderr)
    if sys.stderr.isatty() and not parsed.json and last:
        print(file=sys.stderr)
    return last.total if last else 0


def _move(parsed: argparse.Namespace, settings: Settings) -> int:
    assembly, moved = open_app(settings), False
    collections = assembly.collections

    def steps() -> Iterator[TransferProgress]:
        nonlocal moved
        for one in collections.moving.move(parsed.name, parsed.to):
            moved = True
            yield one

    number = _show_progress(steps(), parsed, "copied and compared")
    finish_secure_deletion(assembly)
    home = collections.homes.of(parsed.name).server
    copied = f"{counted(number, 'document')} copied and compared" if moved else "nothing had to be moved"
    text = f"{parsed.name}: {copied}; it is {f'at {home}' if home else 'on this computer'}."
    print_result({"name": parsed.name, "home": str(home or "local"), "documents": number}, parsed, text)
    return DONE


def _connect(parsed: argparse.Namespace, settings: Settings) -> int:
    home = open_app(settings).collections.homes.connect(parsed.name, parsed.address, parsed.there)
    print_result({"name": home.name, "home": str(home.server)}, parsed, f"{home.name}: connected to {home.server}")
    return DONE


def _disconnect(parsed: argparse.Namespace, settings: Settings) -> int:
    open_app(settings).collections.homes.disconnect(parsed.name)
    text = f"{parsed.name}: disconnected; its documents stay on the server."
    print_result({"disconnected": parsed.name}, parsed, text)
    return DONE


def _vacuum(parsed: argparse.Namespace, settings: Settings) -> int:
    open_app(settings).collections.homes.vacuum(parsed.name)
    text = f"{parsed.name}: deleted data was erased from the server's tables and indexes."
    print_result({"vacuumed": parsed.name}, parsed, text)
    return DONE


def add_web_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `web`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser("web", parents=[common, within], help="show or choose a collection's web mode")
    command.add_argument(
        "mode", nargs="?", choices=WEB_MODES, help="whether to search the web; ask: you approve each query"
    )
    command.set_defaults(run=_web)


def _web(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.enums import WebMode

    assembly = open_collection(settings)
    if parsed.mode:
        assembly.collection_settings.set_web_mode(WebMode(parsed.mode))
    mode = assembly.collection_settings.web_mode()
    fixed = parsed.mode and mode != parsed.mode
    note = " The setting `web` overrides the collection's own mode." if fixed else ""
    if mode is not WebMode.NEVER and assembly.settings.searxng_url is None:
        note += " No SearXNG is set, so no query is sent. Set its address in LOCALCRAG_SEARXNG_URL or in the app."
    text = f"For the collection “{settings.collection}” the web mode is {mode}.{note}"
    print_result({"collection": settings.collection, "web": mode}, parsed, text)
    return DONE


def add_presets_parser(
    subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser
) -> None:
    """Add `presets`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    presets = subparsers.add_parser("presets", parents=[common, within], help="list presets, or choose a collection's")
    presets.set_defaults(run=_list_presets)
    named = presets.add_subparsers(metavar="list | use NAME")
    named.add_parser("list", parents=[common, within], help="list the presets and what each is for").set_defaults(
        run=_list_presets
    )
    command = named.add_parser("use", parents=[common, within], help="choose the collection's preset")
    command.add_argument("name", choices=PRESETS, metavar="NAME", help="a name from `presets list`")
    command.set_defaults(run=_use)


def _list_presets(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.thresholds import PRESETS as RULES

    used = open_collection(settings).collection_settings.preset()
    lines = [f"{'→' if name is used else ' '} {name:<15} {rules.purpose}" for name, rules in RULES.items()]
    listed = [{"name": name, "used": name is used, **dataclasses.asdict(rules)} for name, rules in RULES.items()]
    print_result(listed, parsed, "\n".join(lines))
    return DONE


def _use(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.enums import Preset
    from localcrag.records.thresholds import PRESETS as RULES

    preset = Preset(parsed.name)
    open_collection(settings).collection_settings.set_preset(preset)
    text = f"The collection “{settings.collection}” now uses the preset {preset}. {RULES[preset].purpose}"
    print_result({"collection": settings.collection, "preset": preset}, parsed, text)
    return DONE
