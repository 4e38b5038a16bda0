"""Start the process that searches the data folder; it is confined, so it cannot write or connect."""

from localcrag.privacy.guard import guard
from localcrag.privacy.worker_process import confine

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.storage.residue.worker import main

    main()
