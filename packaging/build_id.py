#!/usr/bin/env python3
"""Gives an executable a build id that two builds of one source share:

    packaging/build_id.py islet

A linker computes the id from the whole file. Debug information differs from build to build, because it has the times of
files in it. This id is computed from what is loaded when the program runs.
"""

import hashlib
import struct
import sys

ALLOCATED = 2
NO_BITS = 8
NAME = ".note.gnu.build-id"


def sections(data):
    """Name, flags, type, offset and size of each section of a 64-bit little-endian file (ELF)."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("build_id: this is no 64-bit little-endian ELF file")
    start = struct.unpack_from("<Q", data, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", data, start + number * size) for number in range(count)]
    texts = rows[names][4]
    for name, kind, flags, _, offset, length in rows:
        end = data.index(b"\0", texts + name)
        yield data[texts + name:end].decode(), flags, kind, offset, length


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        data = file.read()
    loaded, note = hashlib.sha1(), None
    for name, flags, kind, offset, length in sections(data):
        if name == NAME:
            note = (offset, length)
        elif flags & ALLOCATED and kind != NO_BITS:
            loaded.update(data[offset:offset + length])
    # The note's head and its name, `GNU`, take 16 bytes, and the id is a SHA-1.
    if note is None or note[1] != 36:
        raise SystemExit(f"build_id: {path} has no build id of 20 bytes")
    with open(path, "r+b") as file:
        file.seek(note[0] + 16)
        file.write(loaded.digest())


if __name__ == "__main__":
    main()
