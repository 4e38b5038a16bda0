"""The commands that start localcrag: `ui` and `desktop`, `serve` (API), and `mcp`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import port, print_result

if TYPE_CHECKING:
    from localcrag.records.errors import LocalcragError
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


DONE = 0
PORT = 7979
"""Port of the API; it is fixed, because other programs store it, and differs from the ports that the app tries."""


def add_serve_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `serve`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser("serve", parents=[common, within], help="start an OpenAI-compatible API server")
    command.add_argument("--port", type=port, metavar="N", default=PORT, help=f"port on 127.0.0.1 ({PORT})")
    command.add_argument("--show-token", action="store_true", help="print the token that programs need, and exit")
    command.add_argument("--new-token", action="store_true", help="make a new token, print it, and exit")
    command.set_defaults(run=_serve)


def _serve(parsed: argparse.Namespace, settings: Settings) -> int:
    if parsed.show_token or parsed.new_token:
        from localcrag.interfaces.api.openai_server import load_token
        from localcrag.interfaces.cli.command import print_result

        token = load_token(settings.data_dir, new=parsed.new_token)
        print_result({"token": token}, parsed, token)
        return DONE
    from localcrag.interfaces.api.openai_server import launch

    launch(settings, port=parsed.port, only=parsed.collection)
    return DONE


def add_mcp_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `mcp`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser(
        "mcp", parents=[common, within], help="start an MCP server for editors and assistants"
    )
    command.add_argument("--allow-ingest", action="store_true", help="also offer a tool that adds documents")
    command.set_defaults(run=_mcp)


def _mcp(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.interfaces.api.mcp import launch

    launch(settings, only=parsed.collection, allow_ingest=parsed.allow_ingest)
    return DONE


def add_ui_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `ui`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser("ui", parents=[common, within], help="open the app in the browser")
    command.add_argument("--port", type=port, metavar="N", help="port on 127.0.0.1 (7860, or the next free one)")
    command.add_argument(
        "--host", type=_host, metavar="ADDRESS", help="only 127.0.0.1 is allowed; other addresses are refused"
    )
    command.add_argument("--no-browser", action="store_true", help="do not open the browser")
    command.set_defaults(run=_ui, on_failure=show_failure)


def prepare_gradio(settings: Settings) -> None:
    """Set where Gradio stores its files, and keep it from writing stub files; call this before importing Gradio."""
    # Gradio reads its variable on import; the default is a folder that every user of the computer can read. Otherwise
    # matplotlib, which Gradio imports, would create a folder among the user's settings.
    for name in ("GRADIO_TEMP_DIR", "MPLCONFIGDIR"):
        os.environ[name] = str(settings.uploads_dir)
    from localcrag.interfaces.page import gradio_stubs

    gradio_stubs.disable_stubs()


def show_failure(parsed: argparse.Namespace, error: LocalcragError) -> None:
    """Show in the browser why the app could not start, unless --no-browser or --json was given."""
    if not parsed.json and not parsed.no_browser:
        from localcrag.interfaces.page.server import failed_start

        failed_start.show(str(error))


def _ui(parsed: argparse.Namespace, settings: Settings) -> int:
    prepare_gradio(settings)
    from localcrag.interfaces.page.server.launch import launch

    launch(settings, port=parsed.port, browser=not parsed.no_browser)
    return DONE


def _host(text: str) -> str:
    if text not in ("127.0.0.1", "localhost"):
        raise argparse.ArgumentTypeError(
            f"localcrag does not listen on {text}: it has no passwords, so everyone who can reach that address could "
            "read your documents. To use it from another computer, run ssh -L 7860:127.0.0.1:7860 you@this-computer "
            "there, and open http://127.0.0.1:7860"
        )
    return text


INSTALLED = """\
localcrag is now in your menu and in “Open with”. Your default programs for documents have not changed.
Start it from the menu or with `localcrag desktop open`. To undo this, run `localcrag desktop remove`.
Written:"""
REMOVED = "localcrag was removed from the menu and from “Open with”. Your documents and settings stay. Removed:"
NOT_THERE = "localcrag is not in the menu, so nothing was removed. To add it, run `localcrag desktop install`."
STILL_RUNNING = """\
localcrag is running, so the data of its window's browser was not removed. To remove it, too, run
`localcrag desktop quit`, then `localcrag desktop remove` again."""


def add_desktop_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `desktop` and its subcommands; `common` has `--json` and `--data-dir`."""
    desktop = subparsers.add_parser(
        "desktop", help="add localcrag to the desktop menu and to “Open with”", parents=[common]
    )
    commands = desktop.add_subparsers(dest="desktop_command", required=True, metavar="COMMAND")

    def add(name: str, does: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=does, description=does, parents=[common])
        command.set_defaults(run={"install": _install, "remove": _remove, "open": _open, "quit": _quit}[name])
        return command

    add("install", "add localcrag to the menu and to “Open with” for this user")
    add("remove", "remove localcrag from the menu and from “Open with”; documents and settings stay")
    opening = add("open", "open the app in its own window, or bring it to the front, and add files")
    opening.set_defaults(on_failure=show_failure, no_browser=False)
    opening.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="a document or a folder of documents to add"
    )
    add("quit", "quit the running localcrag")


def _install(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.desktop import install as desktop

    made = desktop.install(settings.data_dir)
    print_result([str(one) for one in made], parsed, "\n".join([INSTALLED, *(f"  {one}" for one in made)]))
    return DONE


def _remove(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.desktop import install as desktop

    gone = desktop.remove(settings.data_dir)
    lines = [REMOVED, *(f"  {one}" for one in gone.paths)] if gone.paths else [NOT_THERE]
    print_result([str(one) for one in gone.paths], parsed, "\n".join(lines))
    if gone.runs:
        _say(STILL_RUNNING)
    return DONE


def _open(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.desktop.one_instance import HandOver, OneInstance, absolute_paths

    instance, handed = OneInstance(settings.data_dir), HandOver(absolute_paths(parsed.files))
    if instance.hand_over(handed):
        given = f" It adds {', '.join(map(str, parsed.files))}." if parsed.files else ""
        _say(f"localcrag is already running and comes to the front.{given}")
        return DONE
    prepare_gradio(settings)
    from localcrag.interfaces.page.server.launch import launch

    launch(settings, port=None, browser=True, window=True, instance=instance, handed=handed)
    return DONE


def _quit(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.desktop.one_instance import HandOver, OneInstance

    instance = OneInstance(settings.data_dir)
    if instance.hand_over(HandOver(quit=True)):
        instance.await_end()
        _say("localcrag has ended.")
    else:
        instance.release()
        _say("localcrag is not running.")
    return DONE


def _say(text: str) -> None:
    print(text, file=sys.stderr)
