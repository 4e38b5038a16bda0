"""`localcrag mcp`: a server of the Model Context Protocol on stdio, for editors and assistants."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `mcp`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser(
        "mcp", parents=[common, within], help="give editors and assistants tools that ask your documents (MCP)"
    )
    command.add_argument("--allow-ingest", action="store_true", help="also a tool that adds documents")
    command.set_defaults(run=_mcp)


def _mcp(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.server.mcp.launch import launch  # noqa: PLC0415

    launch(settings, only=parsed.collection, allow_ingest=parsed.allow_ingest)
    return DONE
