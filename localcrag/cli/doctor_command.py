"""`localcrag doctor`: check the installation."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.command_output import print_result
from localcrag.cli.opened import app_for

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE, FAILED = 0, 1


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `doctor`; `common` brings `--json` and `--data-dir`."""
    command = subparsers.add_parser("doctor", parents=[common], help="check the installation")
    command.add_argument(
        "--repair", action="store_true",
        help="make anew what can be: indexes, full text, caches; save what can be read of a damaged database",
    )  # fmt: skip
    command.set_defaults(run=_doctor)


def _doctor(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.health import State, examine  # noqa: PLC0415
    from localcrag.app.repair import repair  # noqa: PLC0415

    findings = []
    for finding in repair(settings) if parsed.repair else examine(app_for(settings)):
        findings.append(finding)
        if not parsed.json:
            print(f"{finding.state:<6}  {finding.name}: {finding.detail}", flush=True)
    if parsed.json:
        print_result([dataclasses.asdict(finding) for finding in findings], parsed, None)
    return FAILED if any(finding.state is State.FAILED for finding in findings) else DONE
