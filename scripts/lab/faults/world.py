"""The expected content of a data folder, by the app's reports, and what is uncertain at the moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Facts = Mapping[str, str]
"""Facts by kind and name: "document default/a.md" has a checksum, "run 1f…" has the checksum of its record."""
OUTSIDE = ("setting", "backup")
"""Kinds of facts outside the database, which restoring a backup does not change."""


def kind(name: str) -> str:
    """Return the kind of a fact."""
    return name.split(" ", 1)[0]


@dataclass
class World:
    """The facts, as far as the app's reports determine them."""

    facts: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, set[str | None]] = field(default_factory=dict)
    """Other possible values of a fact while an activity runs; its report settles them."""
    may_come: set[str] = field(default_factory=set)
    """Kinds of which new facts may exist whose names are not known before they are reported."""
    instead: dict[str, str] | None = None
    """All facts of the database if the backup that is being restored has already replaced it."""
    copies: dict[str, dict[str, str]] = field(default_factory=dict)
    """Facts of the database when a backup was reported, by the backup's name."""

    def begin(self, changes: Mapping[str, str | None], may_come: Iterable[str] = ()) -> None:
        """Begin an activity that may make these facts true; None means that a fact disappears."""
        for name, value in changes.items():
            self.doubts.setdefault(name, {self.facts.get(name)}).add(value)
        self.may_come.update(may_come)

    def report(self, changes: Mapping[str, str | None]) -> None:
        """Expect these facts from now on, whatever happens."""
        for name, value in changes.items():
            self.doubts.pop(name, None)
            if value is None:
                self.facts.pop(name, None)
            else:
                self.facts[name] = value
                if kind(name) == "backup":
                    self.copies[name] = self.in_database()

    def in_database(self) -> dict[str, str]:
        """Return the facts that a backup of the database contains."""
        return {name: value for name, value in self.facts.items() if kind(name) not in OUTSIDE}

    def restoring(self, copy: str) -> None:
        """Expect that the facts of a backup may replace those of the database."""
        self.instead = dict(self.copies[copy])

    def done(self) -> None:
        """Accept all changes of the running activity as facts."""
        if self.instead is not None:
            outside = {name: value for name, value in self.facts.items() if kind(name) in OUTSIDE}
            self.facts, self.instead = {**outside, **self.instead}, None
        self.doubts.clear()
        self.may_come.clear()

    def differences(self, found: Facts) -> list[str]:
        """Return the differences from the reports in words, and accept what was found as facts."""
        told = self._differences(self.facts, found)
        if told and self.instead is not None:
            outside = {name: value for name, value in self.facts.items() if kind(name) in OUTSIDE}
            told = min(told, self._differences({**outside, **self.instead}, found), key=len)
        self.facts, self.instead = dict(found), None
        self.doubts.clear()
        self.may_come.clear()
        for name in found:
            if kind(name) == "backup":  # complete, but killed before its report, so it contains the present facts
                self.copies.setdefault(name, self.in_database())
        return told

    def _differences(self, facts: Facts, found: Facts) -> list[str]:
        told = []
        for name in sorted(facts.keys() | found.keys()):
            is_there = found.get(name)
            allowed = self.doubts.get(name, set()) | {facts.get(name)}
            if is_there in allowed or (name not in facts and kind(name) in self.may_come):
                continue
            if is_there is None:
                told.append(f"lost: {name}")
            elif name not in facts:
                told.append(f"there, and never reported or deleted: {name}")
            else:
                told.append(f"changed: {name} is {is_there}, not {sorted(map(str, allowed))}")
        return told
