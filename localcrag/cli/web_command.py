"""`localcrag web`: show or choose whether the web may be asked about a collection."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from localcrag.cli.choices import WEB_MODES
from localcrag.cli.command_output import print_result
from localcrag.cli.opened import opened

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `web`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser("web", parents=[common, within], help="show or choose a collection's web mode")
    command.add_argument("mode", nargs="?", choices=WEB_MODES, help="whether your SearXNG may be asked")
    command.set_defaults(run=_web)


def _web(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.enums import WebMode  # noqa: PLC0415

    assembly = opened(settings)
    if parsed.mode:
        assembly.collection_settings.set_web_mode(WebMode(parsed.mode))
    mode = assembly.collection_settings.web_mode()
    fixed = parsed.mode and mode != parsed.mode
    note = " It is set for all collections (setting web), which wins." if fixed else ""
    if mode is not WebMode.NEVER and assembly.settings.searxng_url is None:
        note += " No SearXNG is set, so nothing is asked: give its address in LOCALCRAG_SEARXNG_URL or on the page."
    text = f"For the collection “{settings.collection}” the web mode is {mode}.{note}"
    print_result({"collection": settings.collection, "web": mode}, parsed, text)
    return DONE
