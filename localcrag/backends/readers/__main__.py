"""The reader process: confined before it loads anything that parses."""

import sys

from localcrag.backends.processes.confine import confine
from localcrag.privacy.guard import guard

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.backends.readers.answering import main

    main(*sys.argv[1:])
