#!/usr/bin/env python3
"""What an operation on a managed directory costs in requests of the kernel and in system calls of the
threads that serve them: a table in Markdown. Nothing is timed, so a busy machine does no harm.

    bench/requests.py [--forebay PATH] [--transport device,uring] [--variants root,user,packed,rules]
                      [--operations 300]

Root only; needs strace. io_uring needs /sys/module/fuse/parameters/enable_uring.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is done first, what is counted, and its name.
OPERATIONS = [("", "c", "create, write, close"), ("c", "s", "stat"), ("c", "o", "open, read, close"),
              ("c", "a", "open, append, close"), ("c", "u", "unlink"), ("", "l", "list 100 names")]
# In the managed directory: does each stage when a line comes, and says that it is done.
DRIVER = r"""
import os, sys
count, data = int(sys.argv[1]), b"x" * 300
def whole(name, flags, act):
    f = os.open(name, flags, 0o644); act(f); os.close(f)
acts = {
    "c": lambda n: whole(n, os.O_CREAT | os.O_EXCL | os.O_WRONLY, lambda f: os.write(f, data)),
    "s": os.stat,
    "o": lambda n: whole(n, os.O_RDONLY, lambda f: os.read(f, 300)),
    "a": lambda n: whole(n, os.O_WRONLY | os.O_APPEND, lambda f: os.write(f, data)),
    "u": os.unlink,
    "l": lambda n: os.listdir("listed"),
}
for stage in sys.argv[2]:
    sys.stdin.readline()
    for number in range(count):
        acts[stage]("file%06d" % number)
    print("done", flush=True)
sys.stdin.readline()
"""
RULE = '[[rule]]\nmatch = "**/file*"\nhome = "far"\nafter = "keep"\n'
OPEN_FUSE = 'mknod -m 666 "$0" c 10 229; mount --bind "$0" /dev/fuse; exec "$@"'
LAYOUTS = {"packed": RULE + 'layout = "packed"\n', "rules": RULE}
# Threads that serve requests: of the device, and of the queues of CPUs.
SERVES = re.compile(r"forebay-(c\d+-)?\d+$")


def daemon_of(place):
    """The process that serves the directory: it has the log's folder below the place's state."""
    for task in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environ = (task / "environ").read_bytes()
            names = [(t / "comm").read_text().strip() for t in (task / "task").iterdir()]
        except OSError:
            continue
        if f"XDG_STATE_HOME={place}/state".encode() in environ and "forebay-mount" in names:
            return int(task.name)
    sys.exit("requests: no daemon serves the directory")


def serving(pid):
    found = set()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            if SERVES.match((task / "comm").read_text().strip()):
                found.add(int(task.name))
        except OSError:
            pass
    return found


def run_stages(options, stages, variant, transport, counted):
    """Gives requests by kind of all stages, and system calls of the last one if `counted`."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="requests-", dir=options.work))
    try:
        for name in ("d", "state", "far", "d/listed"):
            (place / name).mkdir()
        for number in range(100):
            (place / "d" / "listed" / f"name{number}").touch()
        shutil.copy(options.forebay, place / "forebay")
        (place / "site.toml").write_text(f'[tier.far]\npath = "{place}/far"\nreach = "node"\n')
        (place / "rules.toml").write_text(LAYOUTS.get(variant, ""))
        command = [place / "forebay", "run", "-q", "-o", place / "out.run", "--transport", transport]
        if variant in LAYOUTS:
            command += ["--site", place / "site.toml", "--rules", place / "rules.toml"]
        command += ["--", "/usr/bin/python3", "-c", DRIVER, str(options.operations), stages]
        if variant == "user":
            subprocess.check_call(["chown", "-R", "65534:65534", place])
            # /dev/fuse is open to all there, as on most machines.
            command = ["unshare", "-m", "sh", "-c", OPEN_FUSE, place / "fuse", "setpriv", "--reuid",
                       "65534", "--regid", "65534", "--clear-groups"] + command
        os.chmod(place, 0o755)
        child = subprocess.Popen(command, cwd=place / "d", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True,
                                 env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": f"{place}/state",
                                      "HOME": str(place)})
        calls = collections.Counter()
        for number, _ in enumerate(stages):
            trace = None
            if counted and number == len(stages) - 1:
                time.sleep(0.5)         # closes that are told late
                pid = daemon_of(place)
                trace = subprocess.Popen(["strace", "-f", "-qq", "-e", "signal=none", "-o",
                                          place / "calls", "-p", str(pid)], stderr=subprocess.DEVNULL)
                time.sleep(0.5)         # until all threads are watched
            child.stdin.write("\n")
            child.stdin.flush()
            child.stdout.readline()
            if trace:
                time.sleep(0.3)
                threads = serving(pid)
                trace.terminate()
                trace.wait()
                for line in (place / "calls").read_text(errors="replace").splitlines():
                    parts = re.match(r"(\d+) +(\w+)\(", line)
                    if parts and int(parts[1]) in threads:
                        calls[parts[2]] += 1
        child.stdin.close()
        child.wait()
        run = sqlite3.connect(f"file:{place}/out.run?mode=ro", uri=True)
        requests = dict(run.execute("SELECT op, sum(count) FROM ops GROUP BY op"))
        return requests, calls
    finally:
        shutil.rmtree(place, ignore_errors=True)


def shares(counts, operations):
    """By kind, for one operation; what is rarer than each tenth is somebody else's."""
    kinds = sorted(counts.items(), key=lambda kind: -kind[1])
    return ", ".join(f"{name} {count / operations:.1f}" for name, count in kinds
                     if count / operations > 0.1)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--forebay", default=ROOT / "target" / "release" / "forebay")
    p.add_argument("--transport", default="device,uring")
    p.add_argument("--variants", default="root,user,packed,rules")
    p.add_argument("--operations", type=int, default=300)
    p.add_argument("--work", default="/var/tmp")
    options = p.parse_args()
    if os.geteuid() != 0 or not shutil.which("strace"):
        sys.exit("requests: needs root and strace\n  next: apt-get install strace, and run it as root")
    print("| directory | transport | operation | requests | system calls | requests by kind "
          "| system calls by kind |\n|---|---|---|--:|--:|---|---|")
    for variant in options.variants.split(","):
        for transport in options.transport.split(","):
            for before, counted, name in OPERATIONS:
                base = run_stages(options, before, variant, transport, False)[0]
                requests, calls = run_stages(options, before + counted, variant, transport, True)
                more = collections.Counter(requests)
                more.subtract(base)
                n = options.operations
                print(f"| {variant} | {transport} | {name} | {sum(more.values()) / n:.1f} "
                      f"| {sum(calls.values()) / n:.1f} | {shares(more, n)} | {shares(calls, n)} |",
                      flush=True)


if __name__ == "__main__":
    main()
