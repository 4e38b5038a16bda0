"""`localcrag desktop`: an app of the desktop, with an icon, a window and “Open with”."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.cli.command_output import print_result
from localcrag.cli.ui_command import ready_for_gradio, show_failure

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
INSTALLED = """\
localcrag is in your menu, and in “Open with” of documents. What opened them by itself before still does.
Start it from the menu, or with `localcrag desktop open`. `localcrag desktop remove` takes it out again.
Written:"""
REMOVED = "localcrag is out of the menu and of “Open with”. Your documents and settings stay. Removed:"
NOT_THERE = "localcrag was not in the menu: there was nothing to remove. `localcrag desktop install` puts it there."
RUNS_STILL = """\
localcrag is running, so what its window's browser keeps was not removed. To remove that as well:
`localcrag desktop quit`, then `localcrag desktop remove` again."""


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
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
    from localcrag.app import desktop  # noqa: PLC0415

    made = desktop.install(settings.data_dir)
    print_result([str(one) for one in made], parsed, "\n".join([INSTALLED, *(f"  {one}" for one in made)]))
    return DONE


def _remove(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app import desktop  # noqa: PLC0415

    gone = desktop.remove(settings.data_dir)
    said = [REMOVED, *(f"  {one}" for one in gone.paths)] if gone.paths else [NOT_THERE]
    print_result([str(one) for one in gone.paths], parsed, "\n".join(said))
    if gone.runs:
        _say(RUNS_STILL)
    return DONE


def _open(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.one_instance import HandedIn, OneInstance, absolute  # noqa: PLC0415

    instance, handed = OneInstance(settings.data_dir), HandedIn(absolute(parsed.files))
    if instance.hand_over(handed):
        given = f" and adds {', '.join(map(str, parsed.files))}" if parsed.files else ""
        _say(f"localcrag is running already: it shows its page{given}.")
        return DONE
    ready_for_gradio(settings)
    from localcrag.ui.server.launch import launch  # noqa: PLC0415

    launch(settings, port=None, browser=True, window=True, instance=instance, handed=handed)
    return DONE


def _quit(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.one_instance import HandedIn, OneInstance  # noqa: PLC0415

    instance = OneInstance(settings.data_dir)
    if instance.hand_over(HandedIn(quit=True)):
        instance.await_end()
        _say("localcrag has ended.")
    else:
        instance.release()
        _say("localcrag is not running: there is nothing to end.")
    return DONE


def _say(text: str) -> None:
    print(text, file=sys.stderr)
