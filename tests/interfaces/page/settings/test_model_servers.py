"""Models behind servers, on the page: found, agreed to where they are on another computer, and used."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from localcrag.models.llm import LlamaCpp
from localcrag.privacy.addresses import is_private, is_this_computer
from localcrag.settings import REPOSITORY_MODELS
from tests.support.app_process import running_app
from tests.support.model_servers import ModelServer, serving
from tests.support.page_driver import open_settings, opened

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> LlamaCpp:
    file = next((REPOSITORY_MODELS / "smollm2-135m-instruct").glob("*.gguf"))
    cache = tmp_path_factory.mktemp("cache")
    return LlamaCpp("tiny", file, context_tokens=1024, threads=1, cache=cache)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def app_address(data: Path) -> Iterator[str]:
    with running_app(data) as url:
        yield url


def private_address() -> str | None:
    """Return an address of this computer in a private network, which is no loopback address: to the app, another's."""
    told = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    return next((one for one in told if is_private(one) and not is_this_computer(one)), None)


def look_at(page: Page, address: str) -> Locator:
    """Look for models at an address, and return the screen of settings."""
    screen = open_settings(page, "Models")
    field = screen.get_by_label("Address of the server")
    if not field.is_visible():
        screen.get_by_role("button", name="Models on your own server").click()
    field.fill(address)
    screen.get_by_role("button", name="Find models").click()
    return screen


def settings(data: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((data / "settings.json").read_text("utf-8"))
    return read


def test_a_server_on_the_internet_is_refused(chromium: Browser, app_address: str) -> None:
    with opened(chromium, app_address) as page:
        look_at(page, "http://8.8.8.8:1")
        expect(page.locator("#lc-server-report")).to_contain_text("neither this computer nor in a private network")


def test_a_model_behind_a_server_on_this_computer_is_found_and_used(
    chromium: Browser, app_address: str, data: Path, llm: LlamaCpp
) -> None:
    here = ModelServer(llm, models=("llama3.2:3b",), owned_by="library")
    with serving(here), opened(chromium, app_address) as page:
        found = look_at(page, here.url).locator(".lc-models li", has_text="llama3.2:3b")
        expect(found).to_contain_text("Ollama, 127.0.0.1")
        found.get_by_role("button", name="Use llama3.2:3b").click()
        expect(found).to_contain_text("in use")
        assert settings(data)["llm"] == f"{here.url}/v1#llama3.2:3b"


# Python's HTTP server looks up the name of its own address.
@pytest.mark.refused("fd*", "fe80*", "10.*", "172.*", "192.168.*")
def test_a_model_on_another_computer_is_used_once_it_is_agreed_to_which_can_be_taken_back(
    chromium: Browser, app_address: str, data: Path, screens: Path, llm: LlamaCpp
) -> None:
    away = private_address()
    if away is None:
        pytest.skip("this computer has no address in a private network")
    there = ModelServer(llm)
    with serving(there, host=away), opened(chromium, app_address) as page:
        other = look_at(page, there.url).locator(".lc-models li", has_text="tiny").filter(has_text=away)
        expect(other).to_contain_text("are sent there")
        page.screenshot(path=screens / "model-servers.png", full_page=True)
        other.get_by_role("button", name="Approve and use tiny").click()
        expect(other).to_contain_text("You approved that")
        expect(other).to_contain_text("in use")
        assert settings(data)["agreed_servers"] == [there.url.removeprefix("http://")]
        other.get_by_role("button", name="Withdraw approval").click()
        expect(other).to_contain_text("are sent there")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=screens / "model-servers-dark.png")
