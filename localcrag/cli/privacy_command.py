"""`localcrag privacy`: what left this computer, what was refused, and what is kept where.

Nothing heavy is imported before it runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.command_output import at_least_one, print_result
from localcrag.cli.opened import app_for

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
SHOWN = 20


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `privacy`; `common` brings `--json` and `--data-dir`."""
    command = subparsers.add_parser("privacy", parents=[common], help="what left this computer, and what is kept where")
    command.add_argument(
        "--last", type=at_least_one("a number of attempts"), default=SHOWN, metavar="N", help=f"how many ({SHOWN})"
    )
    command.set_defaults(run=_show)


def _show(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app import egress_report  # noqa: PLC0415
    from localcrag.app.outgoing import described, may_leave, outgoing  # noqa: PLC0415
    from localcrag.privacy.private_folder import open_to_others  # noqa: PLC0415

    assembly = app_for(settings)
    summary, attempts = assembly.egress.summary(), assembly.egress.newest(parsed.last)
    folder, opened = settings.data_dir.absolute(), open_to_others(settings.data_dir)
    kept, servers = assembly.storage.sizes(), outgoing(assembly)
    text = [egress_report.line(summary), ""]
    text += [
        f"{one.at}  {egress_report.described(one)}" + (f"  ({one.asked_by})" if one.asked_by else "")
        for one in attempts
    ]
    text += [""] * bool(attempts)
    text += [f"{folder}", *(f"  {size / 1e6:10,.1f} MB  {name}" for name, size in kept)]
    text += [f"Others may look into {path}: localcrag could not change that." for path in opened]
    text += [""] + (list(dict.fromkeys(map(described, servers))) or [may_leave(servers)])
    result = {
        "line": egress_report.line(summary),
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
    print_result(result, parsed, "\n".join(text))
    return DONE
