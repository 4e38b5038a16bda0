"""A network of its own for a program: nothing in it but this computer, and a cable on which every packet is counted.

`python -m tests.cut_off MODULE ARGUMENT…` runs `MODULE.main(cable, ARGUMENT…)` in a network namespace (Linux, unshare).
It has a default route and a name server, as a computer on a network has; both lead to the cable, and nobody answers.
"""

from __future__ import annotations

import importlib
import shutil
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import ROOT

HERE, ROUTER, NAMES, SEARCH = "10.77.0.2", "10.77.0.1", "10.77.0.53", "10.77.0.7"
"""Addresses: of this computer on the cable, of who would answer, and one more of this computer, as another's."""
SEARCH_NAME, HUB_NAME, STORAGE_NAME = "searx.house.example", "hub.house.example", "storage.house.example"
ETH_P_ALL, IPV4, ARP, IPV6 = 0x0003, 0x0800, 0x0806, 0x86DD
# What the system itself says on an IPv6 cable: neighbours, routers, groups (ICMPv6, and options before it).
SYSTEM_IPV6 = {58, 0}


@dataclass
class Cable:
    """Listens to what goes out."""

    listener: socket.socket

    def packets(self) -> list[str]:
        """Return what went out since it was asked last: protocol and destination of each packet."""
        found: list[str] = []
        while True:
            try:
                frame = self.listener.recv(65_535)
            except BlockingIOError:
                return found
            if told := _told(frame):
                found.append(told)


def _told(frame: bytes) -> str | None:
    (kind,) = struct.unpack_from("!H", frame, 12)
    if kind == IPV6:
        return None if frame[20] in SYSTEM_IPV6 else f"IPv6 to {socket.inet_ntop(socket.AF_INET6, frame[38:54])}"
    if kind == IPV4:
        return f"IPv4 to {socket.inet_ntop(socket.AF_INET, frame[30:34])}"
    return f"ARP for {socket.inet_ntop(socket.AF_INET, frame[38:42])}" if kind == ARP else f"protocol {kind:#06x}"


def run(module: str, *arguments: str, timeout: float = 400) -> str:
    """Run a module's `main` cut off; return what it printed. Fails with all that it said."""
    unshare = shutil.which("unshare")
    assert unshare, "unshare is missing: apt-get install util-linux"
    assert shutil.which("ip"), "ip is missing: apt-get install iproute2"
    command = [
        unshare,
        "--map-root-user",
        "--net",
        "--mount",
        sys.executable,
        "-m",
        "tests.support.cut_off",
        module,
        *arguments,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def _lay_cable(folder: Path) -> Cable:
    names = folder / "resolv.conf"
    names.write_text(f"nameserver {NAMES}\noptions timeout:1 attempts:1\n")
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{SEARCH} {SEARCH_NAME} {HUB_NAME} {STORAGE_NAME}\n")
    switch = folder / "nsswitch.conf"
    switch.write_text("hosts: files dns\n")
    commands = [
        "link set lo up",
        "link add out type veth peer name far",
        f"address add {HERE}/24 dev out",
        f"address add {SEARCH}/24 dev out",
        "link set out up",
        "link set far up",
        *(f"neighbour add {one} lladdr 02:00:00:00:00:01 dev out nud permanent" for one in (ROUTER, NAMES)),
        f"route add default via {ROUTER}",
    ]
    if Path("/proc/net/if_inet6").exists():
        commands += [
            "-6 address add fd77::2/64 dev out nodad",
            "-6 neighbour add fd77::1 lladdr 02:00:00:00:00:01 dev out nud permanent",
            "-6 route add default via fd77::1",
        ]
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True)
    for file in (names, hosts, switch):
        subprocess.run(["mount", "--bind", str(file), f"/etc/{file.name}"], check=True)
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    listener.bind(("out", ETH_P_ALL))
    listener.setblocking(False)
    return Cable(listener)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        cable = _lay_cable(Path(folder))
        importlib.import_module(sys.argv[1]).main(cable, *sys.argv[2:])
