"""The process that reads the data folder, confined: it can change nothing and connect to nothing."""

from localcrag.backends.processes.confine import confine
from localcrag.privacy.guard import guard

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.backends.traces.searching import main

    main()
