"""`localcrag ingest`: add documents to a collection, re-index it, or read its scans."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import (
    counted,
    finish_secure_deletion,
    index_warnings,
    open_app,
    print_result,
    setting,
)
from localcrag.records.errors import SettingsError

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.app.uploads import FoundFiles
    from localcrag.records.ingest import IngestResult, Upload
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


DONE, FAILED = 0, 1


def add_ingest_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `ingest`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser("ingest", parents=[common, within], help="add documents to a collection")
    command.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders to add")
    command.add_argument(
        "--re-embed", dest="reindex", action="store_true", help="re-index the collection, for another embedding model"
    )
    command.add_argument(
        "--read-scans", action="store_true", help="continue text recognition (OCR) of scans, and retry failed pages"
    )
    command.add_argument(
        "--workers",
        type=setting("workers"),
        metavar="N",
        help="number of files, or pages of scans, to read at the same time (0: by the number of cores)",
    )
    command.set_defaults(run=_ingest)


def _ingest(parsed: argparse.Namespace, settings: Settings) -> int:
    if sum((bool(parsed.paths), parsed.reindex, parsed.read_scans)) != 1:
        raise SettingsError("Name files or folders to add, or give --re-embed or --read-scans alone.")
    assembly = open_app(settings)
    try:
        return _run(assembly, parsed)
    finally:
        finish_secure_deletion(assembly)


def _run(assembly: Assembly, parsed: argparse.Namespace) -> int:
    from localcrag.app.uploads import FoundFiles, with_warnings
    from localcrag.interfaces.cli import terminal
    from localcrag.records.enums import IngestStatus

    if parsed.reindex:
        done = terminal.show_re_embedding(assembly.collections.reindex())
        result_json = {"collection": assembly.settings.collection, "chunks": done, "warnings": index_warnings(assembly)}
        print_result(result_json, parsed, f"{counted(done, 'chunk')} re-indexed.")
        return DONE
    if parsed.read_scans:
        results = terminal.show_ingest(assembly.collections.read_scans(again=True), quiet=parsed.json)
    else:
        results = _add(assembly, FoundFiles(parsed.paths), quiet=parsed.json)
    results = with_warnings(results, index_warnings(assembly))
    print_result([dataclasses.asdict(result) for result in results], parsed, None)
    if not parsed.json and assembly.collections.mostly_foreign(assembly.collections.documents()):
        from localcrag.app.collections.collections import ADVICE

        print(f"{ADVICE}.", file=sys.stderr)
    return FAILED if any(result.status is IngestStatus.FAILED for result in results) else DONE


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
