"""`localcrag ui`: open the page in the browser."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from localcrag.cli.choices import port

if TYPE_CHECKING:
    from localcrag.records.errors import LocalcragError
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `ui`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser("ui", parents=[common, within], help="open the page in the browser")
    command.add_argument("--port", type=port, metavar="N", help="port on 127.0.0.1 (7860, or the next free one)")
    command.add_argument("--host", type=_host, metavar="ADDRESS", help="127.0.0.1; others are refused, with the reason")
    command.add_argument("--no-browser", action="store_true", help="do not open the browser")
    command.set_defaults(run=_ui, on_failure=show_failure)


def ready_for_gradio(settings: Settings) -> None:
    """Say where Gradio keeps files, and leave out what it makes for editors: before it is imported."""
    # Gradio reads it when it is imported; its default is a folder that every user of the machine can look into.
    # matplotlib, which Gradio imports, makes a folder beside the person's settings of other programs.
    for name in ("GRADIO_TEMP_DIR", "MPLCONFIGDIR"):
        os.environ[name] = str(settings.uploads_dir)
    from localcrag.ui import gradio_stubs  # noqa: PLC0415

    gradio_stubs.leave_out()


def show_failure(parsed: argparse.Namespace, error: LocalcragError) -> None:
    """Show in the browser why the page cannot be opened, where the browser was asked for."""
    if not parsed.json and not parsed.no_browser:
        from localcrag.ui.server import failed_start  # noqa: PLC0415

        failed_start.show(str(error))


def _ui(parsed: argparse.Namespace, settings: Settings) -> int:
    ready_for_gradio(settings)
    from localcrag.ui.server.launch import launch  # noqa: PLC0415

    launch(settings, port=parsed.port, browser=not parsed.no_browser)
    return DONE


def _host(text: str) -> str:
    if text not in ("127.0.0.1", "localhost"):
        raise argparse.ArgumentTypeError(
            f"localcrag does not listen on {text}: it has no users and passwords, and would show your documents to "
            "whoever can reach that address. From another computer of yours, go through SSH (ssh -L "
            "7860:127.0.0.1:7860 you@this-computer) and open http://127.0.0.1:7860 there."
        )
    return text
