"""Take the screenshots in docs/screens, which README.md and docs/ show, by running browser tests.

    .venv/bin/python scripts/make_screens.py [--from FOLDER]

The tests take some minutes. With --from, it uses a folder that the tests have filled before (`.artifacts/screens`)
instead of running them. It removes pictures that no page shows, and reduces the others to 256 colours, which makes the
files a third as large.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
SCREENS = ROOT / "docs" / "screens"
TESTS = [
    "tests/interfaces/page/chat",
    "tests/interfaces/page/settings/test_language.py",
    "tests/interfaces/page/test_document_list.py",
    "tests/interfaces/page/test_first_start.py",
    "tests/interfaces/page/test_page.py",
    "tests/app/desktop/test_desktop_window.py",
]
COLOURS = 256


def shown() -> set[str]:
    """Return the file names of the pictures that README.md and docs/ show."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return {name for page in pages for name in re.findall(r"screens/([\w-]+\.png)\)", page.read_text("utf-8"))}


def main() -> int:
    """Take the screenshots; return 1 if the tests did not take one that a page shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=Path, dest="folder", metavar="FOLDER")
    taken = parser.parse_args().folder
    names = shown()
    with tempfile.TemporaryDirectory() as temporary:
        if taken is None:
            taken = Path(temporary)
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-m", "browser", "--screens", str(taken), *TESTS],
                cwd=ROOT,
                check=True,
            )
        missing = sorted(name for name in names if not (taken / name).is_file())
        for name in sorted(names.difference(missing)):
            with Image.open(taken / name) as picture:
                picture.convert("RGB").quantize(COLOURS).save(SCREENS / name, optimize=True)
    for old in SCREENS.glob("*.png"):
        if old.name not in names:
            old.unlink()
    print(f"{len(names) - len(missing)} screenshots in {SCREENS.relative_to(ROOT)}")
    if missing:
        print(f"The tests took none of: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
