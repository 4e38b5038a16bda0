"""Take the screenshots of docs/screens: every state of the page, as its tests bring it about.

    .venv/bin/python scripts/make_screens.py [--from FOLDER]

Runs the browser tests, which takes about ten minutes; with --from, a folder that they have filled already
(`.artifacts/screens` after scripts/test.py). Pictures get 256 colours, a third of the bytes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
SCREENS = ROOT / "docs" / "screens"
TESTS = [f"tests/browser/test_{name}.py" for name in (
    "page", "page_consent", "page_language", "page_many", "page_privacy", "conflict_page", "learning_page",
    "threshold_page", "evaluation_report",
)]  # fmt: skip
COLOURS = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=Path, dest="folder", metavar="FOLDER")
    taken = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        if taken is None:
            taken = Path(temporary)
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "--screens",
                str(taken),
                *TESTS,
            ]
            subprocess.run(command, cwd=ROOT, check=True)
        for old in SCREENS.glob("*.png"):
            old.unlink()
        for path in sorted(taken.glob("*.png")):
            with Image.open(path) as picture:
                picture.convert("RGB").quantize(COLOURS).save(SCREENS / path.name, optimize=True)
    print(f"{len(list(SCREENS.glob('*.png')))} screenshots in {SCREENS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
