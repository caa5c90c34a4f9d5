#!/usr/bin/env python3
"""Makes files of less than 500 bytes, as a workflow engine does: a directory for each task, a few
files in it, one after another, and reads all of them again. It ends in an error if one is not whole.

    small.py [--tasks 24]
"""
import argparse
import sys
from pathlib import Path

FILES = {".command.run": 480, ".command.sh": 120, ".command.begin": 1, ".command.log": 300, ".exitcode": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tasks", type=int, default=24)
    tasks = range(parser.parse_args().tasks)
    for task in tasks:
        folder = Path(f"work/{task:02x}")
        folder.mkdir(parents=True)
        for name, size in FILES.items():
            (folder / name).write_bytes(bytes([task % 256]) * size)
    for task in tasks:
        for name, size in FILES.items():
            if Path(f"work/{task:02x}", name).read_bytes() != bytes([task % 256]) * size:
                sys.exit(f"work/{task:02x}/{name} is not what was written")


if __name__ == "__main__":
    main()
