"""Addresses of model servers: which may be used, what is agreed to, and where keys are kept."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from localcrag.app.models.library import ModelServers, role_of
from localcrag.app.shared_state import CurrentSettings
from localcrag.models import server_address
from localcrag.models.server_address import parse_server
from localcrag.records.enums import Preset
from localcrag.records.errors import ServerError, ServerNotApproved, SettingsError
from localcrag.records.models import ModelRole
from localcrag.settings import load
from tests.support.model_servers import ModelServer, overlap, serving

AWAY = "http://192.168.1.20:8000/v1#big"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/v1/#qwen2.5:7b", "http://127.0.0.1:11434/v1#qwen2.5:7b"),
        ("http://gpu.lan:8000/v1/chat/completions#a/b", "http://gpu.lan:8000/v1#a/b"),
        ("http://[::1]:8080/rerank", "http://[::1]:8080/rerank"),
        ("https://192.168.1.20/api#m", "https://192.168.1.20/api#m"),
    ],
)
def test_an_address_and_a_model_make_a_name(given: str, name: str) -> None:
    assert parse_server(given).name == name
    assert parse_server(name).name == name


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("ftp://127.0.0.1", "does not begin with"),
        ("http://", "does not name a computer"),
        ("http://127.0.0.1:99999", "port"),
        ("http://127.0.0.1?key=secret", "after a"),
        ("http://me:secret@127.0.0.1:8000", "contains a password"),
        ("http://8.8.8.8:8000", "neither this computer nor in a private network"),
        ("http://134744072/", "neither this computer nor in a private network"),
        ("http://[2001:4860:4860::8888]/v1", "neither this computer nor in a private network"),
        ("http://127.0.0.1:11434#gpt-oss:120b-cloud", "maker's computers"),
    ],
)
def test_other_addresses_are_refused_and_no_secret_is_shown(given: str, why: str) -> None:
    with pytest.raises(ServerError, match=why) as told:
        parse_server(given)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "here"),
    [("http://localhost:1", True), ("http://127.9.9.9:1", True), ("http://[::1]:1", True), (AWAY, False)],
)
def test_this_computer_is_told_from_others(name: str, here: bool) -> None:
    assert parse_server(name).here is here


def test_what_a_model_is_for_stands_in_its_address() -> None:
    assert role_of("http://127.0.0.1:8080/v1#rerank") is ModelRole.LLM
    assert role_of("http://127.0.0.1:8080/v1/rerank#bge") is ModelRole.RELEVANCE
    assert role_of("http://127.0.0.1:8080/rerank") is ModelRole.RELEVANCE


@pytest.mark.parametrize(
    ("owned_by", "found"),
    [
        pytest.param("llamacpp", ["/v1/rerank"], id="llama-server runs one model, which reranks"),
        pytest.param("someone", ["/v1#tiny", "/v1/rerank"], id="another may have both"),
    ],
)
def test_what_reranks_is_not_offered_to_write_where_one_model_runs(
    tmp_path: Path, owned_by: str, found: list[str]
) -> None:
    server = ModelServer(owned_by=owned_by, rerank="documents", score=lambda q, t: overlap(q, t) - 3.0)
    servers = ModelServers(CurrentSettings(load(data_dir=tmp_path)))
    with serving(server) as url:
        assert [model.name.removeprefix(url) for model in servers.discover(url)] == found


def test_another_computer_is_agreed_to_once_and_the_agreement_can_be_taken_back(tmp_path: Path) -> None:
    in_use = CurrentSettings(load(data_dir=tmp_path))
    servers = ModelServers(in_use)
    assert "is another computer" in servers.required_agreement(AWAY)
    with pytest.raises(ServerNotApproved, match=r"192\.168\.1\.20:8000 is another computer.*Each time you ask"):
        servers.check_allowed(AWAY, in_use.now)
    servers.agree(AWAY)
    assert servers.required_agreement(AWAY) == ""
    servers.check_allowed("http://192.168.1.20:8000/rerank", in_use.now)
    with pytest.raises(ServerNotApproved):
        servers.check_allowed("http://192.168.1.21:8000/v1", in_use.now)
    assert load(data_dir=tmp_path).agreed_servers == ("192.168.1.20:8000",)
    servers.disagree(AWAY)
    with pytest.raises(ServerNotApproved):
        servers.check_allowed(AWAY, in_use.now)


def test_documents_only_forbids_other_computers_whatever_was_agreed(tmp_path: Path) -> None:
    in_use = CurrentSettings(load(data_dir=tmp_path))
    servers = ModelServers(in_use)
    servers.agree(AWAY)
    confidential = in_use.now.under(Preset.DOCUMENTS_ONLY)
    with pytest.raises(ServerNotApproved, match="documents-only"):
        servers.check_allowed(AWAY, confidential)
    servers.check_allowed("http://127.0.0.1:11434/v1#llama3.2", confidential)


def test_a_key_is_for_one_host_and_port_and_for_this_user_alone(tmp_path: Path) -> None:
    address = parse_server(AWAY)
    server_address.store_key(address, " sk-one \n", tmp_path)
    assert stat.S_IMODE((tmp_path / server_address.KEYS_FILE).stat().st_mode) == 0o600
    assert server_address.read_key(address, tmp_path, {}) == "sk-one"
    assert server_address.read_key(parse_server("http://192.168.1.20:8001"), tmp_path, {}) is None
    told = {server_address.KEYS_VARIABLE: "gpu.lan:80=x 192.168.1.20:8000=sk-of=environment"}
    assert server_address.read_key(address, tmp_path, told) == "sk-of=environment"
    server_address.store_key(address, "", tmp_path)
    assert json.loads((tmp_path / server_address.KEYS_FILE).read_text()) == {}
    with pytest.raises(SettingsError, match="not a valid key"):
        server_address.store_key(address, "two words", tmp_path)
