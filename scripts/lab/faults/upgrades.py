"""Folders of every older schema, opened while each call that changes a file fails; then the next start."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from lab.faults import session
from lab.faults.calls import EveryCall, Outcome
from lab.faults.shim import Fault
from lab.faults.work import Tell
from lab.faults.world import World
from localcrag.app.assemble import DATABASE_NAME, Assembly
from localcrag.backends.store.schema import SCHEMA_VERSION
from tests.support.fakes import FakeEmbedder
from tests.support.old_databases import old_database

TEXT = "The ferry waits at the pier."
RECORD = "{}"


class Upgrade(EveryCall):
    """Folders of older schemas, each opened again and again, each time with another call that fails."""

    _version = 1

    def of(self, version: int, faults: Sequence[Fault], every: int) -> Outcome:
        """Have each call fail while a folder of a schema is opened; return what came of it."""
        self._version, self.outcome = version, Outcome()
        return self.fail(faults, every)

    def _prepared(self) -> World:
        embedder = FakeEmbedder()
        vector = embedder.embed([TEXT])[0].tobytes().hex()
        added = "(id, collection_id, name, sha256, media_type, text, added_at)"
        old_database(
            self._data / DATABASE_NAME, self._version,
            f"INSERT INTO collections VALUES (1, 'default', '{embedder.name}', {embedder.dimension}, '2026-01-01')",  # noqa: S608
            f"INSERT INTO documents {added} VALUES (1, 1, 'ferry.txt', 'x', 'text/plain', '{TEXT}', '2026')",  # noqa: S608
            f"INSERT INTO chunks (id, document_id, start, \"end\", text) VALUES (1, 1, 0, {len(TEXT)}, '{TEXT}')",  # noqa: S608
            f"INSERT INTO vectors VALUES (1, x'{vector}')",  # noqa: S608
            f"INSERT INTO runs VALUES ('r', '2026-01-01', 'default', 'Why?', NULL, '{RECORD}')",  # noqa: S608
        )  # fmt: skip
        run = hashlib.sha256(RECORD.encode()).hexdigest()[:16]
        return World({"document default/ferry.txt": "x", "run r": run})

    def _work(self, tell: Tell) -> Assembly | None:
        return session.Session(self._data, self._uploads, tell).open()


def upgraded(place: Path, versions: Sequence[int], faults: Sequence[Fault], every: int) -> int:
    """Open folders of these schemas, or of all older ones, with faults; print a table, and return the losses."""
    print("| schema | calls | faults | error said | went on | killed | losses |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    upgrade = Upgrade(place)
    faulty = losses = 0
    for version in versions or range(1, SCHEMA_VERSION):
        outcome = upgrade.of(version, faults, every)
        ends = [sum(number for (_, end), number in outcome.ends.items() if end == one)
                for one in ("error said", "went on", "killed")]  # fmt: skip
        lost = outcome.losses.total()
        print(f"| {version} | {outcome.calls} | {sum(ends)} | {' | '.join(map(str, ends))} | {lost} |", flush=True)
        faulty, losses = faulty + sum(ends), losses + lost
    print(f"| all | | {faulty} | | | | {losses} |")
    return losses
