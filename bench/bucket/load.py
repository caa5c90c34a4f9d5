#!/usr/bin/env python3
"""One piece of work on files, timed, as JSON on standard output.

    load.py make DIR FILES WRITERS      files of 300 bytes, each writer in a directory of its own
    load.py reread DIR FILES WRITERS    the same read by one reader, and compared
    load.py fsync DIR FILES CALLERS     so many files by each caller, each fsynced before it is closed
    load.py write FILE MIB              one after the other, in pieces of 1 MiB
    load.py pour FILE MIB               the same, all of its pieces alike
    load.py read FILE MIB               the same read, and its length compared
    load.py random FILE READS SEED      4 KiB each, at random
"""
import json
import os
import random
import statistics
import sys
import time

SMALL, PIECE, PAGE = 300, 1 << 20, 4096


def content(writer, number):
    return f"{writer:08}{number:08}".encode().ljust(SMALL, b".")


def at_once(count, work):
    """Runs it in so many processes that begin together; what each of them tells, and the seconds."""
    begin_read, begin_write = os.pipe()
    children = []
    for number in range(count):
        told_read, told_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(begin_write)
            os.read(begin_read, 1)
            os.write(told_write, json.dumps(work(number)).encode())
            os._exit(0)
        os.close(told_write)
        children.append((child, told_read))
    time.sleep(0.05)
    began = time.perf_counter()
    os.close(begin_write)
    statuses = [os.waitpid(child, 0)[1] for child, _ in children]
    seconds = time.perf_counter() - began
    if any(statuses):
        sys.exit("load.py: a writer failed")
    return [json.loads(os.read(told, 1 << 16)) for _, told in children], seconds


def make(folder, files, writers):
    each = files // writers
    for writer in range(writers):
        os.makedirs(f"{folder}/w{writer}")

    def work(writer):
        for number in range(each):
            file = os.open(f"{folder}/w{writer}/f{number:06}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            os.write(file, content(writer, number))
            os.close(file)
    return {"s": at_once(writers, work)[1]}


def reread(folder, files, writers):
    each = files // writers
    began = time.perf_counter()
    for writer in range(writers):
        for number in range(each):
            file = os.open(f"{folder}/w{writer}/f{number:06}", os.O_RDONLY)
            if os.read(file, SMALL + 1) != content(writer, number):
                sys.exit(f"load.py: w{writer}/f{number:06} is not what was written")
            os.close(file)
    return {"s": time.perf_counter() - began}


def fsync(folder, files, callers):
    os.makedirs(folder)

    def work(caller):
        took = []
        for number in range(files):
            file = os.open(f"{folder}/c{caller}-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            os.write(file, content(caller, number))
            began = time.perf_counter()
            os.fsync(file)
            took.append(round(time.perf_counter() - began, 7))
            os.close(file)
        return took
    told, seconds = at_once(callers, work)
    took = [one for caller in told for one in caller]
    return {"s": seconds, "median": statistics.median(took), "most": max(took), "count": len(took)}


def pour(path, mib):
    return write(path, mib, [b"forebay." * (PIECE // 8)] * 16)


def write(path, mib, pieces=None):
    pieces = pieces or [os.urandom(PIECE) for _ in range(16)]
    began = time.perf_counter()
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    for number in range(mib):
        os.write(file, pieces[number % 16])
    os.close(file)
    return {"s": time.perf_counter() - began}


def read(path, mib):
    came, buffer = 0, bytearray(PIECE)
    began = time.perf_counter()
    file = os.open(path, os.O_RDONLY)
    while count := os.readv(file, [buffer]):
        came += count
    os.close(file)
    if came != mib * PIECE:
        sys.exit(f"load.py: {came} bytes of {mib} MiB came")
    return {"s": time.perf_counter() - began}


def at_random(path, reads, seed):
    draw, took = random.Random(seed), []
    file = os.open(path, os.O_RDONLY)
    pages = os.fstat(file).st_size // PAGE
    for _ in range(reads):
        at = draw.randrange(pages) * PAGE
        began = time.perf_counter()
        if len(os.pread(file, PAGE, at)) != PAGE:
            sys.exit("load.py: fewer bytes came")
        took.append(time.perf_counter() - began)
    os.close(file)
    return {"s": sum(took), "median": statistics.median(took)}


WORK = {"make": make, "reread": reread, "fsync": fsync, "write": write, "pour": pour, "read": read, "random": at_random}

if __name__ == "__main__":
    name, place, *numbers = sys.argv[1:]
    print(json.dumps(WORK[name](place, *map(int, numbers))))
