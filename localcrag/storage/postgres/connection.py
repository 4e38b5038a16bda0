"""The connection to a PostgreSQL database: transactions, locks, reconnection and error messages."""

from __future__ import annotations

import platform
import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from localcrag.privacy import guard
from localcrag.privacy.addresses import causes, is_private, trusted_certificates
from localcrag.privacy.egress_log import Purpose
from localcrag.records.errors import EgressRefused, StoreError
from localcrag.storage.postgres.address import PostgresAddress, not_private_message

if TYPE_CHECKING:
    from pg8000.exceptions import DatabaseError
    from pg8000.native import Connection


REMEDIES = {
    "28": "Check the user's name, and the password in ~/.pgpass (or PGPASSWORD).",
    "3D": "Make the database first: createdb --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME",
    "42501": "Ask the server's administrator for that right.",
    "53": "The server lacks room: free some, then try again.",
    "57P": "Try again when it is up.",
}
"""Advice for errors, by the beginning of PostgreSQL's error code (its manual, appendix A)."""


def refused_error(address: PostgresAddress, error: DatabaseError) -> StoreError:
    """Return the error for a request that the server refused."""
    remedy = next(
        (advice for code, advice in REMEDIES.items() if error_code(error).startswith(code)), "Nothing changed."
    )
    fields = error.args[0] if error.args else ""
    message = str(fields.get("M", "")) if isinstance(fields, dict) else str(fields)
    return StoreError(f"The PostgreSQL server at {address.at} refused: {message.rstrip('.')}. {remedy}")


def unreachable_error(address: PostgresAddress, error: BaseException) -> StoreError:
    """Return the error for a connection that broke or could not be opened."""
    cause = error.__cause__ or error
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return StoreError(
        f"The PostgreSQL server at {address.at} does not answer: {reason.rstrip('.')}. What was reported as done is "
        "there. Check that it runs and that this computer is connected, then try again."
    )


def error_code(error: DatabaseError) -> str:
    """Return PostgreSQL's code of an error, such as 23505."""
    return str(error.args[0].get("C", "")) if error.args and isinstance(error.args[0], dict) else ""


CONNECT_SECONDS = 5.0
"""Seconds to wait for a connection."""
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds before the first probe, seconds between probes, and number of probes. A computer that has vanished is noticed
after a minute, even during a long statement."""
WAIT_FOR_WRITER = 10.0
"""Seconds to wait for another writer of the same collection."""
LOCK_SPACE = 0x6C6372
"""First key of localcrag's advisory locks ("lcr"); the second key is the collection's id."""
_LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's error code after lock_timeout."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that PostgreSQL cannot store: NUL and unpaired surrogates."""
_SESSION = (
    "SET hnsw.ef_search = 600",
    # If documents are restricted, the graph is searched until enough chunks are found; localcrag sorts the results.
    "SET hnsw.iterative_scan = relaxed_order",
    "SET hnsw.max_scan_tuples = 100000",
    "SET search_path = localcrag, public",
    "SET jit = off",
)
Row = dict[str, Any]


def _connection_errors() -> tuple[type[Exception], ...]:
    from pg8000.exceptions import InterfaceError  # noqa: PLC0415

    return (InterfaceError, OSError, struct.error)


class Session:
    """A connection for running statements, usually inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """Run a statement, with values for its :names, and return its rows."""
        found = self.connection.run(sql, **_storable_values(values)) or []
        names = [column["name"] for column in self.connection.columns or ()]
        return [dict(zip(names, row, strict=True)) for row in found]

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement, and return the number of rows it changed."""
        self.connection.run(sql, **_storable_values(values))
        return max(0, self.connection.row_count or 0)

    def copy(self, sql: str, lines: IO[bytes]) -> None:
        """Run a COPY … FROM STDIN with these lines."""
        self.connection.run(sql, stream=lines)


