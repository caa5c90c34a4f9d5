"""The S3 server, and s3fs and rclone over it, for as long as somebody needs them: mounted as their
documentation advises for a bucket that nobody else writes to, unmounted at the end, whatever happens.
"""
import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("s3fs", "rclone")
PATIENCE = 60


@dataclasses.dataclass(frozen=True)
class Mounts:
    """Where they are: a directory of each, the server, and where rclone tells of its queue."""

    directories: dict[str, Path]
    server: str
    queue: str


def environment():
    """Ours, without what would lead to another S3: credentials, certificates, settings, proxies."""
    kept = {name: value for name, value in os.environ.items()
            if not name.upper().startswith(("AWS", "RCLONE")) and not name.lower().endswith("_proxy")}
    return {**kept, "AWS_ACCESS_KEY_ID": "here", "AWS_SECRET_ACCESS_KEY": "here",
            "RCLONE_CONFIG": "/dev/null"}


def until(what, ready, child=None):
    """Waits for something to come true; it is an error if its process ends before."""
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end or child and child.poll() is not None:
            raise SystemExit(f"neighbours-live: {what} did not come up\n  where: {PATIENCE} s, exit status"
                             f" {child and child.poll()}\n  next:  its log says more")
        time.sleep(0.1)


@contextlib.contextmanager
def started(folder, name, command, **more):
    """A process in a group of its own, so that Ctrl-C is ours alone and it goes when we say so."""
    with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
        child = subprocess.Popen([str(word) for word in command], stderr=log, start_new_session=True,
                                 env=environment(), text=True, **{"stdout": log, **more})
    try:
        yield child
    finally:
        if child.stdin:
            child.stdin.close()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()


@contextlib.contextmanager
def mounted(folder, name, command, drained=lambda: True):
    """A mount; what it has not uploaded yet is waited for before it is taken away."""
    at = folder / name
    at.mkdir(parents=True, exist_ok=True)
    with started(folder, name, command) as child:
        try:
            until(f"the mount of {name} ({folder / name}.log)", at.is_mount, child)
            yield at
            until(f"the end of uploads of {name}", drained, child)
        finally:
            end = time.monotonic() + 10
            # Somebody may look into it for a moment longer; then it goes lazily.
            while at.is_mount():
                lazily = ["-z"] if time.monotonic() > end else []
                subprocess.run(["fusermount3", "-u", *lazily, str(at)], check=False,
                               stderr=subprocess.DEVNULL)
                time.sleep(0.2)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def asked(address, post=False):
    """What a server here answers, as data; proxies are for others."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, data=b"" if post else None, timeout=PATIENCE) as answer:
        return json.load(answer)


def queued(queue):
    """How many files rclone has not uploaded yet."""
    try:
        cache = asked(queue, post=True)["diskCache"]
    except urllib.error.URLError:
        return 0
    return cache["uploadsInProgress"] + cache["uploadsQueued"]


def requests(server):
    """By bucket and kind, since the server began."""
    return asked(f"{server}/_requests")


@contextlib.contextmanager
def all_of_them(folder, python, latency):
    """The server and both mounts."""
    with contextlib.ExitStack() as stack:
        words = [python, HERE / "server.py", "--latency", latency, *NAMES]
        server = stack.enter_context(started(folder, "server", words, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE))
        address = server.stdout.readline().strip()
        if not address:
            raise SystemExit(f"neighbours-live: no S3 server\n  where: {folder}/server.log\n"
                             "  next:  scripts/setup-neighbours.sh installs what it needs")
        # A bucket of its own: directories are "dir/" objects and what is missing stays missing, so
        # the manual's options against needless requests apply.
        s3fs = ["s3fs", "s3fs", folder / "s3fs", "-f", "-o", f"url={address},use_path_request_style",
                "-o", f"use_cache={folder}/s3fs-cache,enable_noobj_cache,notsup_compat_dir"]
        control = f"127.0.0.1:{free_port()}"
        rclone = ["rclone", "mount", ":s3:rclone", folder / "rclone", "--s3-provider", "Other",
                  "--s3-endpoint", address, "--s3-env-auth", "--vfs-cache-mode", "full", "--cache-dir",
                  folder / "rclone-cache", "--rc", "--rc-no-auth", "--rc-addr", control]
        queue = f"http://{control}/vfs/stats"
        directories = {"s3fs": stack.enter_context(mounted(folder, "s3fs", s3fs)),
                       "rclone": stack.enter_context(
                           mounted(folder, "rclone", rclone, lambda: queued(queue) == 0))}
        yield Mounts(directories, address, queue)
