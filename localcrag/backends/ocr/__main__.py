"""The process of text recognition: confined before it loads anything that reads pictures."""

from localcrag.backends.processes.confine import confine
from localcrag.privacy.guard import guard

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.backends.ocr.answering import main

    main()
