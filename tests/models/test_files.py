from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from localcrag.models.files import Library
from localcrag.models.manifest import HubSource, Manifest
from localcrag.records.errors import ModelDamaged, ModelError, ModelMissing
from localcrag.records.models import FileState, ModelRole, ModelState
from localcrag.settings import REPOSITORY_MODELS
from tests.support.model_folders import (
    CONFIG,
    GGUF,
    REPOSITORY,
    VOCABULARY,
    entry,
    file_line,
    hub_source,
    models_folder,
)

pytestmark = pytest.mark.models

CHAT = entry("tiny-chat", "llm", REPOSITORY, file_line("chat.gguf", GGUF))
SCORER = entry(
    "tiny-scorer", "relevance", REPOSITORY, file_line("config.json", CONFIG), file_line("vocab.txt", VOCABULARY)
)
ADAPTER = b"GGUF" + b"adapter" * 10
ADAPTED = entry("tiny-answerer", "llm", REPOSITORY, file_line("adapter.gguf", ADAPTER)) + 'base = "tiny-chat"\n'
FAR = entry("far-chat", "llm", hub_source("someone/far"), file_line("far.gguf", GGUF, checksum=False, exact=False))


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = models_folder(tmp_path / "models", CHAT, SCORER, FAR)
    (folder / "tiny-chat").mkdir()
    (folder / "tiny-chat" / "chat.gguf").write_bytes(GGUF)
    (folder / "tiny-scorer").mkdir()
    (folder / "tiny-scorer" / "config.json").write_bytes(CONFIG)
    (folder / "tiny-scorer" / "vocab.txt").write_bytes(VOCABULARY)
    return folder


def state(library: Library, name: str) -> ModelState:
    return next(model.state for model in library.models() if model.name == name)


# The manifest that ships.


def test_the_shipped_manifest_has_a_model_for_every_role_that_needs_no_hub() -> None:
    entries = Manifest.load(REPOSITORY_MODELS).entries
    assert {entry.role for entry in entries if not isinstance(entry.source, HubSource)} == set(ModelRole)


def test_the_shipped_relevance_model_has_the_checksums_of_the_manifest() -> None:
    checks = Library(REPOSITORY_MODELS).verify("relevance-v3")
    assert [check.state for check in checks] == [FileState.OK] * len(checks)


def test_a_models_folder_without_a_manifest_uses_the_shipped_one(tmp_path: Path) -> None:
    library = Library(tmp_path / "elsewhere")
    assert library.path("relevance-v3", ModelRole.RELEVANCE) == REPOSITORY_MODELS / "relevance-v3"
    assert library.folder(library.manifest.entries[0]).is_relative_to(tmp_path)


