"""`localcrag documents` and `localcrag forget`: list, tag, delete and forget documents."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import (
    add_restriction,
    counted,
    index_warnings,
    open_collection,
    parse_restriction,
    print_result,
)
from localcrag.records.errors import SettingsError
from localcrag.text.places import aliases_in_words, page_count_in_words, place_name

if TYPE_CHECKING:
    from localcrag.records.documents import Document, ErasureReport, ResidueLocation, ResidueReport
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_documents_parser(
    subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser
) -> None:
    """Add `documents`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    documents = subparsers.add_parser("documents", parents=[common, within], help="list, tag or delete documents")
    add_restriction(documents)
    documents.set_defaults(run=_list)
    named = documents.add_subparsers(metavar="list | tag NAME TAG … | untag NAME TAG … | delete NAME")
    command = named.add_parser("list", parents=[common, within], help="the collection's documents, or some of them")
    add_restriction(command)
    command.set_defaults(run=_list)
    for name, words in (("tag", "give tags to a document or folder"), ("untag", "take tags from one")):
        command = named.add_parser(name, parents=[common, within], help=words)
        command.add_argument("name", metavar="NAME", help="any that `documents list` shows; a folder ends with /")
        command.add_argument("tags", metavar="TAG", nargs="+", help="a word or a few")
        command.set_defaults(run=_tag, gives=name == "tag")
    command = named.add_parser(
        "delete",
        parents=[common, within],
        help="delete a document; what answers quote of it stays (localcrag forget removes that, too)",
    )
    command.add_argument("name", metavar="NAME", help="any that `documents list` shows; all names of a document go")
    command.set_defaults(run=_delete)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    wanted = parse_restriction(parsed)
    documents = [one for one in open_collection(settings).collections.documents() if wanted.allows(one)]
    lines = "\n".join(map(_line, documents)) or ("No document fits that." if wanted else "No documents.")
    print_result([dataclasses.asdict(one) for one in documents], parsed, lines)
    return DONE


def _line(one: Document) -> str:
    pages = f"{page_count_in_words(one.name, one.pages)}, " if one.pages else ""
    scans = [f"read by OCR, {one.confidence:.2f}"] if one.confidence is not None else []
    scans += [f"{counted(one.waiting, 'page')} to be recognised"] if one.waiting else []
    scans += [f"{counted(one.illegible, 'page')} not readable"] if one.illegible else []
    scans += [aliases_in_words(one.also)] if one.also else []
    tags = [", ".join(f"#{tag}" for tag in one.tags)] if one.tags else []
    text = ", ".join([one.kind, f"{pages}{counted(one.chunks, 'chunk')}", *scans, *tags, one.added_at])
    return f"{one.name}  ·  {text}"


def _tag(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.text.words import replace_surrogates

    name, tags = replace_surrogates(parsed.name), [replace_surrogates(tag) for tag in parsed.tags]
    put, take = (tags, []) if parsed.gives else ([], tags)
    collections = open_collection(settings).collections
    (meant,) = collections.named.meant([name])
    collections.tags.change([meant.name], put=put, take=take)
    has = "has" if parsed.gives else "has no longer"
    message = f"{place_name(meant.name, None, (), meant.also)}: {has} {', '.join(tags)}"
    named = {"name": meant.name, "also": meant.also}
    print_result(named | {"tagged" if parsed.gives else "untagged": tags}, parsed, message)
    return DONE


def _delete(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.text.words import replace_surrogates

    assembly = open_collection(settings)
    (meant,) = assembly.collections.named.meant([replace_surrogates(parsed.name)])
    attachments = assembly.document_deletion.delete([meant.name])
    more = f", with {counted(attachments, 'attachment')}" if attachments else ""
    result = {"deleted": meant.name, "also": meant.also, "attachments": attachments}
    text = f"{place_name(meant.name, None, (), meant.also)}: deleted{more}"
    print_result(result | {"warnings": index_warnings(assembly)}, parsed, text)
    return DONE


DONE, FOUND = 0, 1
SHOWN = 20
"""Largest number of places that are printed; --json lists all."""
_ABOUT = """Removes documents, with the runs, turns of chats, labels, pins, web answers and evaluations that quote them,
writes the files anew that had them, and searches every byte of the data folder for what they said. `documents delete`
keeps what quotes a document; this can be called after it, too. Without a NAME: what earlier deletions left in files is
overwritten. Exit status 1: something is left."""


def add_forget_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
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
    from localcrag.text.words import replace_surrogates

    names = [replace_surrogates(name) for name in parsed.names]
    if parsed.verify and names:
        raise SettingsError("Name either what is to be forgotten, or, after --verify, what is to be searched for.")
    if parsed.verify == "" and not names:
        raise SettingsError("Say what is searched for: --verify NAME, or --verify WORDS.")
    assembly = open_collection(settings)
    document_deletion = assembly.document_deletion
    if parsed.verify:
        found = document_deletion.verify(replace_surrogates(parsed.verify))
        print_result(dataclasses.asdict(found), parsed, "\n".join(_search_lines(found, found.places)))
        return FOUND if found.places else DONE
    if not names:
        document_deletion.overwrite_all()
        print_result(
            {"overwritten": True}, parsed, "What was deleted before is in no file of the data folder any more."
        )
        return DONE
    meant = assembly.collections.named.meant(names)
    forgotten = document_deletion.forget([one.name for one in meant])
    text = _forget_lines([place_name(one.name, None, (), one.also) for one in meant], forgotten)
    print_result(dataclasses.asdict(forgotten), parsed, "\n".join(text))
    return FOUND if forgotten.left else DONE


def _forget_lines(names: list[str], forgotten: ErasureReport) -> list[str]:
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
    lines += _search_lines(forgotten.searched, forgotten.left)
    if forgotten.backups:
        lines.append(f"Copies that you made still have it, remove them yourself: {', '.join(forgotten.backups)}")
    lines.append("Copies of the data folder, and files that you exported elsewhere, are not searched.")
    copies = [f"“{name}” in the collection “{collection}”" for name, collection in forgotten.copies]
    return lines + ([f"The same content is still there as {', '.join(copies)}."] if copies else [])


def _search_lines(found: ResidueReport, places: tuple[ResidueLocation, ...]) -> list[str]:
    """Return the result of a search of the data folder, as lines to print."""
    if not found.marks:
        return ["Nothing to search for: it says nothing that no other document says."]
    what = f"{counted(found.marks, 'mark')} (phrases, pieces of files, vectors) in {counted(found.files, 'file')}"
    lines = [f"Searched for {what}, {found.bytes / 1e6:,.1f} MB, and in all tables: {'found' if places else 'nothing'}"]
    for one in places[:SHOWN]:
        where = f"table {one.table}" if one.table else f"byte {one.at}"
        lines.append(f"{one.file}, {where}: {one.description}")
    if len(places) > SHOWN:
        lines.append(f"… and {len(places) - SHOWN} more; --json has all.")
    return lines + [f"not searched: {name}" for name in found.unread]
