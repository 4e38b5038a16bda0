"""The entry point of reader processes: confine the process before it loads any parser."""

import sys

from localcrag.privacy.guard import guard
from localcrag.privacy.worker_process import confine

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.documents.readers.worker import main

    main(*sys.argv[1:])
