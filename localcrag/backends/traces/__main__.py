"""The process that reads the data folder, confined: it can change nothing and connect to nothing."""

from localcrag.backends.processes.confine import confine

if __name__ == "__main__":
    confine()
    from localcrag.backends.traces.searching import main

    main()
