"""`localcrag backup`, `restore`, `privacy` and `doctor`: back up, inspect and repair the data folder."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import at_least_one, counted, open_app, print_result

if TYPE_CHECKING:
    from localcrag.records.documents import BackupSummary
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


LEFT_OUT = "Models, server keys and the API token are not in the backup."


def add_backup_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `backup` and `restore`; `common` has `--json` and `--data-dir`."""
    command = subparsers.add_parser(
        "backup", parents=[common], help="back up documents, chats, questions, labels and settings to one file"
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist yet")
    command.set_defaults(run=_backup)
    command = subparsers.add_parser("restore", parents=[common], help="replace all data with a backup")
    command.add_argument("file", type=Path, metavar="FILE", help="a backup that `localcrag backup` or the app wrote")
    command.set_defaults(run=_restore)


def _backup(parsed: argparse.Namespace, settings: Settings) -> int:
    done = open_app(settings).storage.back_up(parsed.file)
    print_result(
        _plain(done), parsed, "\n".join([f"{_describe(done)}, written and verified.", *_missing_lines(done), LEFT_OUT])
    )
    return DONE


def _restore(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.health import restore

    done = restore(settings, parsed.file)
    text = f"Restored: {_describe(done)}. Existing settings were kept."
    print_result(_plain(done), parsed, "\n".join([text, *_missing_lines(done)]))
    return DONE


def _describe(done: BackupSummary) -> str:
    held = ", ".join([counted(done.documents, "document"), counted(done.chats, "chat"), counted(done.runs, "question")])
    return f"{done.path}: {done.bytes / 1e6:.1f} MB with {held}"


def _missing_lines(done: BackupSummary) -> list[str]:
    """Return a line about collections whose documents are on a server, and therefore not in the backup."""
    if not done.elsewhere:
        return []
    named = ", ".join(f"“{name}”" for name in done.elsewhere)
    return [f"Not in the backup: the documents of {named}, which are on a PostgreSQL server. Back up that server, too."]


def _plain(done: BackupSummary) -> dict[str, object]:
    return {**dataclasses.asdict(done), "path": str(done.path)}


SHOWN = 20


def add_privacy_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `privacy`; `common` has `--json` and `--data-dir`."""
    command = subparsers.add_parser(
        "privacy", parents=[common], help="show what left this computer, and what is stored where"
    )
    command.add_argument(
        "--last",
        type=at_least_one("a number of attempts"),
        default=SHOWN,
        metavar="N",
        help=f"number of connection attempts to show ({SHOWN})",
    )
    command.set_defaults(run=_show)


def _show(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app import egress as egress_report
    from localcrag.app.egress import describe_outgoing, may_leave, outgoing
    from localcrag.privacy.private_folder import exposed_files

    assembly = open_app(settings)
    summary, attempts = assembly.egress.summary(), assembly.egress.newest(parsed.last)
    folder, opened = settings.data_dir.absolute(), exposed_files(settings.data_dir)
    kept, servers = assembly.storage.sizes(), outgoing(assembly)
    lines = [egress_report.summary_line(summary), ""]
    lines += [
        f"{one.at}  {egress_report.describe_attempt(one)}" + (f"  ({one.asked_by})" if one.asked_by else "")
        for one in attempts
    ]
    lines += [""] * bool(attempts)
    lines += [f"{folder}", *(f"  {size / 1e6:10,.1f} MB  {name}" for name, size in kept)]
    lines += [
        f"Other users can read {path}, and localcrag could not change that. Change its permissions." for path in opened
    ]
    lines += [""] + (list(dict.fromkeys(map(describe_outgoing, servers))) or [may_leave(servers)])
    result = {
        "line": egress_report.summary_line(summary),
        "connections": summary.connections,
        "set_up_downloads": summary.set_up,
        "searches": [{"destination": place, "times": times} for place, times in summary.searches],
        "model_servers": [{"destination": place, "times": times} for place, times in summary.to_models],
        "collection_servers": [{"destination": place, "times": times} for place, times in summary.to_collections],
        "refused": summary.refused,
        "attempts": [dataclasses.asdict(one) for one in attempts],
        "may_leave": [dataclasses.asdict(one) for one in servers],
        "searxng": assembly.web.address if settings.searxng_url else None,
        "data_dir": folder,
        "bytes": dict(kept),
        "open_to_others": opened,
    }
    print_result(result, parsed, "\n".join(lines))
    return DONE


DONE, FAILED = 0, 1


def add_doctor_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `doctor`; `common` has `--json` and `--data-dir`."""
    command = subparsers.add_parser(
        "doctor", parents=[common], help="check the installation, or repair the data folder"
    )
    command.add_argument(
        "--repair", action="store_true",
        help="rebuild indexes, full-text search and caches; rescue what is readable in a damaged database",
    )  # fmt: skip
    command.set_defaults(run=_doctor)


def _doctor(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.health import CheckState, examine, repair

    findings = []
    for finding in repair(settings) if parsed.repair else examine(open_app(settings)):
        findings.append(finding)
        if not parsed.json:
            print(f"{finding.state:<6}  {finding.name}: {finding.detail}", flush=True)
    if parsed.json:
        print_result([dataclasses.asdict(finding) for finding in findings], parsed, None)
    return FAILED if any(finding.state is CheckState.FAILED for finding in findings) else DONE
