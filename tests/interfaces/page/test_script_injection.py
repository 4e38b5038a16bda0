"""Whatever documents, the web, the model or a person write is text: of all that would run a script, nothing does."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from localcrag.app.assembly import Assembly
from localcrag.records.enums import Action, Backing, ConflictJudge, Origin
from localcrag.records.errors import NameRefused
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.ingest import Upload
from localcrag.records.passages import GradedPassage
from localcrag.records.run import Claim, Conflict, Run, Turn, TurnState, WebResult, WebUse
from localcrag.runs.export import ExportForm, export
from localcrag.runs.labels import LabelKind
from localcrag.settings import load
from tests.support.app_process import running_app, watch
from tests.support.made_evaluations import passage, question, run, sentence
from tests.support.page_driver import PATIENCE, clean, close_settings, drop_named, go, open_settings, turn
from tests.support.script_injections import FETCHES, INJECTIONS

pytestmark = pytest.mark.browser

SET_UP = """
window.hit = 0;
window.refused = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
MADE = r"""() => {
  const addresses = /^(href|src|action|formaction|xlink:href|data|srcdoc)$/i;
  const runs = /^\W*(javascript|vbscript|data:(?!image.png))/i;
  const attributes = [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]);
  const frames = "iframe, object, embed, base:not([href='./']), math script, svg script, form[action]";
  return attributes
    .filter((one) => /^on/i.test(one.name) || (addresses.test(one.name) && runs.test(one.value)))
    .map((one) => `${one.name}=${one.value}`.slice(0, 200))
    .concat([...document.querySelectorAll(frames)].map((one) => one.outerHTML.slice(0, 200)));
}"""
"""What a text would have to become on the way to running: an event's handler, an address that runs, a frame."""
PUT_IN = """(texts) => texts.forEach((text) => {
  const place = document.body.appendChild(document.createElement("p"));
  place.innerHTML = text;
})"""
PASSAGES = 8
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


def test_the_corpus_runs_where_it_is_not_taken_for_text(chromium: Browser) -> None:
    with chromium.new_page() as page:
        page.add_init_script(SET_UP)
        page.goto("about:blank")
        page.evaluate(PUT_IN, [text for text in INJECTIONS if text not in FETCHES])
        page.wait_for_function("window.hit > 30")
        assert len(page.evaluate(MADE)) > 80
    assert len(INJECTIONS) >= 250


def _passage(number: int, text: str) -> GradedPassage:
    if number % 2:
        return passage(f"p{number}", text, 0.9, document=text)
    made = passage(f"w{number}", text, 0.8, document=None)
    return dataclasses.replace(made, url=f"https://example.com/{text}" if number % 4 else text, title=text)


def _eights() -> list[tuple[str, ...]]:
    return [INJECTIONS[at : at + PASSAGES] for at in range(0, len(INJECTIONS) - 1, PASSAGES)]


