"""Take the screenshots in docs/screens, which README.md and docs/ show, of a demo that is set up for them.

    .venv/bin/python scripts/make_screens.py [--only NAME…]

The script starts the real app with its own models, once for each picture and on a fresh copy of a data folder. The
folder has the sample documents, and those in scripts/lab/demo. A search server in the script answers the web queries.
It needs /usr/bin/chromium, and for the picture of the desktop window also Xvfb, openbox and xdotool. All pictures take
some minutes. It also removes pictures that no page shows.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lab.evaluation_sets.files import write_document
from make_samples import read_text
from PIL import Image, ImageGrab
from playwright.sync_api import Browser, FloatRect, Locator, Page, Playwright, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SCREENS = ROOT / "docs" / "screens"
SAMPLES = ROOT / "localcrag" / "app" / "samples" / "documents"
DEMO = ROOT / "scripts" / "lab" / "demo"
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

COLOURS = 256
MARGIN = 16
"""Pixels to keep around the elements of a cropped picture."""
PATIENCE = 300_000
"""Milliseconds to wait for the models on a busy computer."""
SETTLING = 1_500
"""Milliseconds to wait after an answer, because the page draws its last parts a little later."""
START_LIMIT = 300.0
"""Seconds to wait for a program to start on a busy computer."""
WINDOW = ("1270", "870")
"""Width and height of the desktop window, without its frame."""
SEARXNG_PORT = 8888
"""The port in the docs' examples; if it is taken, the search server takes another one."""

FOLDERS = "haldmere"
"""The collection whose documents are in folders and have tags."""
WITH_SAMPLES = {"samples": re.compile(""), FOLDERS: re.compile(""), "Wohnung": re.compile("bruma")}
"""Names of the sample documents in each collection; the texts in scripts/lab/demo are added to these."""
SUBFOLDERS = {"bruma": "manuals", "tidewheel": "cooperative", "haldmere": "town", "line-3": "town", "museum": "town"}
"""Folder of the sample documents whose names begin like this, in the collection with folders."""
TAGS = {
    "manuals/": ["appliances"],
    "quay-street-lease.docx": ["contracts", "home"],
    "cooperative/tidewheel-handbook.docx": ["contracts"],
}
LIGHTHOUSE = [
    {
        "title": "Gull Spit light",
        "url": "https://lights.example.org/gull-spit",
        "content": "White round tower with a red gallery at the end of Gull Spit, on the north side of the Sorne's "
        "mouth. The tower is 31 metres tall and was lit for the first time in 1868. Automatic since 1983; open to "
        "visitors on Sundays in July and August.",
    },
    {
        "title": "A walk to Gull Spit",
        "url": "https://walks.example.org/gull-spit",
        "content": "From the last houses it is 4.5 kilometres over shingle to the lighthouse. Go at low tide and take "
        "water with you, there is none on the way. Seals rest on the north side from May on.",
    },
]
MUSEUM = [
    {
        "title": "Museum of Nets and Ropes: visit us",
        "url": "https://museum.example.org/visit",
        "content": "A family card for two adults and any number of children is 16 euros. Adults pay 9 euros, children "
        "up to 14 nothing.",
        "publishedDate": "2026-03-01T09:00:00",
    }
]


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture: its file name, and how to play it on the page up to the moment of the picture.

    `play` gets the page and the search server's address, and returns the part of the page to take; None for the whole
    window. `found` are the search server's results; `connected` tells whether the app knows the server's address.
    """

    name: str
    play: Callable[[Page, str], FloatRect | None]
    collection: str = "samples"
    width: int = 1280
    height: int = 800
    dark: bool = False
    found: Sequence[Mapping[str, str]] = ()
    connected: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)


def shown() -> set[str]:
    """Return the file names of the pictures that README.md and docs/ show."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return {name for page in pages for name in re.findall(r"screens/([\w-]+\.png)\)", page.read_text("utf-8"))}


# What is done on the page


def ask(page: Page, question: str) -> None:
    """Ask a question, and wait until the answer and the panel are complete."""
    page.locator("#lc-question textarea").fill(question)
    page.locator("#lc-send").click()
    expect(page.locator("#lc-panel .lc-question")).to_have_text(question)
    answered(page, question)


def answered(page: Page, question: str) -> None:
    """Wait until the question's answer and the panel are complete, and point at nothing."""
    expect(page.locator("#lc-log .lc-turn").last).to_contain_text(question)
    expect(page.locator("#lc-send")).to_be_visible()
    expect(page.locator(".lc-busy")).to_have_count(0)
    page.mouse.move(1, 1)
    page.wait_for_timeout(SETTLING)


