"""The table of settings for the documentation, derived from the fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pydantic.fields import FieldInfo

from localcrag.settings.fields import GROUPS, ShownDefault, Unit
from localcrag.settings.settings import ENVIRONMENT_PREFIX


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting. `choices` are all its values where they are named ones; `unit` is empty where there is none."""

    group: str
    name: str
    variable: str
    default: str
    choices: tuple[str, ...]
    unit: str
    description: str


def table() -> tuple[SettingRow, ...]:
    """Return a row for every setting, group by group. The same on every machine."""
    return tuple(
        SettingRow(
            group=(group.__doc__ or "").removesuffix("."),
            name=name,
            variable=f"{ENVIRONMENT_PREFIX}{name.upper()}",
            default=_default(field),
            choices=_choices(field),
            unit=next((one.name for one in field.metadata if isinstance(one, Unit)), ""),
            description=field.description or "",
        )
        for group in GROUPS
        for name, field in group.model_fields.items()
    )


def _default(field: FieldInfo) -> str:
    shown = next((one.text for one in field.metadata if isinstance(one, ShownDefault)), None)
    if shown is not None:
        return shown
    value = field.get_default()
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _choices(field: FieldInfo) -> tuple[str, ...]:
    kind = field.annotation
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
