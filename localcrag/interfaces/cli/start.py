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
"""Port of the API: fixed, since other programs store it in their settings, and not one of those that the app tries."""


def add_serve_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
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
        from localcrag.interfaces.api.openai_server import load_token
        from localcrag.interfaces.cli.command import print_result

        token = load_token(settings.data_dir, new=parsed.new_token)
        print_result({"token": token}, parsed, token)
        return DONE
    from localcrag.interfaces.api.openai_server import launch

    launch(settings, port=parsed.port, only=parsed.collection)
    return DONE


def add_mcp_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `mcp`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser(
        "mcp", parents=[common, within], help="give editors and assistants tools that ask your documents (MCP)"
    )
    command.add_argument("--allow-ingest", action="store_true", help="also a tool that adds documents")
    command.set_defaults(run=_mcp)


def _mcp(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.interfaces.api.mcp import launch

    launch(settings, only=parsed.collection, allow_ingest=parsed.allow_ingest)
    return DONE


def add_ui_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `ui`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser("ui", parents=[common, within], help="open the page in the browser")
    command.add_argument("--port", type=port, metavar="N", help="port on 127.0.0.1 (7860, or the next free one)")
    command.add_argument("--host", type=_host, metavar="ADDRESS", help="127.0.0.1; others are refused, with the reason")
    command.add_argument("--no-browser", action="store_true", help="do not open the browser")
    command.set_defaults(run=_ui, on_failure=show_failure)


def prepare_gradio(settings: Settings) -> None:
    """Set where Gradio keeps its files, and keep it from writing stub files; call it before Gradio is imported."""
    # Gradio reads its variable at import; the default is a folder that every user of the machine can read.
    # matplotlib, which Gradio imports, would else make a folder among the person's settings.
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
            f"localcrag does not listen on {text}: it has no users and passwords, and would show your documents to "
            "whoever can reach that address. From another computer of yours, go through SSH (ssh -L "
            "7860:127.0.0.1:7860 you@this-computer) and open http://127.0.0.1:7860 there."
        )
    return text


INSTALLED = """\
localcrag is in your menu, and in “Open with” of documents. What opened them by itself before still does.
Start it from the menu, or with `localcrag desktop open`. `localcrag desktop remove` takes it out again.
Written:"""
REMOVED = "localcrag is out of the menu and of “Open with”. Your documents and settings stay. Removed:"
NOT_THERE = "localcrag was not in the menu: there was nothing to remove. `localcrag desktop install` puts it there."
STILL_RUNNING = """\
localcrag is running, so what its window's browser keeps was not removed. To remove that as well:
`localcrag desktop quit`, then `localcrag desktop remove` again."""


def add_desktop_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add `desktop` and its subcommands; `common` brings `--json` and `--data-dir`."""
    desktop = subparsers.add_parser(
        "desktop", help="an app of the desktop: icon, window, “Open with”", parents=[common]
    )
    commands = desktop.add_subparsers(dest="desktop_command", required=True, metavar="COMMAND")

    def add(name: str, does: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=does, description=does, parents=[common])
        command.set_defaults(run={"install": _install, "remove": _remove, "open": _open, "quit": _quit}[name])
        return command

    add("install", "put localcrag into the menu and into “Open with”, for this user")
    add("remove", "take it out again; documents and settings stay")
    opening = add("open", "open the page in a window of its own, or bring it to the front, and add files")
    opening.set_defaults(on_failure=show_failure, no_browser=False)
    opening.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a document, or a folder of documents")
    add("quit", "end the localcrag that runs")


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
        given = f" and adds {', '.join(map(str, parsed.files))}" if parsed.files else ""
        _say(f"localcrag is running already: it shows its page{given}.")
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
        _say("localcrag is not running: there is nothing to end.")
    return DONE


def _say(text: str) -> None:
    print(text, file=sys.stderr)
