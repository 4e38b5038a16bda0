"""Compound files (OLE) made from scratch: folders and streams within one file, as [MS-CFB] has them."""

from __future__ import annotations

import struct

Tree = dict[str, "bytes | Tree"]
"""Folders and streams by their names."""
SECTOR, SMALL, SMALLER_THAN = 512, 64, 4096
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
NONE = 0xFFFFFFFF
STREAM, FOLDER, ROOT = 2, 1, 5


def compound(tree: Tree) -> bytes:
    """Return a compound file of version 3 that holds these folders and streams."""
    return _Written(tree).file()


class _Written:
    def __init__(self, tree: Tree) -> None:
        self._sectors: list[bytes] = []
        self._fat: list[int] = []
        self._small, self._small_fat = bytearray(), list[int]()
        self._entries: list[bytes] = [b""]
        first = self._folder(tree)
        small_at = self._put(bytes(self._small))
        self._entries[0] = _entry("Root Entry", ROOT, NONE, NONE, first, small_at, len(self._small))
        self._directory = self._put(b"".join(self._entries))
        self._small_fat_at = self._put(b"".join(struct.pack("<I", one) for one in self._small_fat), b"\xff")
        self._small_fat_sectors = -(-len(self._small_fat) * 4 // SECTOR)

    def file(self) -> bytes:
        """Return header, sectors, and behind them the table of what follows which."""
        count = 0
        while count * SECTOR // 4 < len(self._fat) + count:
            count += 1
        at = len(self._sectors)
        table = [*self._fat, *[FAT] * count]
        table += [FREE] * (count * SECTOR // 4 - len(table))
        places = [*range(at, at + count)] + [FREE] * (109 - count)
        head = struct.pack(
            "<8s16sHHHHHHLLLLLLLLLL", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", bytes(16), 62, 3, 0xFFFE, 9, 6, 0, 0, 0,
            count, self._directory, 0, SMALLER_THAN, self._small_fat_at, self._small_fat_sectors, END, 0,
        )  # fmt: skip
        return head + struct.pack("<109I", *places) + b"".join(self._sectors) + struct.pack(f"<{len(table)}I", *table)

    def _put(self, data: bytes, fill: bytes = b"\0") -> int:
        """Write into sectors, one behind the other; return the first."""
        if not data:
            return END
        first, count = len(self._sectors), -(-len(data) // SECTOR)
        data = data.ljust(count * SECTOR, fill)
        self._sectors += [data[start : start + SECTOR] for start in range(0, len(data), SECTOR)]
        self._fat += [*range(first + 1, first + count), END]
        return first

    def _put_small(self, data: bytes) -> int:
        if not data:
            return END
        first, count = len(self._small_fat), -(-len(data) // SMALL)
        self._small += data.ljust(count * SMALL, b"\0")
        self._small_fat += [*range(first + 1, first + count), END]
        return first

    def _folder(self, tree: Tree) -> int:
        """Write the entries of a folder as a tree that is searched by halves; return its root."""
        names = sorted(tree, key=lambda name: (len(name), name.upper()))

        def half(low: int, high: int) -> int:
            if low == high:
                return NONE
            middle = (low + high) // 2
            own = len(self._entries)
            self._entries.append(b"")
            left, right = half(low, middle), half(middle + 1, high)
            inside = tree[names[middle]]
            if isinstance(inside, bytes):
                at = self._put_small(inside) if len(inside) < SMALLER_THAN else self._put(inside)
                self._entries[own] = _entry(names[middle], STREAM, left, right, NONE, at, len(inside))
            else:
                child = self._folder(inside)
                self._entries[own] = _entry(names[middle], FOLDER, left, right, child, 0, 0)
            return own

        return half(0, len(names))


def _entry(name: str, kind: int, left: int, right: int, child: int, at: int, size: int) -> bytes:  # noqa: PLR0917 - as in the file
    encoded = name.encode("utf-16-le")
    about = struct.pack("<HBBIII", len(encoded) + 2, kind, 1, left, right, child)
    return encoded.ljust(64, b"\0") + about + bytes(36) + struct.pack("<IQ", at, size)
