"""`localcrag serve`: an OpenAI-compatible API on this computer, for other programs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from localcrag.cli.choices import port

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
PORT = 7979
"""Fixed, since other programs keep it in their settings; not among those that the page takes."""


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `serve`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser(
        "serve", parents=[common, within], help="answer other programs, over an API as OpenAI's"
    )
    command.add_argument("--port", type=port, metavar="N", default=PORT, help=f"port on 127.0.0.1 ({PORT})")
    command.add_argument("--show-token", action="store_true", help="print the token that programs need, and end")
    command.add_argument("--new-token", action="store_true", help="make another token, print it, and end")
    command.set_defaults(run=_serve)


def _serve(parsed: argparse.Namespace, settings: Settings) -> int:
    if parsed.show_token or parsed.new_token:
        from localcrag.cli.command_output import print_result  # noqa: PLC0415
        from localcrag.server.openai.token import token_of  # noqa: PLC0415

        token = token_of(settings.data_dir, new=parsed.new_token)
        print_result({"token": token}, parsed, token)
        return DONE
    from localcrag.server.openai.launch import launch  # noqa: PLC0415

    launch(settings, port=parsed.port, only=parsed.collection)
    return DONE
