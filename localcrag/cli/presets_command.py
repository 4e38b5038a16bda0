"""`localcrag presets`: list presets, or choose a collection’s."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.choices import PRESETS
from localcrag.cli.command_output import print_result
from localcrag.cli.opened import opened

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `presets`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    presets = subparsers.add_parser("presets", parents=[common, within], help="list presets, or choose a collection's")
    presets.set_defaults(run=_list)
    named = presets.add_subparsers(metavar="list | use NAME")
    named.add_parser("list", parents=[common, within], help="the presets, and whom each is for").set_defaults(run=_list)
    command = named.add_parser("use", parents=[common, within], help="choose the collection's preset")
    command.add_argument("name", choices=PRESETS, metavar="NAME", help="one of the list")
    command.set_defaults(run=_use)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.presets import PRESETS as RULES  # noqa: PLC0415

    used = opened(settings).collection_settings.preset()
    lines = [f"{'→' if name is used else ' '} {name:<15} {rules.purpose}" for name, rules in RULES.items()]
    listed = [{"name": name, "used": name is used, **dataclasses.asdict(rules)} for name, rules in RULES.items()]
    print_result(listed, parsed, "\n".join(lines))
    return DONE


def _use(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.enums import Preset  # noqa: PLC0415
    from localcrag.records.presets import PRESETS as RULES  # noqa: PLC0415

    preset = Preset(parsed.name)
    opened(settings).collection_settings.set_preset(preset)
    text = f"The collection “{settings.collection}” is asked under the preset {preset}. {RULES[preset].purpose}"
    print_result({"collection": settings.collection, "preset": preset}, parsed, text)
    return DONE
