"""The entry point of text recognition: confines itself before it loads any code that reads pictures."""

from localcrag.privacy.guard import guard
from localcrag.privacy.worker_process import confine

if __name__ == "__main__":
    guard()
    confine()
    from localcrag.documents.ocr.worker import main

    main()
