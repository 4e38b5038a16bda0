"""Ports of this computer that a server here listens on."""

from __future__ import annotations

import socket

from localcrag.records.errors import SettingsError

HOST = "127.0.0.1"


def require_free(port: int) -> None:
    """Raise SettingsError when something listens on the port already."""
    if not is_free(port):
        raise SettingsError(
            f"Port {port} on {HOST} is taken, perhaps by another localcrag. Stop that program, or name another port "
            "with --port."
        )


def is_free(port: int) -> bool:
    """Return whether nothing listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True
