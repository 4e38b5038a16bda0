"""Addresses of PostgreSQL databases: which are taken, how they are shown, and whose password opens them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from localcrag.records.errors import StoreError
from localcrag.storage.postgres.address import parse_postgres


@pytest.mark.parametrize(
    ("text", "shown", "here"),
    [
        ("postgresql://me@192.168.1.20/docs", "postgresql://me@192.168.1.20:5432/docs", False),
        ("postgres://me@[fd00::2]:5433/docs", "postgresql://me@[fd00::2]:5433/docs", False),
        ("postgresql://me@localhost/docs", "postgresql://me@localhost:5432/docs", True),
        (
            "postgresql://my%20name@/docs%3F?host=/var/run/postgresql",
            "postgresql://my%20name@/docs%3F?host=/var/run/postgresql",
            True,
        ),
        ("postgresql://me@:5433/docs?host=/run", "postgresql://me@:5433/docs?host=/run", True),
        (
            "postgresql://me@server.lan/docs?sslrootcert=/etc/our%20ca.pem",
            "postgresql://me@server.lan:5432/docs?sslrootcert=/etc/our%20ca.pem",
            False,
        ),
    ],
)
def test_an_address_is_shown_as_it_can_be_given_again(text: str, shown: str, here: bool) -> None:
    address = parse_postgres(f" {text}\n")
    assert (str(address), address.here) == (shown, here)
    assert parse_postgres(str(address)) == address


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not begin with postgresql://"),
        ("http://me@10.0.0.1/docs", "does not begin with postgresql://"),
        ("postgresql://me:hidden@10.0.0.1/docs", "contains a password"),
        ("postgresql://me@10.0.0.1:0/docs", "has a port that is not between 1 and 65535"),
        ("postgresql://me@10.0.0.1:99999/docs", "is not valid"),
        ("postgresql://me@10.0.0.1/", "does not name one database"),
        ("postgresql://me@10.0.0.1/a/b", "does not name one database"),
        ("postgresql://me@/docs", "names neither a host nor"),
        ("postgresql://me@10.0.0.1/docs?host=/run", "or a host besides it"),
        ("postgresql://me@/docs?host=run", "is not the folder of a socket"),
        ("postgresql://me@10.0.0.1/docs?sslmode=disable", "has “sslmode” after the “?”"),
        ("postgresql://me@8.8.8.8/docs", "neither this computer nor in a private network"),
        ("postgresql://me@134744072/docs", "neither this computer nor in a private network"),
    ],
)
def test_what_is_no_address_is_refused_without_showing_a_password(text: str, why: str) -> None:
    with pytest.raises(StoreError) as refused:
        parse_postgres(text)
    assert why in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_the_password_is_the_one_that_psql_would_take(tmp_path: Path) -> None:
    address, file = parse_postgres("postgresql://me@10.0.0.1/docs"), tmp_path / "pass"
    environment = {"PGPASSFILE": str(file)}
    assert address.password(environment) is None
    file.write_text(
        "# a comment\nnonsense\n10.0.0.1:5432:docs:you:wrong\n10.0.0.2:*:*:*:wrong\n"
        "10.0.0.1:*:docs:me:a\\:b\\\\c\n*:*:*:*:last\n"
    )
    file.chmod(0o600)
    assert address.password(environment) == "a:b\\c"
    assert parse_postgres("postgresql://me@/x?host=/run").password(environment) == "last"
    assert address.password(environment | {"PGPASSWORD": "first"}) == "first"
    if os.name != "nt":
        file.chmod(0o640)
        with pytest.raises(StoreError, match="chmod 600"):
            address.password(environment)
