"""Bearer tokens, as a request carries them."""

from __future__ import annotations

import secrets

from starlette.types import Scope


def bears(scope: Scope, token: str) -> bool:
    """Return whether a request has this token, and no other beside it."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    return len(given) == 1 and secrets.compare_digest(given[0], f"Bearer {token}".encode())
