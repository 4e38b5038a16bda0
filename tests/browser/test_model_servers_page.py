"""Models behind servers, on the page: found, agreed to where they are on another computer, and used."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from localcrag.models.llm import LlamaCpp
from localcrag.privacy.addresses import is_private, is_this_computer
from localcrag.settings import REPOSITORY_MODELS
from tests.support.app_process import running_app
from tests.support.model_servers import ModelServer, serving
from tests.support.page_driver import opened


@pytest.fixture
def llm(tmp_path: Path) -> LlamaCpp:
    file = next((REPOSITORY_MODELS / "smollm2-135m-instruct").glob("*.gguf"))
    return LlamaCpp("tiny", file, context_tokens=1024, threads=1, cache=tmp_path / "cache")


def private_address() -> str | None:
    """Return an address of this computer in a private network, which is no loopback address: to the app, another's."""
    told = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    return next((one for one in told if is_private(one) and not is_this_computer(one)), None)


# Python's HTTP server looks up the name of its own address.
@pytest.mark.refused("fd*", "fe80*", "10.*", "172.*", "192.168.*")
def test_a_servers_model_is_found_and_used_and_another_computer_agreed_to(
    chromium: Browser, tmp_path: Path, screens: Path, llm: LlamaCpp
) -> None:
    away = private_address()
    here, there = ModelServer(llm, models=("llama3.2:3b",), owned_by="library"), ModelServer(llm)
    with ExitStack() as running:
        running.enter_context(serving(here))
        if away:
            running.enter_context(serving(there, host=away))
        url = running.enter_context(running_app(tmp_path / "data"))
        page = running.enter_context(opened(chromium, url))
        page.get_by_role("button", name="Settings").first.click()
        screen = page.locator("#lc-settings")
        screen.get_by_role("tab", name="Models").click()
        screen.get_by_role("button", name="Models on your own server").click()
        address, look = screen.get_by_label("Address of the server"), screen.get_by_role("button", name="Find models")
        address.fill("http://8.8.8.8:1")
        look.click()
        expect(page.locator("#lc-server-report")).to_contain_text("neither this computer nor in a private network")
        address.fill(here.url)
        look.click()
        found = screen.locator(".lc-models li", has_text="llama3.2:3b")
        expect(found).to_contain_text("Ollama, 127.0.0.1")
        found.get_by_role("button", name="Use llama3.2:3b").click()
        expect(found).to_contain_text("in use")
        settings = tmp_path / "data" / "settings.json"
        assert json.loads(settings.read_text("utf-8")) == {"llm": f"{here.url}/v1#llama3.2:3b"}
        if not away:
            return
        address.fill(there.url)
        look.click()
        other = screen.locator(".lc-models li", has_text="tiny").filter(has_text=away)
        expect(other).to_contain_text("leave this computer and go there")
        page.screenshot(path=screens / "model-servers.png", full_page=True)
        other.get_by_role("button", name="Approve and use tiny").click()
        expect(other).to_contain_text("You agreed that")
        expect(other).to_contain_text("in use")
        assert json.loads(settings.read_text("utf-8"))["agreed_servers"] == [there.url.removeprefix("http://")]
        other.get_by_role("button", name="Withdraw approval").click()
        expect(other).to_contain_text("leave this computer and go there")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=screens / "model-servers-dark.png")
