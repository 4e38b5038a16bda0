"""What values a setting takes, in words: for the command line, and for errors in the settings file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import get_args

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from localcrag.settings.settings import Settings
from localcrag.text.decimals import whole_number


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a number: `least` and `most` are allowed, `above` is not; None where there is no such limit."""

    least: float | None
    above: float | None
    most: float | None

    @classmethod
    def of(cls, field: FieldInfo) -> Limits:
        """Return the limits of a setting."""
        numbers: dict[type, float] = {}
        for one in field.metadata:
            for kind, attribute in ((Ge, "ge"), (Gt, "gt"), (Le, "le")):
                if isinstance(one, kind):
                    numbers[kind] = getattr(one, attribute)
        return cls(numbers.get(Ge), numbers.get(Gt), numbers.get(Le))

    def hold(self, number: float) -> bool:
        """Return whether a number is within them; “nan” never is."""
        return (
            not isnan(number)
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
        )

    def __str__(self) -> str:
        """Return them in words: "between 0 and 1"."""
        if self.least is not None and self.most is not None:
            return f"between {self.least} and {self.most}"
        said = [f"{self.least} or more"] if self.least is not None else []
        said += [f"above {self.above}"] if self.above is not None else []
        said += [f"at most {self.most}"] if self.most is not None else []
        return " and ".join(said)


def number_of(name: str, text: str) -> float:
    """Return the number that a text is for a numeric setting. Raises ValueError, which says what it must be."""
    field = Settings.model_fields[name]
    number = whole_number(text) if int in _kinds(field) else _float(text)
    if number is None or not Limits.of(field).hold(number):
        raise ValueError(must_be(name))
    return number


def must_be(name: str) -> str:
    """Return what a setting must be: "must be between 0 and 1"; empty if it is neither a number nor a choice."""
    field = Settings.model_fields.get(name)
    kinds = _kinds(field) if field else ()
    if field is None or not kinds:
        return ""
    if bool in kinds:
        return "must be on or off"
    if choices := next(([*kind] for kind in kinds if issubclass(kind, StrEnum)), []):
        return f"must be {', '.join(choices[:-1])} or {choices[-1]}"
    limits = str(Limits.of(field))
    if int in kinds:
        return f"must be a whole number {limits}".rstrip()
    return f"must be {limits or 'a number'}" if float in kinds else ""


def _kinds(field: FieldInfo) -> tuple[type, ...]:
    """Return the types of a setting, without None."""
    of_union = get_args(field.annotation) if not isinstance(field.annotation, type) else ()
    return tuple(kind for kind in (field.annotation, *of_union) if isinstance(kind, type) and kind is not type(None))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
