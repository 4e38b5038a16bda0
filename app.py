"""Start localcrag's web interface: `python app.py` is the same as `localcrag ui`."""

from __future__ import annotations

import sys

from localcrag.interfaces.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ui", *sys.argv[1:]]))
