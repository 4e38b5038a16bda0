"""`python -m localcrag` is `localcrag`."""

from __future__ import annotations

import sys

from localcrag.interfaces.cli.main import main

sys.exit(main())
