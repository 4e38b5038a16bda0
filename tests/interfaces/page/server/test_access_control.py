"""Who gets in: the page itself, from this computer, from this user, at the addresses that it needs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from localcrag.interfaces.api.middleware import HEADERS, ROOT, can_identify_owner, is_other_user
from tests import support
from tests.support.app_process import free_port, running_app
from tests.support.raw_http import ask, said

pytestmark = pytest.mark.process

FOREIGN_HOSTS = """
evil.example evil.example:{port} 127.0.0.1 127.0.0.1:80 localhost localhost:1{port} 127.0.0.2:{port} 0.0.0.0:{port}
[::1]:{port} 127.0.0.1:{port}.evil.example evil.example@127.0.0.1:{port} 127.1:{port} 2130706433:{port}
localhost.:{port} LOCALHOST.evil:{port} 192.168.0.4:{port} localtest.me:{port}
""".split()
FOREIGN_ORIGINS = [
    "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://127.0.0.1:1{port}", "null", "file://",
    "http://localhost:{port}", "http://127.0.0.1:{port}.evil.example", "chrome-extension://abcdefgh", "http://[::1]:{port}",
]  # fmt: skip
FOREIGN_SITES = ["cross-site", "same-site", "same-origin, cross-site", "anything"]
CLOSED = """
/config /config/ /gradio_api/info /gradio_api/info/ /gradio_api/openapi.json /openapi.json /docs /redoc
/docs/oauth2-redirect /gradio_api/user /gradio_api/login_check /gradio_api/token /gradio_api/dev/reload /login /logout
/svelte/index.js /gradio_api/runs /gradio_api/runs/ /gradio_api/run-history/buckets /gradio_api/run-history/records
/gradio_api/deep_link /gradio_api/custom_component/x/client/component/index.js /gradio_api/proxy=https://evil.example/
/gradio_api/file=/etc/passwd /gradio_api/file/etc/passwd /file=/etc/passwd /proxy=http://evil.example
/gradio_api/stream/1/2/3/playlist.m3u8 /gradio_api/call/x/1 /gradio_api/queue/status /gradio_api/theme.css /robots.txt
/pwa_icon /pwa_icon/64 /manifest.json /monitoring /monitoring/summary /monitoring/x /gradio_api/vibe-code
/gradio_api/profiling/traces /gradio_api/mcp/sse /gradio_api/mcp /mcp /gradio_api/heartbeat/x /gradio_api/heartbeat/a/b
/gradio_api/queue/data/ //evil.example/ /index.html /.env /admin /gradio_api /gradio_api/ /gradio_api/reset
/gradio_api/process_recording /gradio_api/component_server /gradio_api/api/x /gradio_api/run/x /gradio_api/call/v2/x
/gradio_api/vibe-edit /gradio_api/undo-vibe-edit /gradio_api/startup-events/ /gradio_api/upload/
/gradio_api/queue/join/ http://evil.example/ * /%63onfig /conf%69g
""".split()
UPWARDS = r"""
/assets/../config /assets/../../../../../../etc/passwd /assets/..%2f..%2f..%2fetc%2fpasswd
/assets/%2e%2e/%2e%2e/etc/passwd /assets/%252e%252e/%252e%252e/etc/passwd /assets/....//....//etc/passwd
/assets/..\..\etc\passwd /assets/..%5c..%5cetc /assets//etc/passwd /assets/%2fetc%2fpasswd /static//etc/passwd
/static/%00 /static/a%00.js /static/..;/..;/etc/passwd /static/%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd /static/.hidden
/assets/./index.js /assets/ /static/ /assets /static/C:/Windows /static//windows/win.ini
/assets/%u002e%u002e/etc/passwd /static/file:///etc/passwd /assets/~/.. /theme.css/../config
/gradio_api/heartbeat/../queue/status /gradio_api/heartbeat/%2e%2e /gradio_api/upload/../file=/etc/passwd
""".split()


NOBODY = 65534


def port_of(address: str) -> int:
    return int(urlsplit(address).port or 0)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_request_for_another_host_stays_outside(app: str, host: str) -> None:
    answer = ask(app, Host=host.format(port=port_of(app)))
    assert answer.status in {400, 403}
    assert "gradio" not in answer.text


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_form_of_another_site_stays_outside(app: str, origin: str) -> None:
    answer = said(app, {"data": [], "fn_index": 0, "session_hash": "x"}, Origin=origin.format(port=port_of(app)))
    assert answer.status == 403
    assert "Another site sent you here" in answer.text


@pytest.mark.parametrize("site", FOREIGN_SITES)
@pytest.mark.parametrize("target", ["/", "/gradio_api/queue/data?session_hash=x", "/gradio_api/app_id"])
def test_what_another_site_asks_of_the_browser_stays_outside(app: str, site: str, target: str) -> None:
    assert ask(app, target, Sec_Fetch_Site=site).status == 403


def test_two_hosts_or_none_stay_outside(app: str) -> None:
    host = urlsplit(app).netloc
    assert ask(app, Host="").status in {400, 403}
    assert ask(app, Host=f"{host}\r\nHost: evil.example").status in {400, 403}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("site", ["none", "same-origin", ""])
def test_the_page_itself_gets_in(app: str, name: str, site: str) -> None:
    host = f"{name}:{port_of(app)}"
    assert ask(app, Host=host, Origin=f"http://{host}", Sec_Fetch_Site=site).status == 200


@pytest.mark.parametrize("target", CLOSED + UPWARDS)
def test_what_the_page_does_not_need_is_closed(app: str, target: str) -> None:
    for method in ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE"):
        answer = ask(app, target, method=method)
        assert answer.status in {400, 404, 405}, (method, target, answer.status)
        assert b"root:" not in answer.body


@pytest.mark.parametrize("target", ["/", "/gradio_api/queue/join", "/assets/x.js"])
def test_a_preflight_of_another_site_is_told_nothing(app: str, target: str) -> None:
    answer = ask(app, target, method="OPTIONS", Origin="http://evil.example", Access_Control_Request_Method="POST")
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_a_websocket_stays_outside(app: str) -> None:
    answer = ask(
        app, "/gradio_api/queue/data", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    assert answer.status != 101


@pytest.mark.parametrize("target", ["/", "/theme.css", "/config", "/gradio_api/app_id", "/assets/none.js"])
def test_every_answer_says_that_nothing_may_come_from_elsewhere(app: str, target: str) -> None:
    headers = ask(app, target).headers
    assert {name for name in HEADERS if name not in headers} <= ({"cache-control"} if "assets" in target else set())
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "*" not in policy


def test_nothing_is_sent_where_the_server_breaks(app: str) -> None:
    answer = said(app, {"data": "x", "fn_index": 10**9, "session_hash": "x"})
    assert answer.status >= 400
    assert answer.headers["x-frame-options"] == "DENY"
    assert "Traceback" not in answer.text


def test_the_server_listens_to_this_computer_alone_whatever_the_environment_says(tmp_path: Path) -> None:
    wanted = {
        "GRADIO_SERVER_NAME": "0.0.0.0", "GRADIO_SHARE": "True", "GRADIO_ALLOWED_PATHS": "/", "GRADIO_MCP_SERVER": "1",
        "GRADIO_ROOT_PATH": "http://evil.example", "GRADIO_SSR_MODE": "True", "GRADIO_NUM_WORKERS": "2",
        "GRADIO_VIBE_MODE": "1", "GRADIO_WATCH_DIRS": str(tmp_path), "GRADIO_RUN_HISTORY": "True", "GRADIO_DEBUG": "1",
        "SPACE_ID": "a/b", "SYSTEM": "spaces",
    }  # fmt: skip
    with running_app(tmp_path / "data", **wanted) as address:
        port = port_of(address)
        listening = [
            line.split()
            for table in ("/proc/net/tcp", "/proc/net/tcp6")
            for line in Path(table).read_text().splitlines()[1:]
            if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) in range(port, port + 5)
        ]
        assert [line[1] for line in listening] == [f"0100007F:{port:04X}"]
        page = ask(address)
        assert page.status == 200
        assert "evil.example" not in page.text
        assert ask(address, "/gradio_api/mcp/sse").status == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "10.0.0.1", "example.org", ""])
def test_it_does_not_start_on_an_address_of_others_and_says_why(tmp_path: Path, host: str) -> None:
    command = [sys.executable, str(support.ROOT / "app.py"), "--no-browser", "--host", host]
    ended = subprocess.run([*command, "--data-dir", str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert f"localcrag does not listen on {host}: it has no passwords" in ended.stderr
    assert "ssh -L" in ended.stderr


ASKS = r"""
exec 3<>/dev/tcp/127.0.0.1/$0
printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' $0 >&3
read -r version status reason <&3
echo $status
"""


def test_another_user_of_this_computer_stays_outside(app: str) -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can act as another user; the next test shows how users are told apart")
    told = {
        user: subprocess.check_output(["/bin/bash", "-c", ASKS, str(port_of(app))], user=user, text=True).strip()
        for user in (NOBODY, ROOT)
    }
    assert told == {NOBODY: "403", ROOT: "200"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say whose a connection is")
def test_a_connection_is_its_owners_as_long_as_it_is_open() -> None:
    assert can_identify_owner()
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = server.getsockname()
        with socket.create_connection(own) as mine:
            peer = mine.getsockname()
            assert not is_other_user(peer, own)
        assert is_other_user(("127.0.0.1", free_port()), own), "nobody's connection"
    assert not is_other_user(("::1", 1), ("::1", 2)), "the server has no such address"
