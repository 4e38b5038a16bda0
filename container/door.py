"""Forward connections to a localcrag in a container without a network, through a Unix socket file.

localcrag listens only on 127.0.0.1 of its container, and that container has no network that leads out. In it,
`door.py inside FILE PORT COMMAND…` runs localcrag, and forwards connections from the socket file to its port. In a
second container, whose port the host publishes, `door.py outside PORT FILE` forwards connections from that port to the
socket file. The script does not look at the data, and needs only Python.
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
    """Forward connections until stopped; return the exit status, which is the command's if there is one."""
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
    """Run the command, and forward connections from the socket file to its port; return its exit status."""
    file.unlink(missing_ok=True)  # left by a container that was killed
    async with await asyncio.start_unix_server(to(lambda: asyncio.open_connection("127.0.0.1", port)), file):
        say(f"{file} leads to 127.0.0.1:{port}")
        program = await asyncio.create_subprocess_exec(*command)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, program.send_signal, number)
        status = await program.wait()
    return status if status >= 0 else 128 - status  # if a signal ended it, shells return 128 plus its number


async def carry_out(port: int, file: Path) -> int:
    """Forward connections from the port, on every address of this container, to the socket file until stopped."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with await asyncio.start_server(to(lambda: asyncio.open_unix_connection(file)), None, port):
        say(f"port {port} leads to {file}")
        await stopped.wait()
    return 0


def to(other_end: Callable[[], Awaitable[Connection]]) -> Callable[..., Awaitable[None]]:
    """Return a handler that forwards a connection to the other end in both directions; it drops it on failure."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            there, back = await other_end()
            with contextlib.closing(back):
                await asyncio.gather(pour(reader, back), pour(there, writer))

    return carry


async def pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy all data from `source` to `target`, then close that direction of the connection."""
    while piece := await source.read(PIECE):
        target.write(piece)
        await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()


def say(text: str) -> None:
    """Print to standard error without buffering."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
