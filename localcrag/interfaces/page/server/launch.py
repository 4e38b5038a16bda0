"""The launch of the page: its server on 127.0.0.1, the browser, and the models meanwhile."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import threading
from pathlib import Path

import gradio as gr

from localcrag.app.assembly import Assembly, warm_up_beside
from localcrag.app.desktop.install import FAVICON
from localcrag.app.desktop.one_instance import NOTHING, HandedIn, OneInstance, Place
from localcrag.app.desktop.window import PageWindow
from localcrag.app.models.lifecycle import IdleModels
from localcrag.interfaces.api.middleware import HOST, is_free, require_free
from localcrag.interfaces.page.handlers import MOST_TABS
from localcrag.interfaces.page.page import HERE, build
from localcrag.interfaces.page.server import guards
from localcrag.interfaces.page.server.handoff import Presence
from localcrag.privacy import log_file, process
from localcrag.records.errors import SettingsError
from localcrag.settings import Settings

FIRST_PORT, PORTS_TRIED = 7860, 50
SYSTEM_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif"]
LARGEST_UPLOAD = "500mb"
MOST_THREADS = 250
MOST_CONNECTIONS = 8_192
MOST_QUEUED = 2_000
"""Events that wait at once; the page is told to come again when there are more."""
BETWEEN_LOOKS, BETWEEN_PROGRESS = 0.02, 1.0
"""Seconds after which Gradio looks for events again, where there were none, and for its progress bars, of which none is
used here. Its own are 0.05 and 0.1 on Windows, elsewhere 0.001 and 0.01: a twentieth of a core, day and night, for a
server that nobody asks anything."""


def launch(
    settings: Settings,
    *,
    port: int | None,
    browser: bool,
    window: bool = False,
    instance: OneInstance | None = None,
    handed: HandedIn = NOTHING,
) -> None:
    """Serve the page until it is ended: interrupted, told to by a later start, or its own window closed.

    With `window` it gets one of its own where there is a Chromium, else a tab of the browser. `instance` is one that is
    the first already; without it the folder's first is claimed, if there is none. `handed` is added at once. Raises
    SettingsError when the port is taken.
    """
    if not settings.debug:
        process.keep_to_oneself()
    assembly = Assembly(settings)
    _empty(settings.uploads_dir)
    _many_connections()
    port = _free(port)
    app = build(assembly)
    address = f"http://{HOST}:{port}"
    first = instance or OneInstance(settings.data_dir)
    presence = Presence(app, PageWindow(address, first.window_folder if window else None), settings.collection)
    token = secrets.token_urlsafe(32)
    _serve(app.page, port, guards.lifespan(port, settings.uploads_dir, token, presence.take, app.made))
    print(f"localcrag is at {address} (Ctrl-C stops it)", file=sys.stderr, flush=True)  # noqa: T201
    app.follow_folders()
    closing = threading.Event()
    warming = warm_up_beside(assembly, closing=closing.is_set)
    idle = IdleModels(assembly.models, assembly.settings_in_use).begin()
    # One that the terminal started beside another is found by nobody else.
    if instance or first.claim():
        first.tell(Place(port, token))
    try:
        presence.begin(handed, shows=browser)
        with log_file.logged("the page"):
            presence.wait()
    finally:
        closing.set()
        idle.close()
        presence.close()
        app.page.close(verbose=False)
        app.close()
        _empty(settings.uploads_dir)
        assembly.close()
        first.release()
    if warming.is_alive():
        # torch aborts a process that ends while it loads a model. Everything is closed: nothing is left to do.
        os._exit(0)


def _serve(page: gr.Blocks, port: int, lifespan: guards.Lifespan) -> None:
    """Start the server, in threads of its own."""
    # Places in the queue are shown nowhere: told at every change, a thousand calls would be told a million times.
    page.queue(default_concurrency_limit=4, max_size=MOST_QUEUED, status_update_rate=10)
    # There is no setting for it.
    page._queue.sleep_when_free, page._queue.progress_update_sleep_when_free = BETWEEN_LOOKS, BETWEEN_PROGRESS
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
        favicon_path=FAVICON,
        theme=gr.themes.Default(
            primary_hue="teal", neutral_hue="zinc", font=SYSTEM_FONTS, font_mono=["ui-monospace", "monospace"]
        ),
        css_paths=[HERE / "style.css"],
        # What their components show: Gradio's own 10,000 would be kept for good, closed or not.
        state_session_capacity=MOST_TABS,
        enable_monitoring=False,
        run_history=False,
        mcp_server=False,
        pwa=False,
        # Gradio's own 40 are used up by as many tabs that follow what goes on.
        max_threads=MOST_THREADS,
        app_kwargs={"lifespan": lifespan},
    )


def _many_connections() -> None:
    """Have as many connections as the system lets us: a tab needs two for as long as it is open."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST_CONNECTIONS if most == resource.RLIM_INFINITY else min(most, MOST_CONNECTIONS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _empty(uploads: Path) -> None:
    """Remove what an earlier process may have left of uploaded files; only this user may look into the folder."""
    shutil.rmtree(uploads, ignore_errors=True)
    uploads.mkdir(parents=True, exist_ok=True, mode=0o700)


def _free_port() -> int:
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if is_free(port):
            return port
    last = FIRST_PORT + PORTS_TRIED - 1
    raise SettingsError(f"No port between {FIRST_PORT} and {last} is free on {HOST}. Name another with --port.")


def _free(port: int | None) -> int:
    """Return this port, or the first that is free. Raises SettingsError."""
    if port is None:
        return _free_port()
    require_free(port)
    return port
