"""Starts the page's server on 127.0.0.1, opens the browser, and loads the models meanwhile."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.errors import LocalcragError, SettingsError
from localcrag.settings import Settings
from localcrag.ui.page import HERE, build

HOST = "127.0.0.1"
FIRST_PORT, PORTS_TRIED = 7860, 50
SYSTEM_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif"]
LARGEST_UPLOAD = "500mb"


def launch(settings: Settings, *, port: int | None, browser: bool) -> None:
    """Serve the page until interrupted. Raises SettingsError when the port is taken."""
    assembly = Assembly(settings)
    port = port or _free_port()
    _require_free(port)
    page = build(assembly)
    page.queue(default_concurrency_limit=4)
    page.launch(
        server_name=HOST,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        inbrowser=False,
        ssr_mode=False,
        show_error=True,
        max_file_size=LARGEST_UPLOAD,
        footer_links=[],
        theme=gr.themes.Default(
            primary_hue="emerald", neutral_hue="zinc", font=SYSTEM_FONTS, font_mono=["ui-monospace", "monospace"]
        ),
        css_paths=[HERE / "style.css"],
        enable_monitoring=False,
    )
    address = f"http://{HOST}:{port}"
    print(f"localcrag is at {address} (Ctrl-C stops it)", file=sys.stderr, flush=True)  # noqa: T201
    threading.Thread(target=_warm_up, args=(assembly,), daemon=True).start()
    if browser:
        webbrowser.open(address)
    try:
        page.block_thread()
    finally:
        page.close(verbose=False)
        assembly.close()


def _warm_up(assembly: Assembly) -> None:
    try:
        assembly.warm_up()
    except LocalcragError as error:
        # The page says it again, to whoever asks a question.
        print(f"localcrag: {error}", file=sys.stderr, flush=True)  # noqa: T201


def _free_port() -> int:
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if _is_free(port):
            return port
    last = FIRST_PORT + PORTS_TRIED - 1
    raise SettingsError(f"No port between {FIRST_PORT} and {last} is free on {HOST}. Name another with --port.")


def _require_free(port: int) -> None:
    if not _is_free(port):
        raise SettingsError(
            f"Port {port} on {HOST} is taken, perhaps by another localcrag. Stop that program, or name another port "
            "with --port."
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True
