"""Private by proof: every network call of the app and of the browser, seen by the system and not by the app."""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Playwright, expect

from localcrag.privacy.process import SWITCHES
from tests.support.app_process import running_app, start_chromium, watch
from tests.support.page_driver import PATIENCE, ask, drop

pytestmark = pytest.mark.browser

ADDRESSED = (
    r"\(\d+.*?(?:sin_port=htons\((?P<port>\d+)\).*?inet_addr\(\"(?P<v4>[^\"]+)\"\)"
    r"|sin6_port=htons\((?P<port6>\d+)\).*?inet_pton\(AF_INET6, \"(?P<v6>[^\"]+)\")"
)


SENT_TO = re.compile("(?:connect|sendto|sendmsg|sendmmsg)" + ADDRESSED)
BOUND = re.compile("bind" + ADDRESSED)


def destinations(trace: Path, calls: re.Pattern[str] = SENT_TO) -> set[str]:
    """Return the addresses, with ports, that traced processes connected or sent to (or were bound to)."""
    found = set()
    for file in trace.parent.glob(trace.name + "*"):
        for match in calls.finditer(file.read_text("utf-8", "replace")):
            found.add(f"{match['v4'] or match['v6']} port {match['port'] or match['port6']}")
    return found


def foreign(found: set[str]) -> set[str]:
    return {one for one in found if not ipaddress.ip_address(one.split()[0]).is_loopback}


def browser_traffic(netlog: Path) -> tuple[set[str], int]:
    """Return the addresses that Chromium connected to, and how often it sent a datagram (a name look-up, say)."""
    log = json.loads(netlog.read_text("utf-8"))
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    events = [(names[event["type"]], event.get("params", {})) for event in log["events"]]
    connected = {params["address"] for name, params in events if name == "TCP_CONNECT_ATTEMPT" and "address" in params}
    return connected, sum(name == "UDP_BYTES_SENT" for name, _ in events)


@pytest.mark.search
def test_a_whole_session_talks_to_nobody_but_this_computer(
    playwright: Playwright, tmp_path: Path, handbook: Path, searx: str
) -> None:
    strace = shutil.which("strace")
    assert strace, "strace is missing: apt-get install strace, or leave this out with --without-browser"
    trace = tmp_path / "trace"
    wrapper = (strace, "-ff", "-qq", "--seccomp-bpf", "-e", "trace=%network", "-o", str(trace))
    with running_app(
        tmp_path / "data", wrapper=wrapper, LOCALCRAG_SEARXNG_URL=searx, LOCALCRAG_WEB="always"
    ) as address:
        netlog = tmp_path / "net.json"
        # The browser's own chatter (updates, autofill) is not the page's: it gets no names resolved.
        rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        browser = start_chromium(playwright, f"--log-net-log={netlog}", rules)
        page = browser.new_page()
        watched = watch(page)
        page.goto(address)
        drop(page, handbook)
        expect(page.locator("#lc-documents")).to_contain_text("handbook.pdf", timeout=PATIENCE)
        ask(page, "Who keeps the handbook?")
        ask(page, "How high is Mount Everest above the sea?")
        expect(page.locator("#lc-panel")).to_contain_text("sent to your SearXNG")
        browser.close()
    found = destinations(trace)
    port = searx.rsplit(":", 1)[1]
    assert any(one == f"127.0.0.1 port {port}" for one in found), "the search was not seen: the trace is not complete"
    assert foreign(found) == set()
    bound = destinations(trace, BOUND)
    assert f"127.0.0.1 port {address.rsplit(':', 1)[1]}" in bound
    assert foreign(bound) == set(), "the app listens to other machines"
    assert watched.foreign == []
    connected, sent = browser_traffic(netlog)
    assert connected, "the browser's log holds no connection: it is not complete"
    assert {one for one in connected if not one.startswith("127.0.0.1:")} == set()
    assert sent == 0


def test_the_trace_would_show_a_connection_to_another_host(tmp_path: Path) -> None:
    line = 'connect(7, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = -1'
    six = 'connect(7, {sa_family=AF_INET6, sin6_port=htons(53), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}, 28)'
    (tmp_path / "trace.1").write_text(f"{line}\n{six}\n")
    assert foreign(destinations(tmp_path / "trace")) == {"192.0.2.7 port 443", "2001:db8::1 port 53"}


def test_telemetry_is_off_before_anything_is_imported() -> None:
    assert SWITCHES["GRADIO_ANALYTICS_ENABLED"] == "False"
    assert SWITCHES["HF_HUB_DISABLE_TELEMETRY"] == SWITCHES["HF_HUB_OFFLINE"] == "1"
