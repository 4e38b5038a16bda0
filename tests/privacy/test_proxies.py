"""Proxies are kept out of the process, and used for downloads alone."""

from __future__ import annotations

import os

import pytest

from localcrag.privacy import process

SOCKS, HTTP = "socks5://127.0.0.1:9", "http://127.0.0.1:3128"


@pytest.fixture(autouse=True)
def no_proxy_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_removed_proxies", {})
    for name in (*process.PROXY_VARIABLES, *process.NO_PROXY_VARIABLES):
        monkeypatch.delenv(name, raising=False)


def take_out(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, address in variables.items():
        monkeypatch.setenv(name, address)
    process.remove_proxies()


def test_no_library_sees_a_proxy_and_a_download_gets_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    take_out(monkeypatch, HTTPS_PROXY=HTTP, all_proxy=SOCKS)
    assert not set(process.PROXY_VARIABLES) & set(os.environ)
    assert {name: process.environment_with_proxies()[name] for name in ("HTTPS_PROXY", "all_proxy")} == {
        "HTTPS_PROXY": HTTP,
        "all_proxy": SOCKS,
    }
    with process.restored_proxies():
        assert os.environ["HTTPS_PROXY"] == HTTP
        assert "all_proxy" not in os.environ, "no client could be made with it"
    assert not set(process.PROXY_VARIABLES) & set(os.environ)
    assert HTTP in process.proxy_addresses()


def test_what_the_user_reaches_without_a_proxy_holds_for_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    take_out(monkeypatch, NO_PROXY="hub.example", HTTPS_PROXY=HTTP)
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == process.LOOPBACK
    assert process.environment_with_proxies()["NO_PROXY"] == f"hub.example,{process.LOOPBACK}"
    with process.restored_proxies():
        assert os.environ["NO_PROXY"] == f"hub.example,{process.LOOPBACK}"
    assert os.environ["NO_PROXY"] == process.LOOPBACK
    monkeypatch.setenv("NO_PROXY", "set.since.example")
    assert process.environment_with_proxies()["NO_PROXY"] == "set.since.example"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": HTTP}, ""),
        ({"ALL_PROXY": SOCKS}, SOCKS),
        ({"http_proxy": "SOCKS5H://127.0.0.1:9"}, "SOCKS5H://127.0.0.1:9"),
        ({"ALL_PROXY": SOCKS, "https_proxy": HTTP}, ""),
    ],
)
def test_a_socks_proxy_is_named_when_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    take_out(monkeypatch, **variables)
    assert process.unusable_socks_proxy() == expected
