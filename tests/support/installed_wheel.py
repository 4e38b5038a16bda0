"""The wheel of a package that is installed here: its files, packed again as they were."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

OF_INSTALLING = ("INSTALLER", "REQUESTED", "direct_url.json")


def wheel_of(package: str, folder: Path) -> Path:
    """Write the wheel into `folder`, and an index page that names it; return the wheel."""
    installed = distribution(package)
    (tag,) = [line.split()[1] for line in (installed.read_text("WHEEL") or "").splitlines() if line.startswith("Tag:")]
    folder.mkdir(parents=True)
    wheel = folder / f"{package.replace('-', '_')}-{installed.version}-{tag}.whl"
    with ZipFile(wheel, "w") as packed:
        for file in installed.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts and file.name not in OF_INSTALLING:
                packed.write(str(file.locate()), str(file))
    (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', "utf-8")
    return wheel
