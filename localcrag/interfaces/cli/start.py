"""The commands that start localcrag: `ui` and `desktop`, `serve` (API), and `mcp`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import Commands, port, print_result, say

if TYPE_CHECKING:
    from localcrag.records.errors import LocalcragError
    from localcrag.settings import Settings


PORT = 7979
"""Port of the API; it is fixed, because other programs store it, and differs from the ports that the app tries."""
STUB_WRITER = "gradio.component_meta"
"""Gradio's module that parses the source of each component, and rewrites the .pyi file next to it if that is
outdated."""


def add_commands(commands: Commands) -> None:
    """Add `ui`, `serve`, `mcp` and `desktop`."""
    command = commands.add("ui", _ui, "open the app in the browser", collection=True)
    command.add_argument("--port", type=port, metavar="N", help="port on 127.0.0.1 (7860, or the next free one)")
    words = "only 127.0.0.1 is allowed; other addresses are refused"
    command.add_argument("--host", type=_host, metavar="ADDRESS", help=words)
    command.add_argument("--no-browser", action="store_true", help="do not open the browser")
    command.set_defaults(on_failure=show_failure)

    command = commands.add("serve", _serve, "start an OpenAI-compatible API server", collection=True)
    command.add_argument("--port", type=port, metavar="N", default=PORT, help=f"port on 127.0.0.1 ({PORT})")
    command.add_argument("--show-token", action="store_true", help="print the token that programs need, and exit")
    command.add_argument("--new-token", action="store_true", help="make a new token, print it, and exit")

    command = commands.add("mcp", _mcp, "start an MCP server for editors and assistants", collection=True)
    command.add_argument("--allow-ingest", action="store_true", help="offer a tool that adds documents, too")

    desktop = commands.add("desktop", _open, "add localcrag to the desktop menu and to “Open with”")
    named = commands.subcommands(desktop, "COMMAND", required=True)
    named.add("install", _install, "add localcrag to the menu and to “Open with” for this user")
    named.add("remove", _remove, "remove localcrag from the menu and from “Open with”; documents and settings stay")
    command = named.add("open", _open, "open the app in its own window, or bring it to the front, and add files")
    command.set_defaults(on_failure=show_failure, no_browser=False)
    words = "a document or a folder of documents to add"
    command.add_argument("files", nargs="*", type=Path, metavar="FILE", help=words)
    named.add("quit", _quit, "quit the running localcrag")


def _serve(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.interfaces.api.openai_server import launch, load_token

    if parsed.show_token or parsed.new_token:
        token = load_token(settings.data_dir, new=parsed.new_token)
        print_result({"token": token}, parsed, token)
    else:
        launch(settings, port=parsed.port, only=parsed.collection)


def _mcp(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.interfaces.api.mcp import launch

    launch(settings, only=parsed.collection, allow_ingest=parsed.allow_ingest)


def prepare_gradio(settings: Settings) -> None:
    """Set where Gradio stores its files, and keep it from writing stub files; call this before importing Gradio."""
    # Gradio reads its variable on import; the default is a folder that every user of the computer can read. Otherwise
    # matplotlib, which Gradio imports, would create a folder among the user's settings.
    for name in ("GRADIO_TEMP_DIR", "MPLCONFIGDIR"):
        os.environ[name] = str(settings.uploads_dir)
    if STUB_WRITER not in sys.modules:
        # Stub files are for editors. Without them, the app starts two of four seconds sooner, and nothing is written
        # where localcrag is installed. If a later Gradio writes them in another module, it only takes longer.
        sys.meta_path.insert(0, _StubFinder())


class _StubFinder(MetaPathFinder):
    """Loads Gradio's writer of stub files with a function that writes none."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != STUB_WRITER:
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.origin is not None:
            found.loader = _StubLoader(fullname, found.origin)
        return found


class _StubLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.create_or_modify_pyi = lambda *_: None  # type: ignore[attr-defined]


def show_failure(parsed: argparse.Namespace, error: LocalcragError) -> None:
    """Show in the browser why the app could not start, unless --no-browser or --json was given."""
    if not parsed.json and not parsed.no_browser:
        from localcrag.interfaces.page.server import failed_start

        failed_start.show(str(error))


def _ui(parsed: argparse.Namespace, settings: Settings) -> None:
    prepare_gradio(settings)
    from localcrag.interfaces.page.server.launch import launch

    launch(settings, port=parsed.port, browser=not parsed.no_browser)


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


def _install(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app.desktop import install as desktop

    made = desktop.install(settings.data_dir)
    print_result(made, parsed, "\n".join([INSTALLED, *(f"  {one}" for one in made)]))


def _remove(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app.desktop import install as desktop

    gone = desktop.remove(settings.data_dir)
    lines = [REMOVED, *(f"  {one}" for one in gone.paths)] if gone.paths else [NOT_THERE]
    print_result(gone.paths, parsed, "\n".join(lines))
    if gone.runs:
        say(STILL_RUNNING)


def _open(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app.desktop.one_instance import HandOver, OneInstance, absolute_paths

    instance, handed = OneInstance(settings.data_dir), HandOver(absolute_paths(parsed.files))
    if instance.hand_over(handed):
        given = f" It adds {', '.join(map(str, parsed.files))}." if parsed.files else ""
        say(f"localcrag is already running and comes to the front.{given}")
        return
    prepare_gradio(settings)
    from localcrag.interfaces.page.server.launch import launch

    launch(settings, port=None, browser=True, own=instance, given=handed)


def _quit(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app.desktop.one_instance import HandOver, OneInstance

    instance = OneInstance(settings.data_dir)
    if instance.hand_over(HandOver(quit=True)):
        instance.await_end()
        say("localcrag has ended.")
    else:
        instance.release()
        say("localcrag is not running.")
