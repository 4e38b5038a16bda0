"""`localcrag documents`: list, tag or delete documents."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.command_output import counted, print_result
from localcrag.cli.opened import index_warnings, opened
from localcrag.cli.restriction_options import add_restriction, restriction_of
from localcrag.text.places import also_named, pages_in, place

if TYPE_CHECKING:
    from localcrag.records.documents import Document
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
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
    wanted = restriction_of(parsed)
    documents = [one for one in opened(settings).collections.documents() if wanted.allows(one)]
    lines = "\n".join(map(_line, documents)) or ("No document fits that." if wanted else "No documents.")
    print_result([dataclasses.asdict(one) for one in documents], parsed, lines)
    return DONE


def _line(one: Document) -> str:
    pages = f"{pages_in(one.name, one.pages)}, " if one.pages else ""
    scans = [f"read by OCR, {one.confidence:.2f}"] if one.confidence is not None else []
    scans += [f"{counted(one.waiting, 'page')} to be recognised"] if one.waiting else []
    scans += [f"{counted(one.illegible, 'page')} not readable"] if one.illegible else []
    scans += [also_named(one.also)] if one.also else []
    tags = [", ".join(f"#{tag}" for tag in one.tags)] if one.tags else []
    said = ", ".join([one.kind, f"{pages}{counted(one.chunks, 'chunk')}", *scans, *tags, one.added_at])
    return f"{one.name}  ·  {said}"


def _tag(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.text.words import valid  # noqa: PLC0415

    name, tags = valid(parsed.name), [valid(tag) for tag in parsed.tags]
    put, take = (tags, []) if parsed.gives else ([], tags)
    collections = opened(settings).collections
    (meant,) = collections.named.meant([name])
    collections.tags.change([meant.name], put=put, take=take)
    said = f"{place(meant.name, None, (), meant.also)}: {'has' if parsed.gives else 'has no longer'} {', '.join(tags)}"
    named = {"name": meant.name, "also": meant.also}
    print_result(named | {"tagged" if parsed.gives else "untagged": tags}, parsed, said)
    return DONE


def _delete(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.text.words import valid  # noqa: PLC0415

    assembly = opened(settings)
    (meant,) = assembly.collections.named.meant([valid(parsed.name)])
    attachments = assembly.forgetting.delete([meant.name])
    more = f", with {counted(attachments, 'attachment')}" if attachments else ""
    told = {"deleted": meant.name, "also": meant.also, "attachments": attachments}
    said = f"{place(meant.name, None, (), meant.also)}: deleted{more}"
    print_result(told | {"warnings": index_warnings(assembly)}, parsed, said)
    return DONE
