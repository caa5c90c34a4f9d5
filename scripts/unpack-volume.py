#!/usr/bin/env python3
"""Unpacks a volume that was downloaded from its bucket, without Forebay.

    aws s3 sync s3://bucket/volume downloaded
    unpack-volume.py downloaded restored

FORMATS.md ("Volumes in a bucket") draws what is read here. Needs Python 3.9 and nothing else.
"""

import os
import shutil
import stat
import struct
import sys
import zlib
from pathlib import Path

HEAD = struct.Struct("<8sQIIIQI")
HEADER = 48
ROOT = 1


class Reader:
    """Numbers and texts as postcard writes them."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def text(self):
        length = self.number()
        self.at += length
        return bytes(self.data[self.at - length : self.at])

    def maybe(self, read):
        return read() if self.number() else None


class Tree:
    def __init__(self):
        self.kind = {ROOT: ("folder",)}
        self.attr, self.place, self.extended = {}, {}, {}
        self.names = {ROOT: {}}

    def apply(self, record):
        what, *fields = record
        if what == "file":
            ino, kind, attr = fields
            self.kind[ino], self.attr[ino] = kind, attr
            self.names.setdefault(ino, {})
        elif what == "bytes":
            self.place[fields[0]] = fields[1]
        elif what == "extended":
            ino, name, value = fields
            self.extended.setdefault(ino, {})[name] = value
        elif what == "name":
            folder, name, ino = fields
            self.names[folder][name] = ino
        elif what == "gone":
            self.names[fields[0]].pop(fields[1], None)


def kind_of(r):
    which = r.number()
    if which == 2:
        return ("link", r.text())
    if which == 3:
        return ("special", r.number(), r.number())
    return (("folder",), ("plain",))[which]


def place_of(r):
    which = r.number()
    if which == 0:
        return ("empty",)
    if which == 1:
        return ("packed", r.number(), r.number(), r.number(), r.number())
    return ("own", r.text().decode(), r.maybe(r.text), r.number())


def records(r, count):
    for _ in range(count):
        which = r.number()
        if which == 0:
            yield ("begin", r.text())
        elif which == 1:
            ino, kind = r.number(), kind_of(r)
            attr = (r.number(), r.number(), r.number(), r.signed(), r.number())
            yield ("file", ino, kind, attr)
        elif which == 2:
            yield ("bytes", r.number(), place_of(r))
        elif which == 3:
            yield ("extended", r.number(), r.text(), r.maybe(r.text))
        elif which == 4:
            yield ("name", r.number(), r.text(), r.number())
        elif which == 5:
            yield ("gone", r.number(), r.text())
        elif which == 6:
            yield ("cut",)
        else:
            sys.exit(f"a record of kind {which}: the volume is of a newer format")


def segment(path):
    """The records of one object of the log."""
    data = path.read_bytes()
    if len(data) < HEADER or data[:8] != b"FBYSEG\x01\0":
        sys.exit(f"{path}: it is no segment, or of a newer format")
    _, _, count, length, crc, _, head_crc = HEAD.unpack(data[: HEAD.size])
    body = data[HEADER : HEADER + length]
    if zlib.crc32(data[: HEAD.size - 4]) != head_crc or zlib.crc32(body) != crc:
        sys.exit(f"{path}: it is damaged")
    return list(records(Reader(body), count))


def read_tree(source):
    """All records up to the last cut."""
    tree, pending = Tree(), []

    def take(path):
        for record in segment(path):
            if record[0] == "begin":
                pending.clear()
                continue
            pending.append(record)
            if record[0] == "cut":
                for one in pending:
                    tree.apply(one)
                pending.clear()

    number = 0
    checkpoints = sorted((source / ".forebay/checkpoint").glob("?" * 16))
    if checkpoints:
        take(checkpoints[-1])
        number = int(checkpoints[-1].name, 16)
    while (path := source / ".forebay/log" / f"{number:016x}").exists():
        take(path)
        number += 1
    return tree


def content(source, place, to, name):
    if place[0] == "own":
        shutil.copyfile(source / place[1], to)
        if os.path.getsize(to) != place[3]:
            sys.exit(f"{name}: its object {place[1]} has another length")
        return
    data = b""
    if place[0] == "packed":
        _, number, at, length, crc = place
        with open(source / ".forebay/log" / f"{number:016x}", "rb") as file:
            head = HEAD.unpack(file.read(HEAD.size))
            file.seek(HEADER + head[3] + at)
            data = file.read(length)
        if len(data) != length or zlib.crc32(data) != crc:
            sys.exit(f"{name}: its bytes in segment {number:x} are damaged")
    with open(to, "wb") as file:
        file.write(data)


def make(source, tree, folder, to, made):
    for name, ino in sorted(tree.names[folder].items()):
        path = os.path.join(os.fsencode(to), name)
        kind = tree.kind[ino]
        if ino in made:
            os.link(made[ino], path, follow_symlinks=False)
            continue
        made[ino] = path
        if kind[0] == "folder":
            os.mkdir(path)
            make(source, tree, ino, path, made)
        elif kind[0] == "link":
            os.symlink(kind[1], path)
        elif kind[0] == "special":
            if not stat.S_ISFIFO(kind[1]):
                print(f"left out: {os.fsdecode(path)} is no file", file=sys.stderr)
                del made[ino]
                continue
            os.mkfifo(path)
        else:
            content(source, tree.place.get(ino, ("empty",)), path, os.fsdecode(path))
        dress(tree, ino, kind, path)


def dress(tree, ino, kind, path):
    """Owner, mode, attributes and time, as far as this user may set them."""
    mode, uid, gid, sec, nsec = tree.attr[ino]
    if os.geteuid() == 0:
        os.chown(path, uid, gid, follow_symlinks=False)
    if kind[0] == "link":
        return
    os.chmod(path, mode)
    for name, value in tree.extended.get(ino, {}).items():
        if value is not None:
            os.setxattr(path, name, value)
    os.utime(path, ns=(sec * 10**9 + nsec,) * 2)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, to = Path(sys.argv[1]), Path(sys.argv[2])
    to.mkdir(exist_ok=True)
    tree = read_tree(source)
    made = {}
    make(source, tree, ROOT, to, made)
    print(f"{len(made)} files and directories in {to}")


if __name__ == "__main__":
    main()
