"""Run the command line: `python -m localcrag` is the same as `localcrag`."""

from __future__ import annotations

import sys

from localcrag.interfaces.cli.main import main

sys.exit(main())
