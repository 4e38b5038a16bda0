"""`localcrag ingest`: add documents to a collection, re-index it, or read its scans."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli import command as cli
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import SettingsError
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.app.uploads import FoundFiles
    from localcrag.records.ingest import IngestResult, Upload
    from localcrag.settings import Settings


def add_commands(commands: cli.Commands) -> None:
    """Add `ingest`."""
    command = commands.add("ingest", _ingest, "add documents to a collection", collection=True)
    command.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders to add")
    words = "re-index the collection, for another embedding model"
    command.add_argument("--re-embed", dest="reindex", action="store_true", help=words)
    words = "continue text recognition (OCR) of scans, and retry failed pages"
    command.add_argument("--read-scans", action="store_true", help=words)
    words = "number of files, or pages of scans, to read at the same time (0: by the number of cores)"
    cli.add_number(command, "workers", "N", words)


def _ingest(parsed: argparse.Namespace, settings: Settings) -> int:
    if sum((bool(parsed.paths), parsed.reindex, parsed.read_scans)) != 1:
        raise SettingsError("Name files or folders to add, or give --re-embed or --read-scans alone.")
    assembly = cli.open_app(settings)
    try:
        return _run(assembly, parsed)
    finally:
        cli.finish_secure_deletion(assembly)


def _run(assembly: Assembly, parsed: argparse.Namespace) -> int:
    from localcrag.app.uploads import FoundFiles, with_warnings
    from localcrag.interfaces.cli import terminal

    if parsed.reindex:
        done = terminal.show_re_embedding(assembly.collections.reindex())
        reindexed = {"collection": assembly.settings.collection, "chunks": done}
        reindexed["warnings"] = cli.index_warnings(assembly)
        cli.print_result(reindexed, parsed, f"{counted(done, 'chunk')} re-indexed.")
        return cli.DONE
    if parsed.read_scans:
        results = terminal.show_ingest(assembly.collections.read_scans(again=True), quiet=parsed.json)
    else:
        results = _add(assembly, FoundFiles(parsed.paths), quiet=parsed.json)
    results = with_warnings(results, cli.index_warnings(assembly))
    cli.print_result(results, parsed, None)
    if not parsed.json and assembly.collections.mostly_foreign(assembly.collections.documents()):
        from localcrag.app.collections.collections import ADVICE

        cli.say(f"{ADVICE}.")
    return cli.FAILED if any(result.status is IngestStatus.FAILED for result in results) else cli.DONE


def _add(assembly: Assembly, uploads: FoundFiles, *, quiet: bool) -> list[IngestResult]:
    """Add files, ask for the passwords of locked ones, and recognise the text of scans."""
    from localcrag.interfaces.cli import terminal

    results = terminal.show_ingest(assembly.ingest(uploads), quiet=quiet)
    if not quiet and sys.stdin.isatty() and any(one.locked for one in results):
        by_name = {upload.name: upload for upload in uploads}
        results = [_unlock(assembly, by_name[one.document]) or one if one.locked else one for one in results]
    if assembly.settings.collection in assembly.collections.scanned():
        results += terminal.show_ingest(assembly.collections.read_scans(), quiet=quiet)
    return results


def _unlock(assembly: Assembly, upload: Upload) -> IngestResult | None:
    """Ask for a file's password until one fits or none is entered; return the last result, None if none was entered."""
    from getpass import getpass

    from localcrag.interfaces.cli import terminal

    result, asked = None, f"Password of {upload.name} (press Enter to skip the file): "
    while (result is None or result.locked) and (password := getpass(asked)):
        *_, result = terminal.show_ingest(assembly.ingest([dataclasses.replace(upload, password=password)]))
    return result
