"""The address of a PostgreSQL database: parsing, checks and password. Makes no connection."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from localcrag.privacy.addresses import format_address, is_number, is_private, is_this_computer
from localcrag.records.errors import StoreError

PORT = 5432
MAX_PORT = 65_535
EXAMPLE = "postgresql://NAME@192.168.1.20/localcrag"
SCHEMES = ("postgresql", "postgres")
PASSWORD, PASSWORD_FILE = "PGPASSWORD", "PGPASSFILE"
"""Environment variables of PostgreSQL's own programs."""
_FIELD = re.compile(r"(?:^|:)((?:\\.|[^:\\])*)")
"""A field of a line of the password file; a backslash makes the next character part of the field."""
OPTIONS = ("host", "sslrootcert")
"""Options allowed after the “?” of an address."""


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database on a server, at a host and port or behind a socket in a folder. It never contains a password.

    `authority` is a file with certificates of authorities to trust in addition to this computer's own.
    """

    user: str
    database: str
    host: str = ""
    port: int = PORT
    socket_folder: str = ""
    authority: str = field(default="", compare=False)

    def __str__(self) -> str:
        own_port = f":{self.port}" if self.port != PORT else ""
        place = format_address(self.host, self.port) if self.host else own_port
        options = [f"host={quote(self.socket_folder)}"] if self.socket_folder else []
        options += [f"sslrootcert={quote(self.authority)}"] if self.authority else []
        query = f"?{'&'.join(options)}" if options else ""
        return f"postgresql://{quote(self.user)}@{place}/{quote(self.database)}{query}"

    @property
    def at(self) -> str:
        """Host and port, or the socket's folder, as shown in messages."""
        return format_address(self.host, self.port) if self.host else self.socket_folder

    @property
    def here(self) -> bool:
        """Whether the server is on this computer; determined without a connection."""
        return not self.host or is_this_computer(self.host)

    def password(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """Return the password that PostgreSQL's own programs would use, or None.

        It is PGPASSWORD, or comes from the first matching line of the password file (PostgreSQL's manual, 32.16).
        Raises StoreError if the file cannot be read, or if other users of the computer may read it.
        """
        if PASSWORD in environment:
            return environment[PASSWORD]
        path = Path(environment.get(PASSWORD_FILE) or Path.home() / ".pgpass")
        try:
            if os.name != "nt" and path.stat().st_mode & 0o077:
                raise StoreError(
                    f"The password file {path} can be read by others, so its password was not used. Make it "
                    f"yours alone: chmod 600 {path}"
                )
            lines = path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError) as error:
            raise StoreError(f"The password file {path} cannot be read: {error}. Fix or remove it.") from error
        wanted = (self.host or "localhost", str(self.port), self.database, self.user)
        for line in lines:
            *asked, password = fields if len(fields := _fields(line)) == len(wanted) + 1 else ("", "")
            if len(asked) == len(wanted) and all(one in ("*", own) for one, own in zip(asked, wanted, strict=True)):
                return password
        return None


def parse_postgres(text: str) -> PostgresAddress:
    """Return the address in `text`, such as postgresql://NAME@HOST:PORT/DATABASE. Makes no connection.

    A server on this computer may be given by its socket: postgresql://NAME@/DATABASE?host=/var/run/postgresql. Raises
    StoreError if the address is not valid, contains a password, or has an IP address outside private networks. A host
    name is resolved and checked only on connecting.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", PORT if parts.port is None else parts.port
    except ValueError:
        raise _refused(text, "is not valid") from None
    if parts.scheme not in SCHEMES:
        raise _refused(text, "does not begin with postgresql://")
    if parts.password:
        raise _refused(
            text, f"contains a password, which messages would show: put it into ~/.pgpass or into {PASSWORD} instead"
        )
    options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    if unknown := sorted(set(options) - set(OPTIONS)):
        raise _refused(text, f"has “{unknown[0]}” after the “?”, but only {' and '.join(OPTIONS)} are allowed")
    folder = options.get("host", "")
    if not host and not folder:
        raise _refused(text, "names neither a host nor (with ?host=) the folder of a socket")
    if folder and (host or not folder.startswith("/")):
        raise _refused(text, "has a “host=” that is not the folder of a socket, or a host besides it")
    if not 0 < port <= MAX_PORT:
        raise _refused(text, f"has a port that is not between 1 and {MAX_PORT}")
    database = unquote(parts.path.strip("/"))
    if not database or "/" in database:
        raise _refused(text, "does not name one database")
    user = unquote(parts.username or "") or getpass.getuser()
    address = PostgresAddress(user, database, host, port, folder, options.get("sslrootcert", ""))
    if host and is_number(host) and not address.here and not _is_private_number(host):
        raise StoreError(not_private_message(address))
    return address


def not_private_message(address: PostgresAddress) -> str:
    """Return the error message for a server that is neither on this computer nor in a private network."""
    return (
        f"The PostgreSQL server at {address.at} was not used: it is neither this computer nor in a private network, "
        f"and localcrag keeps documents on no other. Use a server of your own, such as {EXAMPLE}."
    )


def _is_private_number(host: str) -> bool:
    try:
        return is_private(host)
    except ValueError:
        # This is an IP address in an unusual notation, such as 134744072. Private networks do not need such notations,
        # so it counts as public.
        return False


def _fields(line: str) -> list[str]:
    """Return the fields of a line of the password file; an empty list for a comment."""
    return [] if line.startswith("#") else [re.sub(r"\\(.)", r"\1", one) for one in _FIELD.findall(line)]


def _refused(text: str, what: str) -> StoreError:
    scheme, separator, rest = text.strip().partition("?")[0].rpartition("://")
    written = scheme + separator + rest.rpartition("@")[2]
    return StoreError(f"The PostgreSQL address “{written}” {what}. Give one such as {EXAMPLE}.")
