"""`localcrag documents` and `localcrag forget`: list, tag, delete and forget documents."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from localcrag.interfaces.cli import command as cli
from localcrag.records.errors import SettingsError
from localcrag.text.places import aliases_in_words, page_count_in_words, place_name
from localcrag.text.translation import counted
from localcrag.text.words import replace_surrogates

if TYPE_CHECKING:
    from localcrag.records.documents import Document, ErasureReport, ResidueLocation, ResidueReport
    from localcrag.settings import Settings


SHOWN = 20
"""Largest number of places that `forget` prints; --json lists all."""
_ABOUT = (
    "Erase documents, and the runs, chat turns, labels, pins, web answers and evaluations that quote them. Rewrite the "
    "files that contained them, then search every byte of the data folder for their text. `documents delete` keeps "
    "quotations; you can run this command after it. Without a NAME, overwrite what earlier deletions left in files. "
    "The exit status is 1 if something is left."
)


def add_commands(commands: cli.Commands) -> None:
    """Add `documents` and `forget`."""
    documents = commands.add("documents", _list, "list, tag or delete documents", collection=True)
    cli.add_restriction(documents)
    named = commands.subcommands(documents, "list | tag NAME TAG … | untag NAME TAG … | delete NAME")
    cli.add_restriction(named.add("list", _list, "list the collection's documents, or some of them", collection=True))
    for name, does in (("tag", "add tags to"), ("untag", "remove tags from")):
        tagged = ("NAME", "a name from `documents list`; a folder's name ends with /")
        command = named.add(name, _tag, f"{does} a document or folder", tagged, collection=True)
        command.set_defaults(gives=name == "tag")
        command.add_argument("tags", metavar="TAG", nargs="+", help="a tag, of one or more words")
    words = "delete a document, but keep answers that quote it (localcrag forget erases those, too)"
    deleted = ("NAME", "a name from `documents list`; all other names of the document go, too")
    named.add("delete", _delete, words, deleted, collection=True)

    words = "erase documents and everything that quotes them, and verify the data folder"
    command = commands.add("forget", _forget, words, collection=True, description=_ABOUT)
    command.add_argument("names", metavar="NAME", nargs="*", help="a name from `documents list`")
    words = "erase nothing; search the data folder for the text of this document, or for these words"
    command.add_argument("--verify", metavar="NAME|WORDS", nargs="?", const="", help=words)


def _list(parsed: argparse.Namespace, settings: Settings) -> None:
    wanted = cli.parse_restriction(parsed)
    documents = [one for one in cli.open_collection(settings).collections.documents() if wanted.allows(one)]
    lines = "\n".join(map(_line, documents)) or ("No document matches." if wanted else "No documents.")
    cli.print_result(documents, parsed, lines)


def _line(one: Document) -> str:
    pages = f"{page_count_in_words(one.name, one.pages)}, " if one.pages else ""
    scans = [f"read by OCR, {one.confidence:.2f}"] if one.confidence is not None else []
    scans += [f"{counted(one.waiting, 'page')} to be recognised"] if one.waiting else []
    scans += [f"{counted(one.illegible, 'page')} not readable"] if one.illegible else []
    scans += [aliases_in_words(one.also)] if one.also else []
    tags = [", ".join(f"#{tag}" for tag in one.tags)] if one.tags else []
    text = ", ".join([one.kind, f"{pages}{counted(one.chunks, 'chunk')}", *scans, *tags, one.added_at])
    return f"{one.name}  ·  {text}"


def _tag(parsed: argparse.Namespace, settings: Settings) -> None:
    tags = [replace_surrogates(tag) for tag in parsed.tags]
    collections = cli.open_collection(settings).collections
    (meant,) = collections.document_names.resolve([replace_surrogates(parsed.name)])
    put, take = (tags, []) if parsed.gives else ([], tags)
    collections.tags.change([meant.name], put=put, take=take)
    did = "tagged" if parsed.gives else "removed tags"
    message = f"{place_name(meant.name, None, (), meant.also)}: {did} {', '.join(tags)}"
    result = {"name": meant.name, "also": meant.also, "tagged" if parsed.gives else "untagged": tags}
    cli.print_result(result, parsed, message)


def _delete(parsed: argparse.Namespace, settings: Settings) -> None:
    assembly = cli.open_collection(settings)
    (meant,) = assembly.collections.document_names.resolve([replace_surrogates(parsed.name)])
    attachments = assembly.document_deletion.delete([meant.name])
    more = f", with {counted(attachments, 'attachment')}" if attachments else ""
    result = {"deleted": meant.name, "also": meant.also, "attachments": attachments}
    text = f"{place_name(meant.name, None, (), meant.also)}: deleted{more}"
    cli.print_result(result | {"warnings": cli.index_warnings(assembly)}, parsed, text)


def _forget(parsed: argparse.Namespace, settings: Settings) -> int:
    names = [replace_surrogates(name) for name in parsed.names]
    if parsed.verify and names:
        search = "--verify with a name or words to search for"
        raise SettingsError(f"Give either the names of documents to erase, or {search}.")
    if parsed.verify == "" and not names:
        raise SettingsError("--verify needs something to search for: --verify NAME, or --verify WORDS.")
    assembly = cli.open_collection(settings)
    document_deletion = assembly.document_deletion
    if parsed.verify:
        found = document_deletion.verify(replace_surrogates(parsed.verify))
        cli.print_result(found, parsed, "\n".join(_search_lines(found, found.places)))
        return cli.FAILED if found.places else cli.DONE
    if not names:
        document_deletion.overwrite_all()
        text = "The bytes that earlier deletions left in the data folder were overwritten."
        cli.print_result({"overwritten": True}, parsed, text)
        return cli.DONE
    meant = assembly.collections.document_names.resolve(names)
    forgotten = document_deletion.forget([one.name for one in meant])
    lines = _forget_lines([place_name(one.name, None, (), one.also) for one in meant], forgotten)
    cli.print_result(forgotten, parsed, "\n".join(lines))
    return cli.FAILED if forgotten.left else cli.DONE


_RECORDS = ("run", "turn", "chat", "label", "pin", "web answer")
"""Nouns for the numbers in `RemovedQuotations`."""


def _forget_lines(names: list[str], forgotten: ErasureReport) -> list[str]:
    removed = forgotten.removed
    numbers = {noun: getattr(removed, f"{noun.replace(' ', '_')}s") for noun in _RECORDS}
    numbers = {"document": len(forgotten.documents), **numbers, "folder": len(removed.folders)}
    parts = [counted(number, noun) for noun, number in numbers.items() if number]
    lines = [f"{', '.join(names)}: removed {', '.join(parts) or 'nothing: nothing was left'}"]
    if removed.redacted:
        found = f"{counted(removed.redacted, 'run')} had found it without using it"
        lines.append(f"{found}: its passages were removed from there")
    lines += [f"removed: {name}" for name in removed.folders]
    lines += _search_lines(forgotten.searched, forgotten.left)
    if forgotten.backups:
        lines.append(f"Your backups may still contain it. Remove them yourself: {', '.join(forgotten.backups)}")
    lines.append("Copies of the data folder and exported files elsewhere were not searched.")
    copies = [f"“{name}” in the collection “{collection}”" for name, collection in forgotten.copies]
    return lines + ([f"The same content is still there as {', '.join(copies)}."] if copies else [])


def _search_lines(found: ResidueReport, places: tuple[ResidueLocation, ...]) -> list[str]:
    """Return the result of a search of the data folder, as lines to print."""
    if not found.marks:
        return ["Nothing to search for: all its text is also in other documents."]
    what = f"{counted(found.marks, 'trace')} (phrases, pieces of files, vectors) in {counted(found.files, 'file')}"
    outcome = "found" if places else "found nothing"
    lines = [f"Searched for {what}, {found.bytes / 1e6:,.1f} MB, and in all tables: {outcome}"]
    for one in places[:SHOWN]:
        where = f"table {one.table}" if one.table else f"byte {one.at}"
        lines.append(f"{one.file}, {where}: {one.description}")
    if len(places) > SHOWN:
        lines.append(f"… and {len(places) - SHOWN} more; --json lists all.")
    return lines + [f"not searched: {name}" for name in found.unread]
