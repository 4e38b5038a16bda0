from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localcrag import settings
from localcrag.app.models import library
from localcrag.interfaces.cli.main import _parser
from localcrag.interfaces.cli.models import display
from localcrag.models.transfers import ProgressMeter
from localcrag.records.errors import LocalcragError, ModelMissing, SettingsError
from localcrag.records.models import DownloadPhase, DownloadProgress
from tests.support.hub_server import HubFile, serve_hub
from tests.support.model_folders import CONFIG, GGUF, REPOSITORY, entry, file_line, hub_source, models_folder

Command = Callable[..., int]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = models_folder(
        tmp_path / "models",
        entry("chat", "llm", REPOSITORY, file_line("chat.gguf", GGUF)),
        entry("far-chat", "llm", hub_source("someone/far"), file_line("far.gguf", GGUF, checksum=False, exact=False)),
        entry("embedder", "embedder", REPOSITORY, file_line("config.json", b"{}"), file_line("modules.json", b"[]")),
        entry("scorer", "relevance", REPOSITORY, file_line("config.json", CONFIG)),
    )
    contents = {"chat/chat.gguf": GGUF, "embedder/config.json": b"{}", "embedder/modules.json": b"[]"}
    for path, content in {**contents, "scorer/config.json": CONFIG}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture
