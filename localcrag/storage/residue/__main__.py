"""The process that reads the data folder, confined: it can change nothing and connect to nothing."""

from localcrag.privacy.guard import guard
from localcrag.privacy.worker_process import confine

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.storage.residue.worker import main

    main()
