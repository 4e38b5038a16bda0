"""The way to the page of a localcrag in a container: a socket file, through which connections are carried.

localcrag listens on 127.0.0.1 of its container and nowhere else, and that container has no network that leads out.
Beside it runs `door.py inside FILE PORT COMMAND…`, which carries what comes through the file to that port; in a
container of its own, whose port the host publishes, `door.py outside PORT FILE`. Knows nothing of what it carries, and
needs Python alone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

PIECE = 65_536  # bytes
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def main() -> int:
    """Carry until stopped; return the exit status, which is the command's where there is one."""
    parser = argparse.ArgumentParser(description="Carry connections into or out of a container, through a file.")
    ends = parser.add_subparsers(dest="end", required=True)
    inside = ends.add_parser("inside")
    inside.add_argument("file", type=Path)
    inside.add_argument("port", type=int)
    inside.add_argument("command", nargs=argparse.REMAINDER)
    outside = ends.add_parser("outside")
    outside.add_argument("port", type=int)
    outside.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.end == "inside":
        return asyncio.run(carry_in(given.file, given.port, given.command))
    return asyncio.run(carry_out(given.port, given.file))


async def carry_in(file: Path, port: int, command: list[str]) -> int:
    """Run the command, and carry from the file to its port for as long as it runs; return its exit status."""
    file.unlink(missing_ok=True)  # of a container that was killed
    async with await asyncio.start_unix_server(to(lambda: asyncio.open_connection("127.0.0.1", port)), file):
        say(f"{file} leads to 127.0.0.1:{port}")
        program = await asyncio.create_subprocess_exec(*command)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, program.send_signal, number)
        status = await program.wait()
    return status if status >= 0 else 128 - status  # ended by a signal, as shells count it


async def carry_out(port: int, file: Path) -> int:
    """Carry from the port, on every address of this container, to the file; return when told to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with await asyncio.start_server(to(lambda: asyncio.open_unix_connection(file)), None, port):
        say(f"port {port} leads to {file}")
        await stopped.wait()
    return 0


def to(other_end: Callable[[], Awaitable[Connection]]) -> Callable[..., Awaitable[None]]:
    """Return what a server does with a connection: carry it to the other end, both ways; drop it where nobody is."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            there, back = await other_end()
            with contextlib.closing(back):
                await asyncio.gather(pour(reader, back), pour(there, writer))

    return carry


async def pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Write what comes, then say that no more will."""
    while piece := await source.read(PIECE):
        target.write(piece)
        await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()


def say(text: str) -> None:
    """Print to standard error, at once."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
