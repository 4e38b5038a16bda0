"""`localcrag collection`, `web` and `presets`: manage collections and their settings."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli import command as cli
from localcrag.records.enums import Preset, WebMode
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.app.collections.locator import TransferProgress
    from localcrag.settings import Settings


ADDRESS = "postgresql://USER@HOST:PORT/DATABASE; on this computer postgresql://USER@/DATABASE?host=SOCKET-FOLDER"


def add_commands(commands: cli.Commands) -> None:
    """Add `collection`, `web` and `presets`."""
    collection = commands.add("collection", _list, "list, copy, merge, export, import or move collections")
    named = commands.subcommands(collection, "list | copy NAME NEW | merge FROM INTO | export NAME FILE | …")
    named.add("list", _list, "list all collections and where they are stored")
    copy = (("NAME", "the collection to copy"), ("NEW", "name of the copy"))
    named.add("copy", _copy, "copy a collection with its index", *copy)
    words = "move all documents of a collection into another one, and remove the first; renames documents if necessary"
    command = named.add("merge", _merge, words)
    command.add_argument("name", metavar="FROM", help="the collection to empty and remove")
    command.add_argument("into", metavar="INTO", help="the collection that receives the documents")
    export = (("NAME", "the collection to export"), ("FILE", "the file to write; only your user may read it"))
    named.add("export", _export, "write a collection to a file that `import` reads", *export)
    file = ("FILE", "a file that `export` wrote, on this or another computer")
    command = named.add("import", _import, "make a new collection from an exported file", file)
    command.add_argument("name", metavar="NAME", nargs="?", help="name of the new collection (default: as in the file)")
    words = "choose a collection's embedding model; searches use the old one until you run `ingest --re-embed`"
    command = named.add("embedder", _embedder, words, ("NAME", "the collection"))
    words = "a name from `models list`; default: the model from the settings"
    command.add_argument("embedder", metavar="MODEL|default", help=words)
    words = "move a collection to a PostgreSQL server, or back; resumes an interrupted move"
    command = named.add("move", _move, words, ("NAME", "the collection to move"))
    command.add_argument("--to", metavar="ADDRESS|local", required=True, help=f"{ADDRESS}; or local: this computer")
    connect = (("NAME", "name of the collection on this computer"), ("ADDRESS", ADDRESS))
    command = named.add("connect", _connect, "use a collection that is on a PostgreSQL server", *connect)
    command.add_argument("--there", metavar="NAME", help="name of the collection on the server (default: the same)")
    words = "stop using a collection on a server; it stays there"
    named.add("disconnect", _disconnect, words, ("NAME", "the collection"))
    words = "erase deleted data from the tables and indexes of a collection's server"
    named.add("vacuum", _vacuum, words, ("NAME", "the collection"))

    command = commands.add("web", _web, "show or choose a collection's web mode", collection=True)
    words = "whether to search the web; ask: you approve each query"
    command.add_argument("mode", nargs="?", choices=cli.values(WebMode), help=words)

    presets = commands.add("presets", _list_presets, "list presets, or choose a collection's", collection=True)
    named = commands.subcommands(presets, "list | use NAME")
    named.add("list", _list_presets, "list the presets and what each is for", collection=True)
    command = named.add("use", _use, "choose the collection's preset", collection=True)
    command.add_argument("name", choices=cli.values(Preset), metavar="NAME", help="a name from `presets list`")


def _list(parsed: argparse.Namespace, settings: Settings) -> None:
    collections = cli.open_app(settings).collections
    homes = {name: collections.homes.locate(name).server for name in collections.names()}
    found = [{"name": name, "home": str(server or "local")} for name, server in homes.items()]
    width = max((len(one["name"]) for one in found), default=0)
    lines = "\n".join(f"{one['name']:<{width}}  {one['home']}" for one in found) or "No collections."
    cli.print_result(found, parsed, lines)


def _copy(parsed: argparse.Namespace, settings: Settings) -> None:
    number = _show_progress(cli.open_app(settings).collection_copies.copy(parsed.name, parsed.new), parsed, "copied")
    text = f"{parsed.new}: {counted(number, 'document')} copied from {parsed.name}."
    cli.print_result({"name": parsed.new, "documents": number}, parsed, text)


def _merge(parsed: argparse.Namespace, settings: Settings) -> None:
    merged = cli.open_app(settings).collection_copies.merge(parsed.name, parsed.into)
    lines = [f"{parsed.into}: {counted(merged.documents, 'document')} of {parsed.name} merged into it."]
    lines += [f"renamed: {old} is now {new}" for old, new in merged.renamed]
    lines += [f"already there with the same content: {name}" for name in merged.same]
    cli.print_result(merged, parsed, "\n".join(lines))


def _export(parsed: argparse.Namespace, settings: Settings) -> None:
    steps = cli.open_app(settings).collection_copies.export(parsed.name, Path(parsed.file))
    number = _show_progress(steps, parsed, "written")
    written = f"{parsed.name}: {counted(number, 'document')} written to {Path(parsed.file)}."
    result = {"file": Path(parsed.file), "documents": number}
    cli.print_result(result, parsed, f"{written} Keep the file safe: it has their text.")


def _import(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly = cli.open_app(settings)
    names: list[str] = []

    def record_name(events: Iterator[tuple[str, TransferProgress]]) -> Iterator[TransferProgress]:
        for name, moved in events:
            names[:] = [name]
            yield moved

    try:
        with closing(assembly.collection_copies.import_file(Path(parsed.file), parsed.name)) as events:
            number = _show_progress(record_name(events), parsed, "checked and imported")
    except BaseException:
        # The part that was imported is removed again, but the full-text index still contains its words.
        cli.finish_secure_deletion(assembly)
        raise
    text = f"{names[0]}: {counted(number, 'document')} imported."
    if names[0] in assembly.collections.embedders.to_reindex():
        text += f" Before you can ask it, run: localcrag ingest --re-embed --collection {names[0]}"
    cli.print_result({"name": names[0], "documents": number}, parsed, text)


def _embedder(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly = cli.open_app(settings)
    assembly.collection_settings.set_embedder(None if parsed.embedder == "default" else parsed.embedder, parsed.name)
    embedders = assembly.collections.embedders
    wanted, there = embedders.wanted(parsed.name), embedders.name_of(parsed.name)
    text = f"{parsed.name}: {wanted}"
    if wanted != there:
        text += f"; searches use {there} until you run: localcrag ingest --re-embed --collection {parsed.name}"
    cli.print_result({"name": parsed.name, "embedder": wanted, "searched_with": there}, parsed, text)


def _show_progress(steps: Iterator[TransferProgress], parsed: argparse.Namespace, what: str) -> int:
    """Show the progress on a terminal, and return the number of documents."""
    last = None
    for last in steps:
        if sys.stderr.isatty() and not parsed.json:
            print(f"\r{last.done} of {counted(last.total, 'document')} {what}", end="", file=sys.stderr)
    if sys.stderr.isatty() and not parsed.json and last:
        print(file=sys.stderr)
    return last.total if last else 0


def _move(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly, moved = cli.open_app(settings), False
    collections = assembly.collections

    def steps() -> Iterator[TransferProgress]:
        nonlocal moved
        for one in collections.moving.move(parsed.name, parsed.to):
            moved = True
            yield one

    number = _show_progress(steps(), parsed, "copied and compared")
    cli.finish_secure_deletion(assembly)
    home = collections.homes.locate(parsed.name).server
    copied = f"{counted(number, 'document')} copied and compared" if moved else "nothing had to be moved"
    text = f"{parsed.name}: {copied}; it is {f'at {home}' if home else 'on this computer'}."
    cli.print_result({"name": parsed.name, "home": str(home or "local"), "documents": number}, parsed, text)


def _connect(parsed: argparse.Namespace, settings: Settings) -> None:
    home = cli.open_app(settings).collections.homes.connect(parsed.name, parsed.address, parsed.there)
    cli.print_result({"name": home.name, "home": str(home.server)}, parsed, f"{home.name}: connected to {home.server}")


def _disconnect(parsed: argparse.Namespace, settings: Settings) -> None:
    cli.open_app(settings).collections.homes.disconnect(parsed.name)
    text = f"{parsed.name}: disconnected; its documents stay on the server."
    cli.print_result({"disconnected": parsed.name}, parsed, text)


def _vacuum(parsed: argparse.Namespace, settings: Settings) -> None:
    cli.open_app(settings).collections.homes.vacuum(parsed.name)
    text = f"{parsed.name}: deleted data was erased from the server's tables and indexes."
    cli.print_result({"vacuumed": parsed.name}, parsed, text)


def _web(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly = cli.open_collection(settings)
    if parsed.mode:
        assembly.collection_settings.set_web_mode(WebMode(parsed.mode))
    mode = assembly.collection_settings.web_mode()
    note = " The setting `web` overrides the collection's own mode." if (parsed.mode and mode != parsed.mode) else ""
    if mode is not WebMode.NEVER and assembly.settings.searxng_url is None:
        note += " No SearXNG is set, so no query is sent. Set its address in LOCALCRAG_SEARXNG_URL or in the app."
    text = f"For the collection “{settings.collection}” the web mode is {mode}.{note}"
    cli.print_result({"collection": settings.collection, "web": mode}, parsed, text)


def _list_presets(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.records.thresholds import PRESETS

    used = cli.open_collection(settings).collection_settings.preset()
    lines = [f"{'→' if name is used else ' '} {name:<15} {rules.purpose}" for name, rules in PRESETS.items()]
    listed = [{"name": name, "used": name is used, **dataclasses.asdict(rules)} for name, rules in PRESETS.items()]
    cli.print_result(listed, parsed, "\n".join(lines))


def _use(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.records.thresholds import PRESETS

    preset = Preset(parsed.name)
    cli.open_collection(settings).collection_settings.set_preset(preset)
    text = f"The collection “{settings.collection}” now uses the preset {preset}. {PRESETS[preset].purpose}"
    cli.print_result({"collection": settings.collection, "preset": preset}, parsed, text)