def _run(number: int, texts: tuple[str, ...]) -> Run:
    first = texts[0]
    made = run(
        question(f"run-{number}", AnswerLocation.NOWHERE, text=f"Q {first}"),
        [_passage(at, text) for at, text in enumerate(texts)],
        "\n\n".join(f"{text} [{at}]" for at, text in enumerate(texts, 1)),
        action=Action.CORRECT if number % 2 else Action.INCORRECT,
        support=[sentence(text, Backing.PARTLY, shown=at % 2 == 0, why=text) for at, text in enumerate(texts)],
        web=WebUse(
            used=True, query=first, results=tuple(WebResult(text, text, text) for text in texts), error=texts[-1]
        ),
    )
    claims = [Claim(texts[at], texts[at], at + 1, made.sources[at].id, None, 0.9) for at in (0, 1)]
    return dataclasses.replace(
        made,
        collection="default",
        rule=first,
        warnings=texts,
        models={"llm": first, first: first},
        conflicts=(Conflict(claims[1], claims[0], ConflictJudge.FACTS, first, Origin.LOCAL),),
        history=(Turn(first, first),),
    )


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [_run(number, texts) for number, texts in enumerate(_eights())]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, runs: list[Run]) -> Path:
    """A data folder in which every name, title and text is one of the corpus."""
    folder = tmp_path_factory.mktemp("hostile")
    plain, marked, html = folder / "plain.txt", folder / "all.md", folder / "all.html"
    plain.write_text("The ferry to Skarvoy has berth 7.")
    shown = [_CONTROL.sub("", text) for text in INJECTIONS]
    marked.write_text("\n\n".join(shown), "utf-8")
    html.write_text(f"<title>{shown[0]}</title>" + "".join(f"<p>{text}</p>" for text in shown), "utf-8")
    uploads = [Upload(marked, "all.md"), Upload(html, "all.html")]
    uploads += [Upload(plain, f"{text}.txt") for text in INJECTIONS]
    assembly = Assembly(load(data_dir=folder / "data"))
    for _ in assembly.ingest(uploads):
        pass
    for text in INJECTIONS:
        try:
            assembly.collections.new(" ".join(text.split()))
        except NameRefused:
            continue
    chat = assembly.chats.begin("default")
    for made in runs:
        assembly.runs.save(made)
        asked = assembly.chats.ask(chat.id, made.question)
        assembly.chats.put(
            chat.id, dataclasses.replace(asked, answer=made.answer, run_id=made.run_id, state=TurnState.ANSWERED)
        )
        assembly.learning.label(made.run_id, LabelKind.ANSWER, good=True)
        assembly.learning.pin(made.run_id, list(INJECTIONS[:PASSAGES]))
    for text in INJECTIONS:
        begun = assembly.chats.begin("default")
        assembly.chats.change(dataclasses.replace(begun, title=text))
    assembly.close()
    return folder / "data"


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with running_app(data) as url:
        yield url


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    """The page, in which nothing may run, be refused at the last moment, ask, or fetch from elsewhere."""
    dialogs: list[str] = []

    def on_dialog(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    with chromium.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(SET_UP)
        expect.set_options(timeout=PATIENCE)
        page.on("dialog", on_dialog)
        watched = watch(page)
        go(page, address)
        yield page
        harmless(page)
        assert dialogs == []
        clean(watched)


def harmless(page: Page) -> None:
    assert page.evaluate("[window.hit, window.refused]") == [0, []]
    assert page.evaluate(MADE) == []


def test_names_of_documents_chats_and_collections_are_text(page: Page) -> None:
    expect(page.locator("#lc-documents [data-name] .lc-name").first).to_be_visible()
    # Some differ only in what a name is cleared of.
    assert page.locator("#lc-documents li[data-name]").count() > len(INJECTIONS) - 10
    assert page.locator("#lc-chats .lc-chat-title").count() > len(INJECTIONS)
    harmless(page)
    page.locator("#lc-collection input").click()
    # Gradio shows a hundred; the list to move documents to has all.
    expect(page.locator("[role=option]").nth(90)).to_be_attached()
    assert page.locator("#lc-documents select[data-move] option").count() > len(INJECTIONS) * 0.8
    harmless(page)
    page.keyboard.press("Escape")
    page.locator("#lc-chats .lc-more summary").first.click()
    page.locator("#lc-documents [data-name] .lc-name").first.hover()


def test_documents_are_shown_as_text(page: Page) -> None:
    for name in ("all.md", "all.html"):
        page.locator(f"#lc-documents li[data-name='{name}'] .lc-name").click()
        expect(page.locator("#lc-source h2")).to_have_text(name)
        source = page.locator("#lc-source")
        while (following := source.get_by_role("button", name="Next page")).is_enabled():
            before = source.locator(".lc-source-steps span").inner_text()
            following.click()
            expect(source.locator(".lc-source-steps span")).not_to_have_text(before)
            harmless(page)


def test_answers_passages_and_sources_are_text(page: Page, runs: list[Run]) -> None:
    page.locator("#lc-chats .lc-chat-title").last.click()
    expect(page.locator("#lc-log .lc-turn")).to_have_count(len(runs))
    harmless(page)
    panel = page.locator("#lc-panel .lc-panel")
    for number, made in enumerate(runs):
        turn(page, number).locator("[data-do=open]").first.click()
        expect(panel).to_have_attribute("data-run", made.run_id)
        harmless(page)
        for at in (0, 1) if number % 4 == 0 else ():
            page.locator("#lc-panel .lc-open").nth(at).click()
            expect(page.locator("#lc-source h2")).to_be_visible()
            harmless(page)
            page.locator("#lc-source [data-back]").click()


def test_gaps_labels_and_pins_are_text(page: Page) -> None:
    for tab in ("Questions", "Feedback"):
        open_settings(page, tab)
        expect(page.locator("#lc-said-list")).to_contain_text("top.hit++")
        harmless(page)
        close_settings(page)


def test_names_of_uploads_and_what_is_wrong_with_them_are_text(page: Page) -> None:
    names = [f"{text.replace('/', '∕')}.exe" for text in INJECTIONS]
    drop_named(page, dict.fromkeys(names, b"MZ"))
    expect(page.locator("#lc-uploads")).to_contain_text("All files are done", timeout=PATIENCE)
    assert page.locator("#lc-uploads li").count() > len(INJECTIONS) / 2


def test_a_toast_is_text(chromium: Browser, address: str) -> None:
    answers = [text for text in INJECTIONS if text == " ".join(text.split()) and len(text) < 80][
        :: len(INJECTIONS) // 12
    ]
    with chromium.new_page() as page:
        page.add_init_script(SET_UP)
        wanted = [""]
        page.on("dialog", lambda dialog: dialog.accept(wanted[0]))
        go(page, address)
        for text in answers:
            wanted[0] = text
            page.locator("#lc-documents [data-what=new]").click()
            toast = page.get_by_test_id("toast-text").last
            expect(toast).to_have_text(f"The collection “{text}” already exists. Choose another name.")
            harmless(page)
            page.get_by_test_id("toast-close").last.click()
            expect(page.get_by_test_id("toast-text")).to_have_count(0)


def test_an_exported_chat_is_text_also_without_its_policy(chromium: Browser, data: Path, tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=data))
    kept = next(chat for chat in assembly.chats.chats() if chat.turns > 1)
    turns = assembly.chats.turns(kept.id)
    by_id = {one.run_id or "": assembly.runs.get(one.run_id or "") for one in turns}
    titled: Any = dataclasses.replace(kept, title=" ".join(INJECTIONS))
    written = export(titled, turns, by_id, ExportForm.HTML)
    assembly.close()
    assert "Content-Security-Policy" in written
    file = tmp_path / "chat.html"
    file.write_text(re.sub("<meta http-equiv.*", "", written), "utf-8")
    with chromium.new_page() as page:
        page.add_init_script(SET_UP)
        page.goto(file.as_uri())
        assert page.locator("h2").count() == len(turns)
        harmless(page)
