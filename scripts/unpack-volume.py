#!/usr/bin/env python3
"""Unpacks a volume that was downloaded from its bucket, without Forebay.

    aws s3 sync s3://bucket/volume downloaded
    unpack-volume.py downloaded restored

What is missing or damaged is told, and left out; all else is unpacked. Exit status 1 then.
docs/formats/bucket.md ("Volumes in a bucket") draws what is read here. Needs Python 3.9 and nothing else.
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
# Bytes of an object that have a checksum of their own.
BLOCK = 64 << 10
# A segment, as it speaks of itself.
HERE = 2**64 - 1


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


class Damaged(Exception):
    pass


class Tree:
    def __init__(self):
        self.kind = {ROOT: ("folder",)}
        self.attr, self.place, self.sums, self.extended = {}, {}, {}, {}
        self.names = {ROOT: {}}

    def apply(self, record):
        what, *fields = record
        if what == "file":
            ino, kind, attr = fields
            self.kind[ino], self.attr[ino] = kind, attr
            self.names.setdefault(ino, {})
        elif what == "bytes":
            self.place[fields[0]] = fields[1]
            self.sums.pop(fields[0], None)
        elif what == "sums":
            self.sums[fields[0]] = fields[1]
        elif what == "extended":
            ino, name, value = fields
            self.extended.setdefault(ino, {})[name] = value
        elif what == "name":
            folder, name, ino = fields
            if ino in self.kind:
                self.names.get(folder, {})[name] = ino
        elif what == "gone":
            self.names.get(fields[0], {}).pop(fields[1], None)


def kind_of(r):
    which = r.number()
    if which == 2:
        return ("link", r.text())
    if which == 3:
        return ("special", r.number(), r.number())
    return (("folder",), ("plain",))[which]


def place_of(r, here):
    which = r.number()
    if which == 0:
        return ("empty",)
    if which == 1:
        number, *rest = (r.number() for _ in range(4))
        return ("packed", here if number == HERE else number, *rest)
    return ("own", r.text().decode(), r.maybe(r.text), r.number())


def records(r, count, here):
    for _ in range(count):
        which = r.number()
        if which == 0:
            yield ("begin", r.text())
        elif which == 1:
            ino, kind = r.number(), kind_of(r)
            attr = (r.number(), r.number(), r.number(), r.signed(), r.number())
            yield ("file", ino, kind, attr)
        elif which == 2:
            yield ("bytes", r.number(), place_of(r, here))
        elif which == 3:
            yield ("extended", r.number(), r.text(), r.maybe(r.text))
        elif which == 4:
            yield ("name", r.number(), r.text(), r.number())
        elif which == 5:
            yield ("gone", r.number(), r.text())
        elif which == 6:
            yield ("cut",)
        elif which == 7:
            yield ("sums", r.number(), place_of(r, here))
        else:
            raise Damaged(f"a record of kind {which}: the volume is of a newer format")


def segment(path):
    """The records of one object of the log."""
    data = path.read_bytes()
    if len(data) < HEADER or data[:8] != b"FBYSEG\x01\0":
        raise Damaged(f"{path}: it is no segment, or of a newer format")
    _, number, count, length, crc, _, head_crc = HEAD.unpack(data[: HEAD.size])
    body = data[HEADER : HEADER + length]
    if zlib.crc32(data[: HEAD.size - 4]) != head_crc or zlib.crc32(body) != crc:
        raise Damaged(f"{path}: it is damaged")
    return list(records(Reader(body), count, number))


class Log:
    """All records up to the last cut."""

    def __init__(self, path):
        self.tree, self.pending, self.number = Tree(), [], 0
        if path:
            self.take(path)
            self.number = int(path.name, 16)

    def take(self, path):
        for record in segment(path):
            if record[0] == "begin":
                self.pending.clear()
                continue
            self.pending.append(record)
            if record[0] == "cut":
                for one in self.pending:
                    self.tree.apply(one)
                self.pending.clear()


def read_tree(source, complain):
    checkpoints = sorted((source / ".forebay/checkpoint").glob("?" * 16), reverse=True)
    for start in [*checkpoints, None]:
        try:
            log = Log(start)
            break
        except Damaged as why:
            complain(f"{why}; an earlier one is taken")
    segments = source / ".forebay/log"
    if start is None and not (segments / f"{0:016x}").exists():
        sys.exit(f"{source}: the log of no volume is in .forebay/log here")
    try:
        while (path := segments / f"{log.number:016x}").exists():
            log.take(path)
            log.number += 1
    except Damaged as why:
        complain(f"{why}; what it and later ones say is left out")
    if log.number <= max((int(path.name, 16) for path in segments.glob("?" * 16)), default=0):
        print(f"segments from {log.number:016x} on are not read", file=sys.stderr)
    return log.tree


def content(source, place, sums, to):
    if place[0] == "own":
        _, key, _, size = place
        try:
            shutil.copyfile(inside(source, key), to)
        except FileNotFoundError:
            raise Damaged(f"its object {key} is missing") from None
        if os.path.getsize(to) != size:
            length = os.path.getsize(to)
            os.unlink(to)
            raise Damaged(f"its object {key} has {length} bytes and should have {size}")
        if sums and not are_right(to, packed(source, sums)):
            os.unlink(to)
            raise Damaged(f"bytes of its object {key} are not those that were written")
        return
    data = packed(source, place) if place[0] == "packed" else b""
    with open(to, "wb") as file:
        file.write(data)


def are_right(path, sums):
    """Whether each block of a file has its checksum."""
    with open(path, "rb") as file:
        for (crc,) in struct.iter_unpack("<I", sums):
            if zlib.crc32(file.read(BLOCK)) != crc:
                return False
    return True


def packed(source, place):
    """Bytes that are in a segment."""
    _, number, at, length, crc = place
    try:
        with open(source / ".forebay/log" / f"{number:016x}", "rb") as file:
            head = HEAD.unpack(file.read(HEAD.size))
            file.seek(HEADER + head[3] + at)
            data = file.read(length)
    except (FileNotFoundError, struct.error):
        raise Damaged(f"segment {number:016x} is missing or too short") from None
    if len(data) != length or zlib.crc32(data) != crc:
        raise Damaged(f"its bytes in segment {number:016x} are damaged")
    return data


def inside(source, key):
    """Where an object is, and nothing else."""
    if key.startswith("/") or ".." in key.split("/"):
        raise Damaged(f"{key} is no object's name")
    return source / key


def make(source, tree, folder, to, made, complain):
    for name, ino in sorted(tree.names[folder].items()):
        path = os.path.join(os.fsencode(to), name)
        try:
            if name in (b"", b".", b"..") or b"/" in name:
                raise Damaged("that is no name")
            if ino in made:
                os.link(made[ino], path, follow_symlinks=False)
            elif one(source, tree, ino, path, made, complain):
                made[ino] = path
        except (Damaged, OSError) as why:
            complain(f"{os.fsdecode(path)}: {why}")


def one(source, tree, ino, path, made, complain):
    kind = tree.kind[ino]
    if kind[0] == "folder":
        os.mkdir(path)
        make(source, tree, ino, path, made, complain)
    elif kind[0] == "link":
        os.symlink(kind[1], path)
    elif kind[0] == "plain":
        content(source, tree.place.get(ino, ("empty",)), tree.sums.get(ino), path)
    elif stat.S_ISFIFO(kind[1]):
        os.mkfifo(path)
    else:
        print(f"left out: {os.fsdecode(path)} is a device or a socket", file=sys.stderr)
        return False
    dress(tree, ino, kind, path, complain)
    return True


def dress(tree, ino, kind, path, complain):
    """Owner, attributes, mode and time, as far as this user may set them."""
    mode, uid, gid, sec, nsec = tree.attr[ino]
    if os.geteuid() == 0:
        os.chown(path, uid, gid, follow_symlinks=False)
    if kind[0] != "link":
        for name, value in tree.extended.get(ino, {}).items():
            try:
                if value is not None:
                    os.setxattr(path, name, value)
            except OSError as why:
                complain(f"{os.fsdecode(path)}: attribute {os.fsdecode(name)}: {why}")
        os.chmod(path, mode)
    os.utime(path, ns=(sec * 10**9 + nsec,) * 2, follow_symlinks=False)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, to = Path(sys.argv[1]), Path(sys.argv[2])
    to.mkdir(exist_ok=True)
    if os.listdir(to):
        sys.exit(f"{to}: it is not empty")
    complaints, made = [], {}

    def complain(why):
        complaints.append(why)
        print(f"unpack-volume.py: {why}", file=sys.stderr)

    sys.setrecursionlimit(20_000)  # Directories may be deep.
    tree = read_tree(source, complain)
    make(source, tree, ROOT, to, made, complain)
    if ROOT in tree.attr:
        dress(tree, ROOT, ("folder",), os.fsencode(to), complain)
    print(f"{len(made)} files and directories in {to}")
    if complaints:
        sys.exit(f"unpack-volume.py: {len(complaints)} things are missing or damaged, see above")


if __name__ == "__main__":
    main()
