"""What pipelines do to a storage, step by step: small files, one large, names, and promises.

    storage.py small|large|again|gone
"""
import os
import sys

SMALL, BLOCK, LARGE, TABLE = 120, bytes(range(256)) * 4096, 96, 24


def small():
    for number in range(SMALL):
        with open(f"small-{number}.part", "wb", buffering=0) as file:
            file.write(BLOCK[:3000])
        os.rename(f"small-{number}.part", f"small-{number}")
    for number in range(SMALL):
        assert not os.path.exists(f"absent-{number}")


def large():
    for name, blocks in (("large", LARGE), ("table", TABLE)):
        with open(name, "wb", buffering=0) as file:
            for _ in range(blocks):
                file.write(BLOCK)
            os.fsync(file.fileno())


def again():
    with open("large", "rb", buffering=0) as file:
        while file.read(len(BLOCK)):
            pass
    with open("table", "rb", buffering=0) as file:
        for number in range(100):
            place = number * 7919 % (TABLE * 256) * 4096
            assert os.pread(file.fileno(), 4096, place) == BLOCK[:4096]


def gone():
    for number in range(0, SMALL, 2):
        os.unlink(f"small-{number}")


{"small": small, "large": large, "again": again, "gone": gone}[sys.argv[1]]()
