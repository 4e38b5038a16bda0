"""What every client of a server needs: the certificates trusted here, and why an exchange broke."""

from __future__ import annotations

import ssl

import httpx


def trusted_certificates() -> ssl.SSLContext:
    """Return httpx's certificates and this computer's own, where a home network's authority is installed."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def causes(error: BaseException) -> list[BaseException]:
    """Return the chain below `error`: httpx wraps httpcore's error, which wraps the system's."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain
