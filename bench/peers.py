#!/usr/bin/env python3
"""Nodes that read one file of a bucket at the same time, alone and as peers: bytes from the bucket, and
how fast each node reads. Prints a table (Markdown); the last column says whether the goal is met.

    bench/peers.py [--mib 1024] [--nodes 4] [--repeats 3] [--latency 20] [--rate 100] [--json FILE]

The bucket is in an S3 server on this machine (crates/objstore/examples/s3_memory): each answer comes
--latency ms after its request, and one connection gives --rate MB/s. Nodes are mounts with directories
and addresses (127.0.0.N) of their own, so all of them share this machine's processors and disk: a node
among four is slower than one alone for that reason, too. So the rate of four peers is told beside that
of four nodes without peers as well. In each repeat all take turns in a drawn order; medians.
Nothing is read twice: each turn mounts anew, with empty directories.

FOREBAY=path   the binary under test (default target/release/forebay); the server's is examples/s3_memory
               beside it, or in target/release
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "bucket"))
from ground import Server, run, until  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", "target")).absolute()
FOREBAY = Path(os.environ.get("FOREBAY", TARGET / "release/forebay")).absolute()
# What the issue asks: bytes from the bucket in times of the file's, and a node's rate in times of
# that of one node alone.
BYTES, RATE = 1.1, 0.8
URL = "s3://bench/refs"


def read_together(points):
    """Seconds that each node takes for the file."""
    began = time.monotonic()
    readers = [subprocess.Popen(["cat", point / "reference"], stdout=subprocess.DEVNULL) for point in points]
    took = [None] * len(readers)
    while None in took:
        for number, reader in enumerate(readers):
            if took[number] is None and reader.poll() is not None:
                if reader.returncode:
                    raise RuntimeError(f"node {number}: {reader.returncode}")
                took[number] = time.monotonic() - began
        time.sleep(0.005)
    return took


def turn(work, server, env, count, shared, mib):
    """So many nodes read it; bytes that the bucket gave, in times of the file's, and the slowest rate."""
    token = work / "token"
    token.touch(mode=0o600)
    token.write_text("0123456789abcdef" * 2)
    addresses = [f"127.77.0.{number + 1}:7420" for number in range(count)]
    points = []
    try:
        for number, address in enumerate(addresses):
            point = work / f"node{number}"
            point.mkdir()
            peers = ["--peers", ",".join(addresses), "--peer-listen", address, "--peer-token", token]
            run(FOREBAY, "mount", "--read-only", "--state", work / f"state{number}",
                *(peers if shared else []), URL, point, env=env)
            points.append(point)
        before = server.counted()["sent"]
        took = read_together(points)
        sent = server.counted()["sent"] - before
    finally:
        for point in points:
            run(FOREBAY, "unmount", point, env=env)
        for number in range(count):
            shutil.rmtree(work / f"node{number}", ignore_errors=True)
            shutil.rmtree(work / f"state{number}", ignore_errors=True)
    return sent / (mib << 20), mib / max(took)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latency", type=float, default=20)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--json", type=Path)
    wanted = parser.parse_args()
    # On a disk: a directory in memory would leave out what keeping parts costs.
    work = Path(tempfile.mkdtemp(prefix="forebay-peers-", dir=TARGET if TARGET.is_dir() else "."))
    beside = FOREBAY.parent / "examples/s3_memory"
    shutil.copy(beside if beside.exists() else TARGET / "release/examples/s3_memory", work / "s3_memory")
    server = Server(work, wanted.latency, "--rate", str(wanted.rate))
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith("AWS")}
    env = {**kept, **server.settings, "XDG_STATE_HOME": str(work / "states")}
    try:
        make(work, env, wanted.mib)
        rows = {"one node": (1, False), f"{wanted.nodes} nodes": (wanted.nodes, False),
                f"{wanted.nodes} peers": (wanted.nodes, True)}
        measured = {name: [] for name in rows}
        for _ in range(wanted.repeats):
            for name in random.sample(list(rows), len(rows)):
                measured[name].append(turn(work, server, env, *rows[name], wanted.mib))
        tell(wanted, measured)
    finally:
        server.child.stdin.close()
        shutil.rmtree(work, ignore_errors=True)


def make(work, env, mib):
    """The volume, with one file of bytes drawn by lot."""
    at = work / "writer"
    at.mkdir()
    run(FOREBAY, "mount", "--state", work / "written", URL, at, env=env)
    until("the mount", at.is_mount)
    with open(at / "reference", "wb") as file:
        for _ in range(mib):
            file.write(random.randbytes(1 << 20))
    run(FOREBAY, "unmount", at, env=env)
    shutil.rmtree(work / "written")


def tell(wanted, measured):
    print(f"{wanted.mib} MiB, {wanted.repeats} repeats, answers after {wanted.latency:g} ms, "
          f"{wanted.rate:g} MB/s a connection\n")
    print("| | bytes from the bucket, times the file | MiB/s of the slowest node | of one node | goal |")
    print("|---|---|---|---|---|")
    alone = [rate for _, rate in measured["one node"]]
    for name, turns in measured.items():
        # Ratios are within a repeat.
        ratio = statistics.median(rate / one for (_, rate), one in zip(turns, alone))
        sent = statistics.median(sent for sent, _ in turns)
        goal = ""
        if name.endswith("peers"):
            goal = "met" if sent <= BYTES and ratio >= RATE else f"missed: {BYTES}, {RATE}"
        rate = statistics.median(rate for _, rate in turns)
        print(f"| {name} | {sent:.2f} | {rate:.0f} | {ratio:.2f} | {goal} |")
    if wanted.json:
        wanted.json.write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
