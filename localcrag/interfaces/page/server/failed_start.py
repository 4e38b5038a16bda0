"""A web page that explains why localcrag could not start, for starts without a terminal."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from markupsafe import escape

from localcrag.interfaces.api.middleware import HOST
from localcrag.privacy.guard import open_browser
from localcrag.text.translation import gettext as _

PATIENCE = 20.0
"""Seconds to wait for the browser to load the page."""
_PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>localcrag</title></head>
<body style="font: 1.1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 15vh auto; padding: 0 1rem">
<h1 style="font-size: 1.4rem">{heading}</h1><p role="alert">{message}</p></body></html>"""


class _FailedStartServer(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # HTTPServer would look up this computer's name, which the egress guard refuses.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]


def show(message: str) -> None:
    """Open a page with this message in the browser, and return once it is loaded; without a browser, do nothing."""
    shown = threading.Event()
    page = _PAGE.format(heading=escape(_("localcrag could not start")), message=escape(message)).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
            self.end_headers()
            self.wfile.write(page)
            shown.set()

        def log_message(self, *_arguments: object) -> None:
            """Print nothing, because the terminal already shows the message."""

    with _FailedStartServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        if open_browser(f"http://{HOST}:{server.server_port}"):
            shown.wait(PATIENCE)
        server.shutdown()
