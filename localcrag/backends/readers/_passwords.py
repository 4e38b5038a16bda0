"""What is said of files with a password: that it is needed, is another, or does not help here."""

from __future__ import annotations

from localcrag.records.errors import EncryptedDocument, PasswordNeeded


def needed(name: str, known: str | None = None) -> PasswordNeeded:
    """Return the error for a file that opens with a password; `known` is one that programs try without asking."""
    error = PasswordNeeded(f"{name} is protected with a password. Give it on the page, or in a terminal.")
    error.known = known
    return error


def another(name: str) -> PasswordNeeded:
    """Return the error for a password that is not the file's."""
    return PasswordNeeded(f"{name} has another password. Try again.")


def unknown_way(name: str) -> EncryptedDocument:
    """Return the error for an office file that no password opens here."""
    return EncryptedDocument(
        f"{name} is protected with a password, in a way that cannot be opened here. Save a copy without one in the "
        "program that it comes from (in Word: File, Info, Protect Document) and add that."
    )
