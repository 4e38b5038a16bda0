"""The desktop entry on macOS: an app bundle compiled by osacompile, which receives files as events."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localcrag.app.desktop.entry import FILE_TYPES, NAME, Commands, icon_images
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import allow_egress

IDENTIFIER = "localcrag.desktop"
ICNS_SIZES = (16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class MacEntry:
    """The app bundle in `applications`, the user's folder for applications."""

    applications: Path

    def install(self, commands: Commands) -> Sequence[Path]:
        """Compile the bundle and register the files that it opens."""
        self.remove()
        self.applications.mkdir(parents=True, exist_ok=True)
        with allow_egress(Purpose.NONE, programs=True):
            _run("osacompile", "-o", str(self._bundle), "-e", script(commands))
            complete_bundle(self._bundle)
            # The content has changed since osacompile signed it, so it is signed again.
            _run("codesign", "--force", "--sign", "-", str(self._bundle))
        return [self._bundle]

    def remove(self) -> Sequence[Path]:
        """Remove the bundle."""
        there = [self._bundle] if self._bundle.exists() else []
        shutil.rmtree(self._bundle, ignore_errors=True)
        return there

    @property
    def _bundle(self) -> Path:
        return self.applications / f"{NAME}.app"


def script(commands: Commands) -> str:
    """Return the AppleScript of the bundle: it starts localcrag, with the files if any, and quits."""
    start = shlex.join(commands.opens).replace("\\", "\\\\").replace('"', '\\"')
    return f"""\
on begin(given)
    do shell script "{start}" & given & " >/dev/null 2>&1 &"
end begin
on run
    begin("")
end run
on open given
    set said to ""
    repeat with one in given
        set said to said & " " & quoted form of POSIX path of one
    end repeat
    begin(said)
end open
"""


def complete_bundle(bundle: Path) -> None:
    """Set the icon, the name and the file types of a compiled bundle."""
    contents = bundle / "Contents"
    about = contents / "Info.plist"
    properties: dict[str, Any] = plistlib.loads(about.read_bytes())
    properties |= {
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleName": NAME,
        "CFBundleIconFile": NAME,
        # The script has no window; only the browser's window should appear in the Dock.
        "LSUIElement": True,
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": media_type,
                "CFBundleTypeRole": "Viewer",
                "CFBundleTypeExtensions": list(ends),
                "CFBundleTypeMIMETypes": [media_type],
                # It is listed under “Open with”, but never as the default.
                "LSHandlerRank": "Alternate",
            }
            for media_type, ends in FILE_TYPES.items()
        ],
    }
    # An icon name set by osacompile would take precedence over localcrag's icon.
    properties.pop("CFBundleIconName", None)
    about.write_bytes(plistlib.dumps(properties))
    drawn = icon_images(ICNS_SIZES)
    drawn[-1].save(contents / "Resources" / f"{NAME}.icns", append_images=drawn[:-1])


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