def around(*parts: Locator, margin: int = MARGIN) -> FloatRect:
    """Return the rectangle that contains these elements, with a margin inside the window."""
    page = parts[0].page
    boxes = [box for box in [part.bounding_box() for part in parts] if box]
    left = max(0, min(box["x"] for box in boxes) - margin)
    top = max(0, min(box["y"] for box in boxes) - margin)
    right = min(page.evaluate("innerWidth"), max(box["x"] + box["width"] for box in boxes) + margin)
    bottom = min(page.evaluate("innerHeight"), max(box["y"] + box["height"] for box in boxes) + margin)
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


# The scenes


FOUNDED = "When was Tidewheel founded, and by whom?"
DRAIN = "How can the KX-40 drain without emptying the tank?"
TALL = "How tall is the lighthouse on Gull Spit?"
FAMILY_CARD = "What does a family card for the museum cost?"
NOTICE = "List all notice periods."
KAUTION = "Wann zahlt der Vermieter die Kaution zurück?"


def first_screen(page: Page, _: str) -> None:
    """Show the samples, and questions to begin with."""
    expect(page.locator("[data-ask]").first).to_be_visible()


def cited_answer(page: Page, _: str) -> None:
    """Ask a question that the documents answer."""
    ask(page, FOUNDED)
    expect(page.locator("#lc-panel .lc-badge")).to_have_text("CORRECT")


def narrow(page: Page, _: str) -> None:
    """Ask the same question where the columns at the sides are drawers."""
    ask(page, FOUNDED)


def german(page: Page, _: str) -> None:
    """Ask a question in German about German documents."""
    ask(page, KAUTION)
    expect(page.locator("#lc-panel .lc-badge")).to_have_text("CORRECT")


def source(page: Page, _: str) -> FloatRect:
    """Open the page of a PDF that the answer cites."""
    ask(page, DRAIN)
    page.locator("#lc-log .lc-cite").first.click()
    expect(page.locator("#lc-source .lc-box").first).to_be_in_viewport()
    page.mouse.move(1, 1)
    expect(page.locator(".lc-tip:visible")).to_have_count(0)
    return around(page.locator("#lc-middle"), page.locator("#lc-right"), margin=0)


def scope(page: Page, _: str) -> FloatRect:
    """Choose the documents to ask."""
    page.locator("#lc-scope [data-do=unfold]").click()
    page.locator("#lc-scope").get_by_label("contracts").check()
    since = page.locator("#lc-scope [name=since]")
    since.fill("2022-01-01")
    since.blur()
    page.mouse.move(1, 1)
    return around(page.locator("#lc-ask"))


def read_all(page: Page, _: str) -> FloatRect:
    """Have all passages read for a list."""
    ask(page, NOTICE)
    page.locator("#lc-log .lc-turn [data-do=all]").click()
    expect(page.locator(".lc-searched")).to_contain_text("8 of 8 passages read")
    answered(page, NOTICE)
    return around(page.locator("#lc-log .lc-turn"))


def changed_sentences(page: Page, _: str) -> FloatRect:
    """Take one sentence out and put another one in."""
    ask(page, FOUNDED)
    panel = page.locator("#lc-panel")
    for beginning in ("The first workshop", "Since 2015"):
        panel.locator(".lc-strip", has_text=beginning).locator("[data-force]").click()
    expect(panel.locator(".lc-forced")).to_contain_text("2 changed")
    page.mouse.move(1, 1)
    return around(panel.locator("h3", has_text="Passages"), panel.locator(".lc-forced"), margin=8)


def contradiction(page: Page, _: str) -> FloatRect:
    """Ask about a price that differs between a document and the web."""
    ask(page, FAMILY_CARD)
    card = page.locator("#lc-panel .lc-conflict")
    card.scroll_into_view_if_needed()
    return around(page.locator("#lc-panel h3", has_text="Contradiction"), card, margin=8)


def consent(page: Page, _: str) -> FloatRect:
    """Ask a question that only the web can answer."""
    page.locator("#lc-question textarea").fill(TALL)
    page.locator("#lc-send").click()
    expect(page.locator("#lc-consent-send")).to_be_visible()
    expect(page.locator("#lc-consent-query textarea")).to_have_value(TALL)
    page.mouse.move(1, 1)
    return around(page.locator("#lc-middle"), margin=0)


def from_the_web(page: Page, _: str) -> FloatRect:
    """Send the query, and show the answer from the web."""
    consent(page, _)
    page.locator("#lc-consent-send").click()
    answered(page, TALL)
    expect(page.locator("#lc-panel")).to_contain_text("Gull Spit light")
    return around(page.locator("#lc-middle"), page.locator("#lc-right"), margin=0)


