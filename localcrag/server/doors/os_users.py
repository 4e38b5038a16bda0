"""Other users of the same computer, who can reach 127.0.0.1 as well: told apart on Linux.

They are told apart where the system says whose a connection is, which is on Linux. It answers that over a netlink
socket (sock_diag(7)), about one connection, within some 20 microseconds.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from functools import cache

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLMSG_ERROR = 4, 20, 1, 2
TCP_ESTABLISHED = 1
ROOT = 0
"""May look into everything anyway; what forwards a port from elsewhere (WSL, containers) runs as root, too."""
_HEADER, _REQUEST, _NO_COOKIE = (
    struct.Struct("=IHHII"),
    struct.Struct("=BBBBI"),
    struct.pack("=III", 0, ~0 & 0xFFFFFFFF, ~0 & 0xFFFFFFFF),
)
_IDENTITY = struct.Struct("!HH16s16s")
_STATE_AT, _OWNER_AT = _HEADER.size + 1, _HEADER.size + 4 + 48 + 12
"""Where the answer (struct inet_diag_msg) has the state and the owner."""
End = tuple[str, int]


def is_neighbour(peer: End, own: End) -> bool:
    """Return whether the connection from `peer` to `own` is another user's. False where the system does not say."""
    if ":" in peer[0] or not is_told():
        return False
    return not _is_ours(peer, own)


@cache
def is_told() -> bool:
    """Return whether the system says whose a connection is: it is asked about one of our own.

    Not on other systems than Linux, nor by a kernel without that part, nor in some sandboxes.
    """
    if sys.platform != "linux":
        return False
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as mine:
        return _is_ours(mine.getsockname(), server.getsockname())


def _is_ours(peer: End, own: End) -> bool:
    try:
        answer = _asked(peer, own)
    except OSError:
        return False
    if _HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
        return False  # Nobody's any more: its answer would go nowhere, and what it asks for could be anybody's wish.
    (owner,) = struct.unpack_from("=I", answer, _OWNER_AT)
    # A connection that is being closed is said to be root's, whoever began it.
    return owner in {os.getuid(), ROOT} and answer[_STATE_AT] == TCP_ESTABLISHED


def _asked(peer: End, own: End) -> bytes:
    ends = _IDENTITY.pack(peer[1], own[1], socket.inet_aton(peer[0]), socket.inet_aton(own[0]))
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as system:
        system.settimeout(1)
        system.send(_HEADER.pack(_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + request)
        return system.recv(4096)