BROKEN = {
    "no-toml": ("[[model]", "not valid TOML"),
    "other-tables": ("[settings]\na = 1\n", r"other than \[\[model\]\] and \[\[set\]\] tables"),
    "unknown-role": (CHAT.replace('"llm"', '"poet"'), "entry “tiny-chat”: role"),
    "unknown-key": (CHAT.replace("licence", "license"), "entry “tiny-chat”"),
    "no-files": (entry("bare", "llm", REPOSITORY), "entry “bare”: files"),
    "path-leads-out": (CHAT.replace("chat.gguf", "../chat.gguf"), "entry “tiny-chat”: files.0.path"),
    "hidden-folder": (CHAT.replace('folder = "tiny', 'folder = ".tiny'), "entry “tiny-chat”: folder"),
    "short-checksum": (CHAT.replace('sha256 = "', 'sha256 = "abc'), "entry “tiny-chat”: files.0.sha256"),
    "unknown-source": (CHAT.replace('"repository"', '"ftp"'), "entry “tiny-chat”: source"),
    "no-checksum-outside-the-hub": (
        entry("free", "llm", REPOSITORY, file_line("a.gguf", GGUF, checksum=False)),
        "entry “free”: every file needs a sha256",
    ),
    "same-name-twice": (CHAT + CHAT, "name “tiny-chat” more than once"),
    "adapter-for-a-model-of-another-kind": (
        SCORER + ADAPTED.replace("tiny-chat", "tiny-scorer"),
        "entry “tiny-answerer”: base is “tiny-scorer”",
    ),
    "adapter-for-nothing": (ADAPTED, "entry “tiny-answerer”: base is “tiny-chat”, and must be"),
    "nameless": (CHAT.replace('name = "tiny-chat"\n', ""), "entry “number 1”: name"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_manifest_that_is_not_valid_is_refused_with_the_name_of_the_entry(
    tmp_path: Path, content: str, message: str
) -> None:
    models_folder(tmp_path, content)
    with pytest.raises(ModelError, match=message):
        Library(tmp_path)


# Where a model lies.


def test_a_language_model_is_its_file_and_other_models_are_their_folders(models: Path) -> None:
    library = Library(models)
    assert library.path("tiny-chat", ModelRole.LLM) == models / "tiny-chat" / "chat.gguf"
    assert library.path("tiny-scorer", ModelRole.RELEVANCE) == models / "tiny-scorer"


def test_a_model_that_is_not_there_is_missing_and_the_message_names_the_command(models: Path) -> None:
    with pytest.raises(ModelMissing, match="`localcrag models get far-chat`"):
        Library(models).path("far-chat", ModelRole.LLM)


def test_an_unknown_name_is_answered_with_similar_names_of_the_same_role(models: Path) -> None:
    with pytest.raises(ModelMissing, match=r"Did you mean tiny-chat.*`localcrag models get tiny-chat`"):
        Library(models).path("tiny", ModelRole.LLM)


def test_a_model_cannot_be_used_for_another_role(models: Path) -> None:
    with pytest.raises(ModelError, match="tiny-scorer cannot be used as llm: its role is relevance"):
        Library(models).path("tiny-scorer", ModelRole.LLM)


@pytest.fixture
def adapted(models: Path) -> Library:
    models_folder(models, CHAT, ADAPTED)
    (models / "tiny-answerer").mkdir()
    (models / "tiny-answerer" / "adapter.gguf").write_bytes(ADAPTER)
    return Library(models)


def test_a_model_that_is_an_adapter_is_loaded_on_the_model_that_it_is_for(adapted: Library) -> None:
    folder = adapted.models_dir
    assert adapted.path("tiny-answerer", ModelRole.LLM) == folder / "tiny-chat" / "chat.gguf"
    assert adapted.adapter("tiny-answerer") == folder / "tiny-answerer" / "adapter.gguf"
    assert adapted.adapter("tiny-chat") is None
    assert adapted.adapter(str(folder / "tiny-chat" / "chat.gguf")) is None


def test_an_adapter_is_checked_and_so_is_the_model_that_it_is_for(adapted: Library) -> None:
    (adapted.models_dir / "tiny-answerer" / "adapter.gguf").write_bytes(ADAPTER[:-1] + b"!")
    with pytest.raises(ModelDamaged, match=r"adapter\.gguf does not have the checksum"):
        adapted.path("tiny-answerer", ModelRole.LLM)
    (adapted.models_dir / "tiny-answerer" / "adapter.gguf").write_bytes(ADAPTER)
    (adapted.models_dir / "tiny-chat" / "chat.gguf").unlink()
    with pytest.raises(ModelMissing, match="The model tiny-chat is not in"):
        adapted.path("tiny-answerer", ModelRole.LLM)


OWN_NAMES = {
    "name": "My-Model.Q4",
    "file-name": "My-Model.Q4.GGUF",
    "path-below-the-models-folder": "downloads/My-Model.Q4.GGUF",
}


@pytest.mark.parametrize("given", OWN_NAMES.values(), ids=OWN_NAMES.keys())
def test_a_gguf_file_that_the_user_put_there_is_found(models: Path, given: str) -> None:
    path = models / "downloads" / "My-Model.Q4.GGUF"
    path.parent.mkdir()
    path.write_bytes(GGUF)
    assert Library(models).path(given, ModelRole.LLM) == path


def test_the_users_gguf_files_are_listed_as_theirs(models: Path) -> None:
    (models / "mine.gguf").write_bytes(GGUF)
    own = [model for model in Library(models).models() if model.source == "yours"]
    assert [(model.name, model.role, model.size) for model in own] == [("mine", ModelRole.LLM, len(GGUF))]


def test_own_files_of_the_same_name_are_told_apart_by_their_folders(models: Path) -> None:
    for folder in ("a", "b"):
        (models / folder).mkdir()
        (models / folder / "same.gguf").write_bytes(GGUF)
    library = Library(models)
    assert [model.name for model in library.models() if model.source == "yours"] == ["a/same.gguf", "b/same.gguf"]
    assert library.path("b/same.gguf", ModelRole.LLM) == models / "b" / "same.gguf"


def test_a_model_in_several_parts_is_listed_once_with_the_size_of_all(models: Path) -> None:
    for number in (1, 2):
        (models / f"big-0000{number}-of-00002.gguf").write_bytes(GGUF)
    own = [model for model in Library(models).models() if model.source == "yours"]
    assert [(model.path, model.size) for model in own] == [(models / "big-00001-of-00002.gguf", 2 * len(GGUF))]


def test_unfinished_downloads_are_not_listed(models: Path) -> None:
    (models / ".downloads" / "x").mkdir(parents=True)
    (models / ".downloads" / "x" / "x.gguf").write_bytes(GGUF)
    assert not [model for model in Library(models).models() if model.source == "yours"]


def test_any_path_outside_the_models_folder_is_taken(models: Path, tmp_path: Path) -> None:
    scorer = tmp_path / "my scorer"
    shutil.copytree(models / "tiny-scorer", scorer)
    chat = tmp_path / "my chat.gguf"
    chat.write_bytes(GGUF)
    library = Library(models)
    assert library.path(str(scorer), ModelRole.RELEVANCE) == scorer
    assert library.path(str(chat), ModelRole.LLM) == chat
    assert (library.role(str(scorer)), library.role(str(chat))) == (ModelRole.RELEVANCE, ModelRole.LLM)


def test_a_file_that_only_calls_itself_gguf_is_damaged(models: Path) -> None:
    (models / "page.gguf").write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(ModelDamaged, match=r"page\.gguf is not a GGUF file"):
        Library(models).path("page", ModelRole.LLM)


WRONG_KINDS = {
    "folder-as-language-model": (ModelRole.LLM, "give the path of the .gguf file"),
    "empty-folder-as-embedder": (ModelRole.EMBEDDER, "holds a config.json"),
}


@pytest.mark.parametrize(("role", "message"), WRONG_KINDS.values(), ids=WRONG_KINDS.keys())
def test_a_path_of_the_wrong_kind_is_refused(models: Path, tmp_path: Path, role: ModelRole, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Library(models).path(str(tmp_path), role)


# Checksums.


def test_a_damaged_file_is_found_at_its_first_use_and_the_remedy_is_named(models: Path) -> None:
    file = models / "tiny-chat" / "chat.gguf"
    file.write_bytes(GGUF[:-1] + b"?")
    library = Library(models)
    assert state(library, "tiny-chat") is ModelState.PRESENT  # the list looks at sizes only
    with pytest.raises(ModelDamaged, match=r"chat\.gguf does not have the checksum.*restore"):
        library.path("tiny-chat", ModelRole.LLM)


def test_a_file_of_another_size_is_listed_as_damaged(models: Path) -> None:
    (models / "tiny-chat" / "chat.gguf").write_bytes(GGUF[:-1])
    assert state(Library(models), "tiny-chat") is ModelState.DAMAGED


def test_a_model_that_lacks_a_file_is_damaged(models: Path) -> None:
    (models / "tiny-scorer" / "vocab.txt").unlink()
    library = Library(models)
    assert state(library, "tiny-scorer") is ModelState.DAMAGED
    with pytest.raises(ModelDamaged, match=r"tiny-scorer lacks .*vocab\.txt"):
        library.path("tiny-scorer", ModelRole.RELEVANCE)


def test_a_checked_file_is_not_read_again_until_it_changes(models: Path) -> None:
    file = models / "tiny-chat" / "chat.gguf"
    Library(models).path("tiny-chat", ModelRole.LLM)
    # Same size and same time of change: only reading could tell, so that a pass shows that nothing was read.
    times = file.stat()
    file.write_bytes(GGUF[:-1] + b"?")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    Library(models).path("tiny-chat", ModelRole.LLM)
    assert [check.state for check in Library(models).verify("tiny-chat")] == [FileState.WRONG]
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with pytest.raises(ModelDamaged, match="does not have the checksum"):
        Library(models).path("tiny-chat", ModelRole.LLM)


def test_a_torn_memory_of_checked_files_costs_a_second_check_only(models: Path) -> None:
    Library(models).path("tiny-chat", ModelRole.LLM)
    (models / ".verified.json").write_text('{"half', "utf-8")
    assert Library(models).path("tiny-chat", ModelRole.LLM).is_file()


def test_verify_tells_the_state_of_every_file_and_how_far_it_is(models: Path) -> None:
    (models / "tiny-scorer" / "vocab.txt").write_bytes(VOCABULARY[::-1])
    read: list[int] = []
    checks = Library(models).verify("tiny-scorer", read.append)
    assert [(check.path.name, check.state) for check in checks] == [
        ("config.json", FileState.OK),
        ("vocab.txt", FileState.WRONG),
    ]
    assert sum(read) == len(CONFIG) + len(VOCABULARY)


def test_files_that_came_without_a_download_have_no_checksum_and_can_be_used(models: Path) -> None:
    (models / "far-chat").mkdir()
    (models / "far-chat" / "far.gguf").write_bytes(GGUF)
    library = Library(models)
    assert library.path("far-chat", ModelRole.LLM) == models / "far-chat" / "far.gguf"
    assert [check.state for check in library.verify("far-chat")] == [FileState.UNKNOWN]