def command(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`localcrag models ...` with settings as the command line would give them."""
    monkeypatch.setattr(library, "PORTS", (1,))  # Not where this computer may have a server.

    def run(*given: str) -> int:
        arguments = _parser().parse_args(["models", *given])
        status: int = arguments.run(arguments, loaded(tmp_path, models)) or 0
        return status

    return run


def loaded(tmp_path: Path, models: Path) -> settings.Settings:
    stored = tmp_path / "data" / "settings.json"
    if not stored.exists():
        stored.parent.mkdir()
        stored.write_text(json.dumps({"llm": "chat", "embedder": "embedder", "relevance": "scorer"}))
    return settings.load(data_dir=tmp_path / "data", models_dir=models)


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_list_marks_what_is_in_use_and_says_what_is_missing(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("* chat ") and "present" in line for line in lines)
    assert any(line.startswith("  far-chat ") and "missing" in line and "about" in line for line in lines)


def test_list_prints_every_model_as_json(command: Command, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (models / "mine.gguf").write_bytes(GGUF)
    assert command("list", "--json") == 0
    listed = {model["name"]: model for model in printed(capsys)}
    assert list(listed) == ["chat", "far-chat", "embedder", "scorer", "mine"]
    assert [name for name, model in listed.items() if model["in_use"]] == ["chat", "embedder", "scorer"]
    assert listed["mine"]["source"] == "yours"
    assert listed["mine"]["path"] == str(models / "mine.gguf")


def test_path_prints_only_the_path(command: Command, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("path", "llm") == 0
    assert capsys.readouterr().out == f"{models / 'chat' / 'chat.gguf'}\n"
    assert command("path", "relevance", "--json") == 0
    assert printed(capsys) == {"role": "relevance", "name": "scorer", "path": str(models / "scorer")}


def test_use_is_saved_and_holds_for_the_next_command(
    command: Command, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (models / "mine.gguf").write_bytes(GGUF)
    assert command("use", "mine", "--json") == 0
    assert printed(capsys) == {"role": "llm", "name": "mine", "path": str(models / "mine.gguf"), "before": "chat"}
    assert command("path", "llm") == 0
    assert capsys.readouterr().out == f"{models / 'mine.gguf'}\n"


def test_use_of_a_path_stores_it_absolutely(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.gguf").write_bytes(GGUF)
    monkeypatch.chdir(tmp_path)
    assert command("use", "elsewhere/other.gguf", "--json") == 0
    assert printed(capsys)["name"] == str(tmp_path / "elsewhere" / "other.gguf")


def test_use_of_another_embedder_says_that_collections_have_to_be_embedded_again(
    command: Command, tmp_path: Path, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    (models / "embedder").rename(other)
    assert command("use", str(other)) == 0
    captured = capsys.readouterr()
    assert captured.out == f"embedder: {other}\n"
    assert "--re-embed" in captured.err


def test_use_of_a_model_that_is_not_there_changes_nothing(
    command: Command, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelMissing, match="`localcrag models get far-chat`"):
        command("use", "far-chat")
    command("path", "llm")
    assert capsys.readouterr().out == f"{models / 'chat' / 'chat.gguf'}\n"


SETS = """
[[set]]
name = "near"
title = "Near"
description = "For tests."
models = ["other-scorer", "embedder"]

[[set]]
name = "far"
title = "Far"
description = "For tests."
models = ["scorer", "far-chat"]
"""


@pytest.fixture
def sets(models: Path) -> Path:
    other = entry("other-scorer", "relevance", REPOSITORY, file_line("config.json", CONFIG))
    with (models / "models.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(other + SETS)
    (models / "other-scorer").mkdir()
    (models / "other-scorer" / "config.json").write_bytes(CONFIG)
    return models


def test_the_models_of_a_set_are_chosen_together(
    command: Command, sets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("use", "near", "--json") == 0
    assert [(one["role"], one["name"], one["before"]) for one in printed(capsys)] == [
        ("relevance", "other-scorer", "scorer"), ("embedder", "embedder", "embedder"),
    ]  # fmt: skip
    assert command("path", "relevance") == 0
    assert capsys.readouterr().out == f"{sets / 'other-scorer'}\n"
    assert command("list") == 0
    assert "Near: `localcrag models use near` (other-scorer and embedder). For tests." in capsys.readouterr().err


@pytest.mark.usefixtures("sets")
def test_a_set_of_which_a_model_is_missing_changes_nothing(command: Command, tmp_path: Path) -> None:
    assert command("use", "near") == 0
    before = (tmp_path / "data" / "settings.json").read_text()
    with pytest.raises(ModelMissing, match="`localcrag models get far-chat`"):
        command("use", "far")
    assert (tmp_path / "data" / "settings.json").read_text() == before


def test_a_set_of_models_that_are_not_in_the_list_is_told(command: Command, sets: Path) -> None:
    manifest = sets / "models.toml"
    manifest.write_text(manifest.read_text().replace('other-scorer", "embedder', 'nobody", "embedder'))
    with pytest.raises(LocalcragError, match="set “near”: it needs a unique name, and models from the list"):
        command("list")


def test_use_asks_for_the_role_when_the_files_do_not_tell(command: Command, tmp_path: Path) -> None:
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "config.json").write_text("{}")
    with pytest.raises(SettingsError, match="Add --role"):
        command("use", str(tmp_path / "strange"))
    assert command("use", str(tmp_path / "strange"), "--role", "relevance") == 0


def test_use_says_when_a_variable_wins_over_the_choice(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALCRAG_LLM", "far-chat")
    assert command("use", "chat") == 0
    assert "LOCALCRAG_LLM is set and overrides" in capsys.readouterr().err


def test_verify_fails_when_one_file_is_wrong_and_names_the_remedy(
    command: Command, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (models / "chat" / "chat.gguf").write_bytes(GGUF[::-1])
    assert command("verify") == 1
    captured = capsys.readouterr()
    assert f"wrong    {models / 'chat' / 'chat.gguf'}\n" in captured.out
    assert f"ok       {models / 'scorer' / 'config.json'}\n" in captured.out
    assert "chat is incomplete or damaged" in captured.err
    assert command("verify", "scorer", "--json") == 0
    assert printed(capsys) == [{"model": "scorer", "path": str(models / "scorer" / "config.json"), "state": "ok"}]


def test_get_goes_on_with_the_others_when_one_fails(
    command: Command, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        hub.files["someone/far/far.gguf"] = HubFile(GGUF)
        assert command("get", "nonsense", "chat", "far-chat", "--json") == 1
    captured = capsys.readouterr()
    assert [(result["name"], result["state"]) for result in json.loads(captured.out)] == [
        ("nonsense", "failed"),
        ("chat", "already there"),
        ("far-chat", "downloaded"),
    ]
    assert "The list of models has no “nonsense”" in captured.err
    assert "downloading far-chat: 0 of 0 MB" in captured.err


def test_get_embedded_means_the_models_that_come_as_wheels(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("get", "embedded", "--json") == 0
    assert printed(capsys) == []  # the manifest of these tests has none


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["list", "http://127.0.0.1:1", "extra"],
        ["path"],
        ["path", "poet"],
        ["get"],
        ["use", "chat", "--role", "poet"],
    ],
    ids=str,
)
def test_wrong_usage_points_to_the_help(command: Command, arguments: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"See `localcrag.* --help`"):
        command(*arguments)


def test_a_manifest_that_is_not_valid_is_told_and_not_thrown(command: Command, models: Path) -> None:
    (models / "models.toml").write_text("[[model]]\n")
    with pytest.raises(LocalcragError, match="entry “number 1”"):
        command("list")


# The progress, without a terminal and with one.


def record(done: int, phase: DownloadPhase = DownloadPhase.TRANSFER) -> DownloadProgress:
    return DownloadProgress(
        model="chat",
        file="chat.gguf",
        phase=phase,
        done=done,
        total=4_000_000_000,
        bytes_per_second=10_000_000.0,
        seconds_left=(4_000_000_000 - done) / 10_000_000,
    )


def test_without_a_terminal_the_first_and_the_last_state_are_lines() -> None:
    stream = io.StringIO()
    with display(stream) as report:
        for done in (0, 1, 2, 3, 4_000_000_000):
            report(record(done))
        report(record(0, DownloadPhase.CHECK))
    assert stream.getvalue().splitlines() == [
        "downloading chat: 0 of 4,000 MB, 10.0 MB/s, 6 min 40 s left",
        "downloading chat: 4,000 of 4,000 MB",
        "checking chat: 0 of 4,000 MB, 10.0 MB/s, 6 min 40 s left",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_there_is_a_bar_with_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with display(stream) as report:
        report(record(2_000_000_000))
    assert "2,000 of 4,000 MB, 10.0 MB/s, 3 min 20 s left" in stream.getvalue()
    assert "━" in stream.getvalue()


def test_the_rate_counts_only_what_came_now_and_only_lately() -> None:
    # (seconds on the clock, bytes there then, bytes per second expected); 500 of 2000 bytes are there at the start.
    times = [(1.0, 600, 100.0), (2.0, 700, 100.0), (20.0, 710, 10 / 18), (30.0, 720, 1.0)]
    clock = iter([0.0, 0.0, *(time for time, _, _ in times)])
    seen: list[DownloadProgress] = []
    meter = ProgressMeter("chat", seen.append, clock=clock.__next__)
    meter.begin(DownloadPhase.TRANSFER, "chat.gguf", 500, 2000)
    for _, done, _ in times:
        meter.at(done)
    assert [record.bytes_per_second for record in seen] == [None, *(rate for _, _, rate in times)]
    assert seen[2].seconds_left == 13.0
