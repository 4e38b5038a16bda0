"""The container: its page is reached through the door, and what compose.yaml lets out and in is what the docs say."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support import ROOT
from tests.support.app_process import free_port

pytestmark = pytest.mark.process

CONTAINER = ROOT / "container"
DOOR = [sys.executable, str(CONTAINER / "door.py")]
# A page of more than one piece, and what came with the request.
PAGE = """
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.headers["Host"].encode() + b" " * 1_000_000 + b"end")
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Page)
print("listens", flush=True)
server.serve_forever()
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*DOOR, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The end of the door that runs beside the app, here a page of its own, and that page."""
    port = str(free_port())
    with started("inside", str(tmp_path / "page"), port, sys.executable, "-c", PAGE, port) as process:
        assert process.stdout
        assert process.stdout.readline() == "listens\n"
        yield process
        process.terminate()


def test_a_page_on_loopback_is_reached_through_the_file(inside: subprocess.Popen[str], tmp_path: Path) -> None:
    port = free_port()
    with started("outside", str(port), str(tmp_path / "page")) as outside:
        assert outside.stderr
        assert outside.stderr.readline() == f"port {port} leads to {tmp_path / 'page'}\n"
        with urlopen(f"http://127.0.0.1:{port}/") as response:
            content = response.read()
        assert content == f"127.0.0.1:{port}".encode() + b" " * 1_000_000 + b"end"
        inside.terminate()
        assert inside.wait() == 128 + signal.SIGTERM
        with pytest.raises(OSError, match=r"closed|reset"):
            urlopen(f"http://127.0.0.1:{port}/")
        outside.terminate()
        assert outside.wait() == 0


def test_the_door_ends_as_the_program_does_that_it_runs(tmp_path: Path) -> None:
    left = tmp_path / "page"
    left.touch()  # as a container that was killed leaves it
    with started("inside", str(left), "1", sys.executable, "-c", "raise SystemExit(7)") as process:
        assert process.wait() == 7


@pytest.fixture(scope="module")
def compose() -> Any:
    text = (CONTAINER / "compose.yaml").read_text("utf-8")
    for name, value in {"LOCALCRAG_PORT": "7860", "SEARXNG_IMAGE": "searxng", "SEARXNG_SECRET": "x"}.items():
        start = "${" + name + ":-"
        while start in text:
            before, _, after = text.partition(start)
            text = before + value + after.partition("}")[2]
    return yaml.safe_load(text)


def test_only_the_door_has_a_port_and_only_on_this_computer_and_the_same_on_both_sides(compose: Any) -> None:
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert ports == {"door": ["127.0.0.1:7860:7860"]}


def test_what_has_the_documents_is_on_no_network_that_leads_out(compose: Any) -> None:
    services, networks = compose["services"], compose["networks"]
    (with_documents,) = [name for name, one in services.items() if "data:/data" in one.get("volumes", ())]
    assert with_documents == "localcrag"
    assert [networks[name] for name in services[with_documents]["networks"]] == [{"internal": True}]
    # The door has the file that leads to the page, and the search server has neither that nor the documents.
    assert services["door"]["volumes"] == ["door:/run/door"]
    assert not {"page", "search"} <= {*services["door"]["networks"]}
    assert services["searxng"]["volumes"] == ["./searxng.yml:/etc/searxng/settings.yml:ro"]


def test_no_container_can_write_where_programs_lie_or_gain_rights(compose: Any) -> None:
    for service in compose["services"].values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_search_server_answers_in_json_which_is_what_localcrag_reads() -> None:
    settings = yaml.safe_load((CONTAINER / "searxng.yml").read_text("utf-8"))
    assert settings["search"]["formats"] == ["json"]


def test_the_image_takes_only_what_the_checkout_has_and_runs_as_nobody_special() -> None:
    lines = (CONTAINER / "Containerfile").read_text("utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from=build" not in line]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    assert "USER 10001" in lines
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert {name for names in copied for name in names} - {"models"} <= let_in
    assert {one for one in let_in if one.startswith("models/")} == {
        f"models/{path}" for path in ("models.toml", "relevance-v3", "answerer-v1")
    }
