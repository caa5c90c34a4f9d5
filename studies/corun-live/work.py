#!/usr/bin/env python3
"""A task of the pipeline in small: it reads, computes (it sleeps: a machine of two cores has nothing to
compute with for four nodes), writes, and removes what nobody needs any more.

    NAME [--read FILE[@K/N]...] [--seconds S] [--write FILE=BYTES...] [--remove FILE...]

NAME is a link to this file: processes are called as their stages. K/N is the K-th of N equal parts of a
file. With $PACE seconds are so many times as short. When it has done all, it adds a line to $CORUN_LOG:
name, folder, node, when it began and when it ended.
"""
import argparse
import os
import sys
import time
from pathlib import Path

BLOCK = 1 << 20


def read(told):
    """The file, or a part of it."""
    name, _, part = told.partition("@")
    number, parts = map(int, part.split("/")) if part else (1, 1)
    with open(name, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        at, end = (size * one // parts for one in (number - 1, number))
        file.seek(at)
        while at < end and (got := len(file.read(min(BLOCK, end - at)))):
            at += got


def write(told):
    """A new file of so many bytes."""
    name, size = told.rsplit("=", 1)
    with open(name, "wb", buffering=0) as file:
        left = int(size)
        while left > 0:
            left -= file.write(bytes(min(BLOCK, left)))


def main():
    began = time.time()
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for word in ("read", "write", "remove"):
        parser.add_argument(f"--{word}", action="extend", nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=0)
    arguments = parser.parse_args()
    for told in arguments.read:
        read(told)
    time.sleep(arguments.seconds / float(os.environ.get("PACE", "1")))
    for told in arguments.write:
        write(told)
    for name in arguments.remove:
        os.unlink(name)
    if log := os.environ.get("CORUN_LOG"):
        words = [Path(sys.argv[0]).name, os.getcwd(), os.environ.get("SLURMD_NODENAME", "-")]
        with open(log, "a", encoding="utf-8") as file:
            file.write("\t".join([*words, f"{began:.3f}", f"{time.time():.3f}"]) + "\n")


if __name__ == "__main__":
    main()
