"""`localcrag backup`, `restore`, `privacy` and `doctor`: back up, inspect and repair the data folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import DONE, FAILED, Commands, add_count, open_app, print_result
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.records.documents import BackupSummary
    from localcrag.settings import Settings


LEFT_OUT = "Models, server keys and the API token are not in the backup."


SHOWN = 20
"""Connection attempts that are shown without `--last`."""


def add_commands(commands: Commands) -> None:
    """Add `privacy`, `backup`, `restore` and `doctor`."""
    command = commands.add("privacy", _show, "show what left this computer, and what is stored where")
    words = f"number of connection attempts to show ({SHOWN})"
    add_count(command, "--last", "a number of attempts", words, default=SHOWN)
    words = "back up documents, chats, questions, labels and settings to one file"
    commands.add("backup", _backup, words, ("FILE", "the file to write; it must not exist yet"))
    backup = ("FILE", "a backup that `localcrag backup` or the app wrote")
    commands.add("restore", _restore, "replace all data with a backup", backup)
    command = commands.add("doctor", _doctor, "check the installation, or repair the data folder")
    words = "rebuild indexes, full-text search and caches; rescue what is readable in a damaged database"
    command.add_argument("--repair", action="store_true", help=words)


def _backup(parsed: argparse.Namespace, settings: Settings) -> None:
    done = open_app(settings).storage.back_up(Path(parsed.file))
    lines = [f"{_describe(done)}, written and verified.", *_missing_lines(done), LEFT_OUT]
    print_result(done, parsed, "\n".join(lines))


def _restore(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app.health import restore

    done = restore(settings, Path(parsed.file))
    text = f"Restored: {_describe(done)}. Existing settings were kept."
    print_result(done, parsed, "\n".join([text, *_missing_lines(done)]))


def _describe(done: BackupSummary) -> str:
    held = ", ".join([counted(done.documents, "document"), counted(done.chats, "chat"), counted(done.runs, "question")])
    return f"{done.path}: {done.bytes / 1e6:.1f} MB with {held}"


def _missing_lines(done: BackupSummary) -> list[str]:
    """Return a line about collections whose documents are on a server, and therefore not in the backup."""
    if not done.elsewhere:
        return []
    named = ", ".join(f"“{name}”" for name in done.elsewhere)
    return [f"Not in the backup: the documents of {named}, which are on a PostgreSQL server. Back up that server, too."]


def _show(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app.egress import describe_attempt, describe_outgoing, may_leave, outgoing, summary_line
    from localcrag.privacy.private_folder import exposed_files

    assembly = open_app(settings)
    summary, attempts = assembly.egress.summary(), assembly.egress.newest(parsed.last)
    folder, opened = settings.data_dir.absolute(), exposed_files(settings.data_dir)
    kept, servers = assembly.storage.sizes(), outgoing(assembly)
    lines = [summary_line(summary), ""]
    named = [(one, f"  ({one.asked_by})" if one.asked_by else "") for one in attempts]
    lines += [f"{one.at}  {describe_attempt(one)}{asked_by}" for one, asked_by in named]
    lines += [""] * bool(attempts)
    lines += [f"{folder}", *(f"  {size / 1e6:10,.1f} MB  {name}" for name, size in kept)]
    not_private = "Other users can read {}, and localcrag could not change that. Change its permissions."
    lines += map(not_private.format, opened)
    lines += [""] + (list(dict.fromkeys(map(describe_outgoing, servers))) or [may_leave(servers)])
    to = {"searches": summary.searches, "model_servers": summary.to_models}
    to["collection_servers"] = summary.to_collections
    result = {
        "line": summary_line(summary),
        "connections": summary.connections,
        "set_up_downloads": summary.set_up,
        **{kind: [{"destination": place, "times": times} for place, times in found] for kind, found in to.items()},
        "refused": summary.refused,
        "attempts": attempts,
        "may_leave": servers,
        "searxng": assembly.web.address if settings.searxng_url else None,
        "data_dir": folder,
        "bytes": dict(kept),
        "open_to_others": opened,
    }
    print_result(result, parsed, "\n".join(lines))


def _doctor(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.health import CheckState, examine, repair

    findings = []
    for finding in repair(settings) if parsed.repair else examine(open_app(settings)):
        findings.append(finding)
        if not parsed.json:
            print(f"{finding.state:<6}  {finding.name}: {finding.detail}", flush=True)
    print_result(findings, parsed, None)
    return FAILED if any(finding.state is CheckState.FAILED for finding in findings) else DONE