class CollectionSession(Session):
    """A transaction of one collection; see stored_collection.Session."""

    def __init__(self, session: Session, collection: int) -> None:
        super().__init__(session.connection)
        self.collection = collection

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """Run a statement, in which :collection is the collection's id, and return its rows."""
        return super().rows(sql, collection=self.collection, **values)

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement, in which :collection is the collection's id, and return the number of rows it changed."""
        return super().run(sql, collection=self.collection, **values)


class PostgresDatabase:
    """A database on a server, for any number of threads. It connects only when needed."""

    def __init__(self, address: PostgresAddress, patience: float = WAIT_FOR_WRITER) -> None:
        """Remember the address; `patience` is the number of seconds to wait for another writer."""
        self.address, self._patience = address, patience
        self._session: Session | None = None
        self._owner = 0
        self._connections: dict[str, Connection | None] = {"reading": None, "writing": None}
        self._locks = {"reading": threading.RLock(), "writing": threading.RLock()}

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """Run a query, with values for its :names, and return its rows. Raises StoreError.

        In a thread that is inside a transaction, the query sees what that transaction has written.
        """
        if self._session and self._owner == threading.get_ident():
            return self._session.rows(sql, **values)
        with self._locks["reading"]:
            known = self._connections["reading"] is not None
            try:
                with self._locked_session("reading") as session:
                    return session.rows(sql, **values)
            except StoreError:
                # Checking the connection before each query would take time. Instead, reconnect once if it was lost.
                if not known or self._connections["reading"] is not None:
                    raise
            with self._locked_session("reading") as session:
                return session.rows(sql, **values)

    @contextmanager
    def transaction(self, collection: int | None = None) -> Iterator[Session]:
        """Run the block as one transaction: everything in it is written, or nothing. Raises StoreError.

        Only one program at a time writes to a `collection`; if another one keeps writing, StoreError is raised. Inside
        another transaction, the block is a savepoint of the outer one.
        """
        with self._locks["writing"]:
            if self._session:
                with self._savepoint(self._session) as session:
                    yield session
                return
            with self._begin(collection) as session:
                self._owner, self._session = threading.get_ident(), session
                try:
                    yield session
                finally:
                    self._session = None

    @contextmanager
    def _savepoint(self, session: Session) -> Iterator[Session]:
        """Run the block as a savepoint: if it fails, undo its changes but no earlier ones of the transaction."""
        from pg8000.exceptions import DatabaseError  # noqa: PLC0415

        session.run("SAVEPOINT part")
        try:
            yield session
        except BaseException as error:
            with suppress(*_connection_errors(), DatabaseError):
                session.run("ROLLBACK TO part")
            if isinstance(error, DatabaseError):
                raise refused_error(self.address, error) from error
            raise
        session.run("RELEASE part")

    @contextmanager
    def _begin(self, collection: int | None) -> Iterator[Session]:
        from pg8000.exceptions import DatabaseError  # noqa: PLC0415

        with self._locked_session("writing", reconnect=True) as session:
            session.run("BEGIN")
            try:
                if collection is not None:
                    session.run(f"SET LOCAL lock_timeout = {round(1000 * self._patience)}")
                    try:
                        session.run("SELECT pg_advisory_xact_lock(:space, :id)", space=LOCK_SPACE, id=collection)
                    except DatabaseError as error:
                        if error_code(error) != _LOCK_NOT_AVAILABLE:
                            raise
                        session.run("ROLLBACK")
                        raise StoreError(
                            f"The collection is being written to by {_writer(session, collection) or 'somebody else'}, "
                            "and one writes at a time. Questions are answered meanwhile; try again when that one is "
                            "done."
                        ) from error
                yield session
                session.run("COMMIT")
            except BaseException:
                with suppress(*_connection_errors(), DatabaseError):
                    session.run("ROLLBACK")
                raise

    def run_alone(self, sql: str) -> None:
        """Run a statement that cannot be part of a transaction. Raises StoreError."""
        with self._locked_session("writing", reconnect=True) as session:
            session.run(sql)

    def writer(self, collection: int) -> str:
        """Return who else is writing to a collection right now; "" if no one is."""
        with self._locked_session("reading", reconnect=True) as session:
            return _writer(session, collection)

    def close(self) -> None:
        """Close the connections; they are reopened when needed."""
        for use, lock in self._locks.items():
            with lock:
                self._drop(use)

    @contextmanager
    def _locked_session(self, use: str, *, reconnect: bool = False) -> Iterator[Session]:
        """Lock a connection for this thread and yield it; with `reconnect`, first reopen it if it was lost."""
        from pg8000.exceptions import DatabaseError  # noqa: PLC0415

        with self._locks[use]:
            connection = self._connections[use]
            if connection is not None and reconnect and not _answers(connection):
                self._drop(use)
                connection = None
            try:
                connection = self._connections[use] = connection or self._open()
                yield Session(connection)
            except EgressRefused:
                raise
            except DatabaseError as error:
                if error_code(error).startswith("57P"):  # The server is shutting down or starting.
                    self._drop(use)
                raise refused_error(self.address, error) from error
            except _connection_errors() as error:
                self._drop(use)
                # The server may have refused and then closed the connection, so that pg8000 failed to close its side.
                # The refusal is the useful error.
                refusal = next((one for one in causes(error) if isinstance(one, DatabaseError)), None)
                if refusal:
                    raise refused_error(self.address, refusal) from error
                raise unreachable_error(self.address, error) from error

    def _open(self) -> Connection:
        connection = self._connect()
        for setting in _SESSION:
            connection.run(setting)
        return connection

    def _connect(self) -> Connection:
        from pg8000.native import Connection  # noqa: PLC0415

        address = self.address
        known: dict[str, Any] = {
            "user": address.user,
            "database": address.database,
            "password": address.password(),
            # A database with another encoding is refused later, with a message that explains it.
            "startup_params": {"client_encoding": "UTF8"},
            "application_name": f"localcrag on {platform.node() or 'a computer'}",
        }
        if not address.host:
            place = f"{address.socket_folder}/.s.PGSQL.{address.port}"
            return Connection(unix_sock=place, ssl_context=False, **known)
        with guard.allow_egress(Purpose.COLLECTION, (address.host, address.port), judge=is_private):
            try:
                own = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
            except EgressRefused as error:
                raise StoreError(not_private_message(address)) from error
        # The time limit is for connecting only; a statement may take longer.
        own.settimeout(None)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                own.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        try:
            return Connection(host=address.host, sock=own, ssl_context=_encryption(address), **known)
        except BaseException:
            own.close()
            raise

    def _drop(self, use: str) -> None:
        connection, self._connections[use] = self._connections[use], None
        if connection is not None:
            with suppress(*_connection_errors()):
                connection.close()