def web_settings(page: Page, server: str) -> FloatRect:
    """Connect a SearXNG."""
    page.locator("#lc-top [data-does=settings]").click()
    page.locator("#lc-settings").get_by_role("tab", name="Web", exact=True).click()
    terms = page.locator("#lc-web-terms textarea")
    expect(terms).to_be_visible()
    page.get_by_label("Address of your SearXNG").fill(server)
    terms.fill("Okafor\nQuay Street")
    page.get_by_role("button", name="Save and test").click()
    expect(page.locator("#lc-web-report")).to_contain_text("Works:")
    page.mouse.move(1, 1)
    return around(page.locator(".lc-settings-top"), page.locator("#lc-web-report"))


BOTH_SENTENCES = {"LOCALCRAG_STRIP": "0.03"}
"""The second sentence about FOUNDED scores about as high as the default threshold, so some runs would leave it out."""
SCENES = [
    Scene("samples.png", first_screen),
    Scene("correct.png", cited_answer, settings=BOTH_SENTENCES),
    Scene("dark-1280.png", cited_answer, dark=True, settings=BOTH_SENTENCES),
    Scene("light-400.png", narrow, width=400, settings=BOTH_SENTENCES),
    Scene("german.png", german, collection="Wohnung", height=830, settings={"LOCALCRAG_LANGUAGE": "de"}),
    Scene("source.png", source, height=720),
    Scene("scope.png", scope, collection=FOLDERS, height=1200),
    Scene("read-all.png", read_all, collection="contracts", height=1200),
    Scene("forced.png", changed_sentences, height=960, settings=BOTH_SENTENCES),
    Scene(
        "conflict-light-1280.png",
        contradiction,
        height=1000,
        found=MUSEUM,
        # No passage reaches this threshold, so the documents alone are never enough.
        settings={"LOCALCRAG_WEB": "always", "LOCALCRAG_UPPER": "0.9999"},
    ),
    Scene("consent-light-1280.png", consent, found=LIGHTHOUSE, height=500),
    Scene("incorrect.png", from_the_web, found=LIGHTHOUSE, height=898),
    Scene("web-settings.png", web_settings, found=LIGHTHOUSE, connected=False),
]
DESKTOP = "desktop-window.png"


# The app, the search server and the desktop


def localcrag(*arguments: str | Path) -> None:
    """Run a command of localcrag."""
    command = [sys.executable, "-m", "localcrag", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)


def prepare(data: Path, folder: Path, collections: Collection[str]) -> None:
    """Make these collections of demo documents in an empty data folder, and have the models prepared in it."""
    for collection in collections:
        documents = folder / collection
        documents.mkdir(parents=True)
        for sample in SAMPLES.iterdir():
            if collection in WITH_SAMPLES and WITH_SAMPLES[collection].match(sample.name):
                subfolder = next((name for start, name in SUBFOLDERS.items() if sample.name.startswith(start)), "")
                target = documents / (subfolder if collection == FOLDERS else "")
                target.mkdir(exist_ok=True)
                shutil.copy(sample, target)
        for text in (DEMO / collection.lower()).glob("*.md"):
            write_document(documents, *read_text(text))
        localcrag("ingest", documents, "--collection", collection, "--data-dir", data)
    if FOLDERS in collections:
        for document, tags in TAGS.items():
            localcrag("documents", "tag", document, *tags, "--collection", FOLDERS, "--data-dir", data)
    with running_app(data):  # The first start prepares the language model.
        pass


@contextmanager
def running_app(data: Path, **environment: str) -> Iterator[str]:
    """Start the app, wait until it answers, yield its address, and stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, str(ROOT / "app.py"), "--no-browser", "--port", str(port), "--data-dir", str(data)]
    log = data.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"

    try:
        try:
            wait_until(lambda: answers(address), process)
        except RuntimeError as error:
            raise SystemExit(f"{error}\n{log.read_text('utf-8', 'replace')}") from error
        yield address
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def answers(address: str) -> bool:
    """Return whether a web server answers at this address."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def wait_until(true: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Wait for something that a process does. Raises RuntimeError if the process ends first, or after START_LIMIT."""
    deadline = time.monotonic() + START_LIMIT
    while not true():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} ended early or is not ready after {START_LIMIT:.0f} seconds.")
        time.sleep(0.1)


