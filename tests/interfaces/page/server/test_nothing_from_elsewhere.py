"""What the server sends holds nothing that a browser would fetch from another computer, and says that none may be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response, expect

from localcrag.interfaces.api.middleware import HEADERS
from localcrag.interfaces.page.server.guards import clean_page
from tests.support.app_process import running_app
from tests.support.page_driver import PATIENCE, ask, close_settings, dropped, go, open_settings

pytestmark = pytest.mark.browser

ELSEWHERE = r"(?:https?:)?//(?!127\.0\.0\.1[:/])[a-z0-9]"
_TAGS = "script|img|iframe|source|embed|video|audio|image|use|input"
FETCHED = re.compile(
    rf"""<(?:{_TAGS})\b[^>]*\b(?:src|srcset|href)\s*=\s*["']?{ELSEWHERE}"""
    rf"""|<link\b[^>]*\bhref\s*=\s*["']?{ELSEWHERE}"""
    rf"""|\burl\(\s*["']?{ELSEWHERE}|@import\s+["']{ELSEWHERE}""",
    re.IGNORECASE,
)
"""What a browser fetches by itself when it reads a page or a style."""
ON_THE_PAGE = """() => {
  const fetching = "[src], [srcset], link[href], use[href], image[href], object[data]";
  const address = (one) => one.src || one.srcset || one.href?.baseVal || one.href || one.data;
  const here = ["data:", "blob:", `${window.location.origin}/`];
  return [...document.querySelectorAll(fetching)]
    .map((one) => new URL(address(one), window.location.href).href)
    .filter((one) => !here.some((start) => one.startsWith(start)));
}"""


def test_a_session_gets_nothing_that_leads_elsewhere(chromium: Browser, tmp_path: Path, handbook: Path) -> None:
    with running_app(tmp_path / "data") as address, chromium.new_context() as context:
        page = context.new_page()
        expect.set_options(timeout=PATIENCE)
        answers: list[Response] = []
        # Playwright cannot keep a method of a list.
        page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108
        go(page, address)
        dropped(page, handbook)
        ask(page, "Who keeps the handbook?")
        page.locator("#lc-panel .lc-open").first.click()
        expect(page.locator("#lc-source h2")).to_be_visible()
        open_settings(page, "Models")
        close_settings(page)
        assert page.evaluate(ON_THE_PAGE) == []
        assert page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
        assert context.cookies() == []
        read = 0
        for answer in answers:
            if answer.url.startswith(("data:", "blob:")):
                continue
            assert answer.url.startswith(f"{address}/")
            for name in set(HEADERS) - {"cache-control"}:
                assert name in answer.headers, (name, answer.url)
            if re.match(r"text/(html|css)", answer.headers.get("content-type", "")):
                assert FETCHED.findall(answer.text()) == [], answer.url
                read += 1
        assert read > 3


def test_the_pattern_finds_what_a_browser_would_fetch() -> None:
    for text in (
        '<script src="https://cdn.example/x.js">', "<link rel=preconnect href=//fonts.example>", "url('http://a.example/x')",
        '@import "https://a.example/x.css"', "<img srcset=https://a.example/x>",
    ):  # fmt: skip
        assert FETCHED.search(text), text
    assert not FETCHED.search('<script src="./assets/x.js"></script><a href="https://a.example">')


def test_the_page_is_served_without_what_is_for_sharing_and_its_scripts_carry_the_nonce() -> None:
    given = (
        b'<meta property="og:image" content="https://a.example/x"/><meta name="twitter:card" content="x" />'
        b'<link rel="manifest" href="/manifest.json" /><title>x</title><script>1</script><script type="module" src="a">'
    )
    assert (
        clean_page(given, "N")
        == b'<title>x</title><script nonce="N">1</script><script nonce="N" type="module" src="a">'
    )
