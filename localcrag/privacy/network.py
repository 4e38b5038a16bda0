"""What every HTTP client needs: the certificates to trust, and the causes of a failed exchange."""

from __future__ import annotations

import ssl

import httpx


def trusted_certificates() -> ssl.SSLContext:
    """Return a context that trusts httpx's certificates and this computer's own, such as a home network's authority."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def causes(error: BaseException) -> list[BaseException]:
    """Return `error` and the errors that caused it: httpx wraps httpcore's error, which wraps the system's."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain
