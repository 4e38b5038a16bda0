"""What a person does on the page: asks, drops files, opens a side or the settings; and a page that is watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, FilePayload, Locator, Page, Route, expect

from tests.support.app_process import Watched, watch

EVENTS = "**/queue/join*"
"""Where Gradio's events go."""
STORED = "local_storage,indexeddb,cache_storage,service_workers,websql,file_systems"
"""What a page can store with its visitor, beside what is stored for a tab alone."""
PATIENCE = 120_000
"""Milliseconds for what the models do, on a machine that is busy with other tests."""

BROKEN_OFF = (
    "AbortError", "Unexpected error", "Failed to load resource: net::ERR_INCOMPLETE_CHUNKED_ENCODING",
    "TypeError: network error",
)  # fmt: skip
"""How problems begin that are none where a page is left: the last two where the server hears of it before the page."""


@contextmanager
def opened(browser: Browser, address: str, *, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """Give the page as a new visitor has it; in the end nothing was complained about and nobody else was asked."""
    with _visitor(browser, address) as page:
        page.set_viewport_size({"width": width, "height": 860})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        watched = _watched[page] = watch(page)
        page.goto(address)
        _ready(page)
        yield page
        clean(watched)
        watched.leave()


AT_REST = "/theme.css"
"""What a tab shows meanwhile: of the app, so that its scripts stay compiled, and without a script of its own."""
_watched: WeakKeyDictionary[Page, Watched] = WeakKeyDictionary()
_idle: WeakKeyDictionary[Browser, Page] = WeakKeyDictionary()
"""Of each browser, the tab of an earlier visitor: Gradio's scripts, compiled, and nothing of the visitor."""


@contextmanager
def _visitor(browser: Browser, address: str) -> Iterator[Page]:
    """Give a tab that knows nothing of the page but its scripts, which take half of the time to open it.

    Who comes while another is there, or after one that failed, has a tab and a context of their own. Tests of what a
    browser fetches, keeps and sends make theirs themselves.
    """
    page = _idle.pop(browser, None) or browser.new_context().new_page()
    try:
        yield page
        _forget(page, address)
    except BaseException:
        page.context.close()
        raise
    if browser in _idle:
        page.context.close()
    else:
        _idle[browser] = page


def _forget(page: Page, address: str) -> None:
    """Leave nothing of a visitor: no other tab, no permission, no cookie, nothing that the page has stored."""
    context = page.context
    for other in context.pages:
        if other != page:
            other.close()
    page.unroute_all()
    context.unroute_all()
    page.goto(address + AT_REST)
    page.evaluate("sessionStorage.clear()")
    context.clear_permissions()
    context.clear_cookies()
    session = context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": address, "storageTypes": STORED})
    session.detach()


def reload(page: Page) -> None:
    """Load the page again."""
    page.reload()
    loaded_anew(page)


def loaded_at(page: Page, width: int, scheme: str) -> None:
    """Load the page again on a screen of another width, in light or dark."""
    page.set_viewport_size({"width": width, "height": 860})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    reload(page)


def loaded_anew(page: Page) -> None:
    """Wait until the page is there again; what broke off by that is no problem, though Gradio reports it."""
    _ready(page)
    if page in _watched:
        problems = _watched[page].problems
        problems[:] = [one for one in problems if not one.startswith(BROKEN_OFF)]


def clean(watched: Watched) -> None:
    """Nothing was complained about, and nobody else was asked."""
    assert watched.problems == []
    assert watched.foreign == []


def go(page: Page, address: str) -> None:
    """Open the page and wait until it can be used: its lists are there."""
    from_elsewhere = page.url != "about:blank"
    page.goto(address)
    (loaded_anew if from_elsewhere else _ready)(page)


def _ready(page: Page) -> None:
    # The page's own script names the regions when it begins.
    expect(page.locator("#lc-settings[role=dialog]")).to_have_count(1, timeout=PATIENCE)
    expect(page.locator("#lc-chats .lc-chats")).to_have_count(1, timeout=PATIENCE)
    expect(page.locator("#lc-documents .lc-documents")).to_have_count(1, timeout=PATIENCE)


def question_box(page: Page) -> Locator:
    """Return the field for the question."""
    return page.locator("#lc-question textarea")


def drop(page: Page, *files: Path) -> None:
    """Give files to the drop zone."""
    page.locator("#lc-drop input[type=file]").set_input_files(list(files))


def dropped(page: Page, *files: Path) -> None:
    """Give files to the drop zone and wait until they are in."""
    drop(page, *files)
    for file in files:
        expect(page.locator("#lc-documents")).to_contain_text(file.name, timeout=PATIENCE)


def ask(page: Page, question: str) -> None:
    """Ask a question and wait until the answer and the panel are whole."""
    before = newest(page)
    question_box(page).fill(question)
    page.locator("#lc-send").click()
    newer(page, before)
    expect(page.locator("#lc-panel .lc-question")).to_have_text(question, timeout=PATIENCE)


def newest(page: Page) -> str:
    """Return the number of the newest finished turn of the chat; none where there is none."""
    turns = page.locator("#lc-log .lc-turn")
    return (turns.last.get_attribute("data-turn") or "") if turns.count() else ""


def newer(page: Page, before: str) -> None:
    """Wait until there is a newer finished turn, and the panel is whole; a long chat shows as many as before."""
    page.wait_for_function(f"before => ({AT_END}) && ({NEWEST}) !== before", arg=before, polling=100, timeout=PATIENCE)
    expect(turn(page)).not_to_have_attribute("data-turn", before, timeout=PATIENCE)
    idle(page)


def answered(page: Page, turns: int) -> None:
    """Wait until a chat has so many finished turns and its panel is whole."""
    expect(page.locator("#lc-log .lc-turn")).to_have_count(turns, timeout=PATIENCE)
    page.wait_for_function(AT_END, polling=100, timeout=PATIENCE)
    idle(page)


NEWEST = "[...document.querySelectorAll('#lc-log .lc-turn')].at(-1)?.dataset.turn ?? ''"
AT_END = "document.querySelector('#lc-send')?.checkVisibility() && !document.querySelector('#lc-panel .lc-busy')"
"""What is waited for before it is expected: for an expectation that is not met yet, Playwright writes down all of the
page, each time that it looks."""


def idle(page: Page) -> None:
    """Nothing is being answered in the chat that is shown."""
    expect(page.locator("#lc-send")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#lc-panel .lc-busy")).to_have_count(0, timeout=PATIENCE)


def turn(page: Page, number: int = -1) -> Locator:
    """Return a finished turn of the chat; the last one, counted from the end."""
    return page.locator("#lc-log .lc-turn").nth(number)


def each_under_way(page: Page, acts: Sequence[Callable[[], object]]) -> None:
    """Do one thing after the other while the first is under way still; the server hears of them in their order."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(EVENTS, hold)
    for act in acts:
        with page.expect_request(EVENTS):
            act()
    page.evaluate("0")  # By then the last one is held, too.
    for route in held:  # With what follows from them.
        with page.expect_response(EVENTS):
            route.continue_()
    answered = len(held)
    page.unroute(EVENTS)
    for route in held[answered:]:  # What came since.
        route.continue_()


def open_side(page: Page, side: str) -> Locator:
    """Have the left or right side in sight, also where it is a drawer."""
    column = page.locator(f"#lc-{side}")
    if not column.is_visible():
        page.locator(f"#lc-top [data-side={side}]").click()
    expect(column).to_be_visible()
    return column


def open_settings(page: Page, tab: str | None = None) -> Locator:
    """Have the settings open, at a tab."""
    screen = page.locator("#lc-settings")
    if not screen.is_visible():
        page.locator("#lc-top [data-does=settings]").click()
    expect(screen).to_be_visible()
    if tab:
        screen.get_by_role("tab", name=tab, exact=True).click()
        expect(screen.get_by_role("tab", name=tab, exact=True)).to_have_attribute("aria-selected", "true")
    return screen


def close_settings(page: Page) -> None:
    """Go back to the chat."""
    page.locator("[data-close-settings]").click()
    expect(page.locator("#lc-settings")).to_be_hidden()


def choose(page: Page, box: str, name: str) -> None:
    """Choose from a list that unfolds."""
    page.locator(f"{box} input").click()
    # Those of lists that the browser itself unfolds are options as well.
    page.get_by_role("option", name=name, exact=True).and_(page.locator("li")).click()
    # The list fades away, and takes clicks meanwhile.
    expect(page.locator("[role=option]")).to_have_count(0)


def settled(page: Page) -> None:
    """Wait until Gradio has set the values of what was just shown: what is typed before is gone.

    It is done before the second frame; nobody types that fast.
    """
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def typed(box: Locator, text: str) -> None:
    """Type into a box that was just shown, again where Gradio set its value after that."""

    def holds() -> bool:
        box.fill(text)
        settled(box.page)
        return box.input_value() == text

    wait_until(holds)


def wait_until(holds: Callable[[], bool]) -> None:
    """Return when `holds` does; fail when it does not within PATIENCE."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def drop_named(page: Page, files: Mapping[str, bytes]) -> None:
    """Give files of any name to the drop zone."""
    given = [FilePayload(name=name, mimeType="application/octet-stream", buffer=held) for name, held in files.items()]
    page.locator("#lc-drop input[type=file]").set_input_files(given)


def whole(page: Page, width: int) -> None:
    """Nothing of the page has to be scrolled to sideways, nor the page itself at all."""
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate("document.scrollingElement.scrollHeight <= innerHeight")
    assert page.evaluate(
        "['lc-left', 'lc-chat', 'lc-right', 'lc-settings'].map(id => document.getElementById(id))"
        ".every(part => part.scrollWidth <= part.clientWidth + 1)"
    )


def listed(page: Page, *names: str) -> None:
    """Wait until these documents are listed, and no others."""
    expect(page.locator("#lc-documents li[data-name] .lc-file")).to_have_text(list(names))
