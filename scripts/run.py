"""Set localcrag up if necessary, and open it: python3 scripts/run.py [--port N] [--no-browser] [--data-dir DIR]."""

import argparse
import os
import subprocess
import sys

from bootstrap import set_up_or_exit
from setup_steps import PYTHON, ROOT


def main() -> int:
    """Check the arguments, set localcrag up, which can take minutes, and start app.py in that environment."""
    parser = argparse.ArgumentParser(description="Set localcrag up if necessary, and open it in the browser.")
    parser.add_argument("--port", type=int, metavar="N", help="port on 127.0.0.1")
    parser.add_argument("--host", metavar="ADDRESS", help="only 127.0.0.1 is allowed; other addresses are refused")
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    parser.add_argument("--data-dir", metavar="DIR", help="folder for documents, index and settings")
    parser.add_argument("more", nargs="*", metavar="-- MORE", help="more arguments for app.py")
    given = parser.parse_args()
    set_up_or_exit("run.txt")

    command = [str(PYTHON), str(ROOT / "app.py"), *given.more]
    command += ["--port", str(given.port)] if given.port is not None else []
    command += ["--host", given.host] if given.host else []
    command += ["--no-browser"] if given.no_browser else []
    command += ["--data-dir", given.data_dir] if given.data_dir else []
    sys.stdout.flush()
    if os.name != "nt":  # on Windows, Ctrl-C in the console does not reach a program that exec started
        os.execv(command[0], command)  # noqa: S606 - our own program, no shell
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
