"""localcrag with proxies in its environment that its libraries cannot use: a desktop may set them for every program."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from tests.support.app_process import running_app
from tests.support.command_line import as_process

pytestmark = pytest.mark.process

SOCKS = "socks5://name:secret@127.0.0.1:9"


@pytest.mark.parametrize(
    "environment",
    [
        {"ALL_PROXY": SOCKS},
        {"HTTP_PROXY": SOCKS, "no_proxy": "localhost,127.0.0.0/8,::1/128"},
        {"https_proxy": "gopher://127.0.0.1:9"},
    ],
    ids=["all", "http, and exceptions as ranges", "another scheme"],
)
def test_the_page_starts_with_a_proxy_that_no_library_can_use(tmp_path: Path, environment: dict[str, str]) -> None:
    with running_app(tmp_path, **environment) as url:
        assert httpx.get(url, trust_env=False).status_code == httpx.codes.OK
    assert "Traceback" not in (tmp_path / "app.log").read_text()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ALL_PROXY": SOCKS}, r"the SOCKS proxy socks5://127\.0\.0\.1:9: only HTTP proxies"),
        ({"HTTPS_PROXY": "gopher://name:secret@127.0.0.1:9"}, r"proxy that the environment names cannot be used"),
    ],
)
def test_a_download_says_which_proxy_it_cannot_use(tmp_path: Path, environment: dict[str, str], expected: str) -> None:
    models = {"LOCALCRAG_MODELS_DIR": str(tmp_path / "models"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = as_process(tmp_path / "data", "models", "get", "qwen2.5-1.5b-instruct", **models, **environment)
    assert done.returncode == 1
    assert re.search(expected, done.stderr), done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