def storable(text: str) -> str:
    """Return a text of the same length that PostgreSQL can store, with NUL and unpaired surrogates replaced."""
    return _UNSTORABLE.sub("\ufffd", text)


def _storable_values(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _storable_value(value) for name, value in values.items()}


def _storable_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_storable_value(one) for one in value]
    return storable(value) if isinstance(value, str) else value


def _writer(session: Session, collection: int) -> str:
    sql = (
        "SELECT concat_ws(' ', a.application_name, host(a.client_addr)) AS writer FROM pg_locks l "
        "JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted "
        "AND l.classid = :space AND l.objid = :id AND a.application_name != current_setting('application_name')"
    )
    return next((str(one["writer"]).strip() for one in session.rows(sql, space=LOCK_SPACE, id=collection)), "")


def _encryption(address: PostgresAddress) -> ssl.SSLContext | bool:
    """Return the TLS context, which verifies the server's name, or False for a server on this computer."""
    if address.here:
        return False
    context = trusted_certificates()
    if address.authority:
        try:
            context.load_verify_locations(address.authority)
        except (OSError, ssl.SSLError) as error:
            raise StoreError(
                f"The certificates in {address.authority} cannot be read: {error}. Choose another file for sslrootcert."
            ) from error
    return context


def _answers(connection: Connection) -> bool:
    from pg8000.exceptions import DatabaseError  # noqa: PLC0415

    with suppress(*_connection_errors(), DatabaseError):
        connection.run("SELECT 1")
        return True
    return False