def output_of(*command: str, environment: Mapping[str, str]) -> str:
    """Return the output of a program of the desktop; nothing if it fails."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@contextmanager
def search_server(found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Run a server that answers every query like a SearXNG with these results, and yield its address."""
    reply = json.dumps({"results": found}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None: ...

    try:
        server = ThreadingHTTPServer(("127.0.0.1", SEARXNG_PORT), Handler)
    except OSError:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def take(scene: Scene, browser: Browser, data: Path) -> bytes:
    """Play a scene and return its picture as PNG."""
    with ExitStack() as stack:
        settings = {"LOCALCRAG_COLLECTION": scene.collection}
        server = ""
        if scene.found:
            server = stack.enter_context(search_server(scene.found))
            if scene.connected:
                settings["LOCALCRAG_SEARXNG_URL"] = server
        address = stack.enter_context(running_app(data, **settings, **scene.settings))
        context = stack.enter_context(
            browser.new_context(
                viewport={"width": scene.width, "height": scene.height},
                color_scheme="dark" if scene.dark else "light",
                locale="en-GB",
                reduced_motion="reduce",
            )
        )
        page = context.new_page()
        opened(page, address)
        clip = scene.play(page, server)
        return page.screenshot(clip=clip, animations="disabled")


def opened(page: Page, address: str) -> None:
    """Open the page, and wait until its lists are there."""
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page.goto(address)
    ready(page)


def ready(page: Page) -> None:
    """Wait until the page's lists are there."""
    expect(page.locator("#lc-settings[role=dialog]")).to_have_count(1)
    expect(page.locator("#lc-chats .lc-chats")).to_have_count(1)
    expect(page.locator("#lc-documents .lc-documents")).to_have_count(1)


def take_desktop(playwright: Playwright, data: Path, folder: Path) -> bytes:
    """Open documents with localcrag on a desktop of its own, and return the picture of its window as PNG."""
    names = ["bruma-kx40-manual.pdf", "museum-guide.html", "quay-street-lease.docx"]
    for name in names:
        shutil.copy(SAMPLES / name, folder)
    with desktop(folder) as (environment, browser_address):
        command = [sys.executable, "-P", "-m", "localcrag", "desktop", "open", *names, "--data-dir", str(data)]
        process = subprocess.Popen(command, env=environment, cwd=folder)
        try:
            find = ["xdotool", "search", "--onlyvisible", "--class", "^localcrag$"]
            wait_until(lambda: output_of(*find, environment=environment), process)
            window = output_of(*find, environment=environment).split()[0]
            output_of("xdotool", "windowsize", "--sync", window, *WINDOW, environment=environment)
            page = playwright.chromium.connect_over_cdp(browser_address).contexts[0].pages[0]
            page.set_default_timeout(PATIENCE)
            expect.set_options(timeout=PATIENCE)
            ready(page)
            for name in names:
                expect(page.locator("#lc-documents")).to_contain_text(name)
            page.get_by_role("button", name="Clear the list").click()
            ask(page, "How long is the warranty of the KX-40?")
            with ImageGrab.grab(xdisplay=environment["DISPLAY"]) as screen:
                picture = io.BytesIO()
                screen.crop(screen.getbbox()).save(picture, "PNG")
                return picture.getvalue()
        finally:
            process.terminate()
            process.wait()


@contextmanager
def desktop(folder: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Start a screen with a window manager; yield its environment, and the address to drive the window's browser at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    browser = folder / "chromium"
    # As root, Chromium runs only without its sandbox. localcrag finds this one first.
    browser.write_text(
        f'#!/bin/sh\nexec {CHROMIUM} --no-sandbox --test-type --disable-gpu --remote-debugging-port={port} "$@"\n'
    )
    browser.chmod(0o755)
    reads, writes = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writes), "-screen", "0", "1380x930x24"], pass_fds=[writes], stderr=subprocess.DEVNULL
    )
    os.close(writes)
    with os.fdopen(reads) as number:
        display = f":{number.readline().strip()}"
    environment = {
        **os.environ,
        "DISPLAY": display,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
    }
    manager = subprocess.Popen(["openbox"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # localcrag's window would have no frame if it opened before the window manager is ready.
        wait_until(lambda: output_of("xdotool", "get_num_desktops", environment=environment), manager)
        yield environment, f"http://127.0.0.1:{port}"
    finally:
        for process in (manager, screen):
            process.terminate()
            process.wait()


def save(name: str, picture: bytes) -> None:
    """Reduce the picture to 256 colours, which makes the file a third as large, and write it."""
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLOURS).save(SCREENS / name, optimize=True)
        print(f"{name}: {image.width} × {image.height}", flush=True)


def main() -> int:
    """Take the screenshots; return 1 if a page shows one that the script does not take."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*(scene.name for scene in SCENES), DESKTOP]
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=known, default=known)
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        prepare(folder / "data", folder / "documents", {scene.collection for scene in SCENES if scene.name in only})
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for scene in SCENES:
            if scene.name in only:
                data = shutil.copytree(folder / "data", folder / scene.name)
                save(scene.name, take(scene, browser, data))
                shutil.rmtree(data)
        if DESKTOP in only:
            opened_from = folder / "opened"
            opened_from.mkdir()
            save(DESKTOP, take_desktop(playwright, shutil.copytree(folder / "data", folder / DESKTOP), opened_from))
    for old in SCREENS.glob("*.png"):
        if old.name not in shown():
            old.unlink()
            print(f"removed {old.name}, which no page shows")
    if missing := sorted(shown().difference(known)):
        print(f"No scene takes: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
