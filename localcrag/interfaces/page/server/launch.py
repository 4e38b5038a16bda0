"""The launch of the app: its server on 127.0.0.1, its window, and the models in the background."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import threading
from pathlib import Path

import gradio as gr

from localcrag.app.assembly import Assembly, warm_up_in_background
from localcrag.app.desktop.install import FAVICON
from localcrag.app.desktop.one_instance import NO_REQUEST, HandOver, InstanceAddress, OneInstance
from localcrag.app.desktop.window import PageWindow
from localcrag.app.models.lifecycle import IdleModelUnloader
from localcrag.interfaces.api.middleware import HOST, is_free, require_free
from localcrag.interfaces.page.handlers import MAX_TABS
from localcrag.interfaces.page.page import HERE, build
from localcrag.interfaces.page.server import guards
from localcrag.interfaces.page.server.handoff import Presence
from localcrag.privacy import log_file, process
from localcrag.records.errors import SettingsError
from localcrag.settings import Settings

FIRST_PORT, PORTS_TRIED = 7860, 50
"""The first port to try, and the number of consecutive ports to try."""
SYSTEM_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif"]
LARGEST_UPLOAD = "500mb"
"""Largest file that can be uploaded, as Gradio's max_file_size."""
MAX_THREADS = 250
"""Number of threads in which handlers run; Gradio's default is 40."""
MAX_CONNECTIONS = 8_192
"""Number of open connections and files that the process requests from the system."""
MAX_QUEUED = 2_000
"""Maximum number of waiting events; beyond that, the page is told to try again later."""
POLL_INTERVAL, PROGRESS_POLL_INTERVAL = 0.02, 1.0
"""Seconds between two checks of an idle Gradio for events, and for progress bars, which localcrag does not use.

Gradio's defaults are 0.05 and 0.1 on Windows, and 0.001 and 0.01 elsewhere, which costs an idle server a twentieth of a
core all the time.
"""


def launch(
    settings: Settings, *, port: int | None, browser: bool, own: OneInstance | None = None, given: HandOver = NO_REQUEST
) -> None:
    """Serve the app until it is interrupted, a later start asks it to quit, or its own window is closed.

    `own` is the data folder's first instance if that is already claimed: then the app opens in its own window if a
    Chromium is installed. Otherwise it opens in a browser tab, and the instance is claimed here, unless another process
    has it. The files of `given` are added at once. Raises SettingsError if the port is taken.
    """
    if not settings.debug:
        process.hide_error_messages()
    assembly = Assembly(settings)
    _reset_uploads(settings.uploads_dir)
    _raise_connection_limit()
    port = _choose_port(port)
    app = build(assembly)
    address = f"http://{HOST}:{port}"
    first = own or OneInstance(settings.data_dir)
    page_window = PageWindow(address, own.window_folder if own else None)
    presence = Presence(app, page_window, settings.collection)
    token = secrets.token_urlsafe(32)
    _serve(app.page, port, guards.lifespan(port, settings.uploads_dir, token, presence.handle, app.downloads))
    print(f"localcrag is at {address} (Ctrl-C stops it)", file=sys.stderr, flush=True)  # noqa: T201
    app.start_background_work()
    closing = threading.Event()
    warming = warm_up_in_background(assembly, closing=closing.is_set)
    idle = IdleModelUnloader(assembly.models, assembly.current_settings).begin()
    # If another process is the first instance, later starts hand their files over to that one.
    if own or first.claim():
        first.publish(InstanceAddress(port, token))
    try:
        presence.begin(given, shows=browser)
        with log_file.logged("the page"):
            presence.wait()
    finally:
        closing.set()
        idle.close()
        page_window.close()
        app.page.close(verbose=False)
        app.close()
        _reset_uploads(settings.uploads_dir)
        assembly.close()
        first.release()
    if warming.is_alive():
        # torch aborts a process that ends while it loads a model. Everything is already closed, so exiting is safe.
        os._exit(0)


def _serve(page: gr.Blocks, port: int, lifespan: guards.Lifespan) -> None:
    """Start the server, in separate threads."""
    # Nothing shows positions in the queue. If they were sent at every change, a thousand calls would cause a million
    # messages.
    page.queue(default_concurrency_limit=4, max_size=MAX_QUEUED, status_update_rate=10)
    # Gradio has no setting for these.
    page._queue.sleep_when_free, page._queue.progress_update_sleep_when_free = POLL_INTERVAL, PROGRESS_POLL_INTERVAL
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
        # Number of tabs whose contents are kept in memory, even after they are closed. Gradio's default is 10,000.
        state_session_capacity=MAX_TABS,
        enable_monitoring=False,
        run_history=False,
        mcp_server=False,
        pwa=False,
        # Each tab that shows progress uses a thread, so Gradio's default of 40 would not be enough.
        max_threads=MAX_THREADS,
        app_kwargs={"lifespan": lifespan},
    )


def _raise_connection_limit() -> None:
    """Raise the limit on open connections as far as the system allows, because each open tab needs two."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - the module does not exist on Windows

        # Only the soft limit is raised, up to the hard limit, which needs no special rights.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_CONNECTIONS if most == resource.RLIM_INFINITY else min(most, MAX_CONNECTIONS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _reset_uploads(uploads: Path) -> None:
    """Remove uploaded files left by an earlier process, and make the folder readable only by this user."""
    shutil.rmtree(uploads, ignore_errors=True)
    uploads.mkdir(parents=True, exist_ok=True, mode=0o700)


def _choose_port(port: int | None) -> int:
    """Return the given port, or the first free one if none is given. Raises SettingsError."""
    if port is not None:
        require_free(port)
        return port
    last = FIRST_PORT + PORTS_TRIED - 1
    if free := next(filter(is_free, range(FIRST_PORT, last + 1)), None):
        return free
    raise SettingsError(f"No port between {FIRST_PORT} and {last} is free on {HOST}. Name another with --port.")
