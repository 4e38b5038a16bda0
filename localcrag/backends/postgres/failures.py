"""What is said where a PostgreSQL server refuses something, or does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcrag.backends.postgres.address import PostgresAddress
from localcrag.records.errors import StoreError

if TYPE_CHECKING:
    from pg8000.exceptions import DatabaseError

REMEDIES = {
    "28": "Check the user's name, and the password in ~/.pgpass (or PGPASSWORD).",
    "3D": "Make the database first: createdb --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME",
    "42501": "Ask the server's administrator for that right.",
    "53": "The server lacks room: free some, then try again.",
    "57P": "Try again when it is up.",
}
"""By how PostgreSQL's error codes begin (its manual, appendix A)."""


def refused(address: PostgresAddress, error: DatabaseError) -> StoreError:
    """Return the error for what a server refused."""
    remedy = next((said for code, said in REMEDIES.items() if code_of(error).startswith(code)), "Nothing changed.")
    return StoreError(f"The PostgreSQL server at {address.at} refused: {_message(error).rstrip('.')}. {remedy}")


def silent(address: PostgresAddress, error: BaseException) -> StoreError:
    """Return the error for a connection that broke, or never came about."""
    cause = error.__cause__ or error
    said = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return StoreError(
        f"The PostgreSQL server at {address.at} does not answer: {said.rstrip('.')}. What was reported as done is "
        "there. Check that it runs and that this computer is connected, then try again."
    )


def code_of(error: DatabaseError) -> str:
    """Return PostgreSQL's code of an error, such as 23505."""
    return str(error.args[0].get("C", "")) if error.args and isinstance(error.args[0], dict) else ""


def _message(error: DatabaseError) -> str:
    said = error.args[0] if error.args else ""
    return str(said.get("M", "")) if isinstance(said, dict) else str(said)
