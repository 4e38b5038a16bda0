"""Print the web interface's speed in a real browser: opening, answering, typing, memory.

    .venv/bin/python scripts/lab/speed/bench_page.py [--questions N]

It needs Chromium, like the browser tests. It uses the sample documents and the embedded models in a temporary folder.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from localcrag.app import samples
from localcrag.privacy.guard import allow_all_programs
from tests.support.app_process import process_at, resident, running_app, start_chromium
from tests.support.page_driver import ask, dropped, go, newer, newest, question_box

ROOT = Path(__file__).resolve().parents[3]


OPENED = 7
TYPED = "What is typed while an answer is written stays as it was typed, every letter of it. "


def opening(page: Page, address: str) -> float:
    """Return the seconds from opening the page until it can be used."""
    began = time.perf_counter()
    go(page, address)
    return time.perf_counter() - began


def added(page: Page, question: str) -> float:
    """Return the seconds from the click to the complete panel, minus those of the answer's own steps."""
    began = time.perf_counter()
    ask(page, question)
    took = time.perf_counter() - began
    steps = page.locator("#lc-panel .lc-time").all_inner_texts()
    return took - sum(float(text.removesuffix(" s")) for text in steps)


def lost_letters(page: Page, question: str) -> int:
    """Return the number of lost letters when typing one every 16 ms while an answer is being written."""
    before = newest(page)
    question_box(page).fill(question)
    page.locator("#lc-send").click()
    page.locator("#lc-stop").wait_for()
    question_box(page).press_sequentially(TYPED, delay=1000 / 60)
    newer(page, before)
    lost = len(TYPED) - len(question_box(page).input_value())
    question_box(page).fill("")
    return lost


def heap(page: Page) -> float:
    """Return the page's JavaScript heap after garbage collection, in MiB."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["JSHeapUsedSize"]) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100, metavar="N")
    number = parser.parse_args().questions
    allow_all_programs("the app and a browser")
    questions = samples.questions()
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as address, sync_playwright() as playwright:
        browser = start_chromium(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        go(page, address)
        dropped(page, *sorted(samples.DOCUMENTS.iterdir()))
        ask(page, questions[0])
        seconds = [opening(browser.new_page(), address) for _ in range(OPENED)]
        page.locator("#lc-new").click()
        expect(page.locator("#lc-log .lc-turn")).to_have_count(0)
        memory, more, lost = {}, [], 0
        for at in range(1, number + 1):
            more.append(added(page, questions[at % len(questions)]))
            if at % 25 == 0:
                lost += lost_letters(page, questions[at % len(questions)])
            if at in {10, *(number * part // 4 for part in range(1, 5))}:
                memory[at] = heap(page), resident(process_at(address)) / 2**20
        browser.close()
    print("| what | figure |\n| --- | --: |")
    print(f"| page can be used, server warm, median of {OPENED} | {statistics.median(seconds):.2f} s |")
    print(f"| from the click to the whole panel, beyond the steps, median | {statistics.median(more):.2f} s |")
    print(f"| letters lost of {len(TYPED)} typed at 60 a second while an answer is written | {lost} |")
    for at, (own, server) in memory.items():
        print(f"| memory after {at} questions: of the page itself, of the server | {own:.1f} MiB, {server:.0f} MiB |")


if __name__ == "__main__":
    main()
