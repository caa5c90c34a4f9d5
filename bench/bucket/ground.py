"""What is measured: an ext4 of its own, S3 servers, and what can be mounted over a bucket of one."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

PATIENCE = 300
IMAGE = 8 << 30
EAGER = "lazy_itable_init=0,lazy_journal_init=0"


def run(*words, **more):
    """A command that has to end well; what it says."""
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.returncode}: {done.stderr.strip() or done.stdout}")
    return done.stdout


def until(what, ready):
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)


def ground(work):
    """An ext4 with a journal for files on this machine, as in bench/src/run_directories.rs."""
    local = work / "local"
    local.mkdir()
    image = work / "image"
    with open(image, "wb") as file:
        file.truncate(IMAGE)
    run("mkfs.ext4", "-q", "-F", "-J", "size=128", "-N", "500000", "-E", EAGER, image)
    run("mount", "-o", "loop,relatime", image, local)
    image.unlink()
    return local


class Server:
    """An S3 server whose answers take so many ms."""

    def __init__(self, work, latency, *more):
        words = [work / "s3_memory", "--latency", str(latency), *more]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.settings = json.loads(self.child.stdout.readline())

    @contextlib.contextmanager
    def away(self):
        """It answers nobody meanwhile."""
        self.child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.child.send_signal(signal.SIGCONT)

    def counted(self, word="count"):
        """Requests, bytes received and bytes sent so far."""
        self.child.stdin.write(f"{word}\n")
        self.child.stdin.flush()
        kinds = json.loads(self.child.stdout.readline())
        return {"kinds": {kind: counts[0] for kind, counts in kinds.items()},
                "requests": sum(counts[0] for counts in kinds.values()),
                "sent": sum(counts[2] for counts in kinds.values())}


class Mount:
    """Something over a bucket, mounted where `at` is; each has a fresh directory for its own files."""
    peak = 0

    def __init__(self, name, scene, server, bucket, fresh, options=()):
        self.name, self.work, self.server, self.bucket = name, scene.work, server, bucket
        self.own, self.options = fresh, options
        self.at = scene.work / "at"
        self.at.mkdir(exist_ok=True)
        kept = {key: value for key, value in os.environ.items()
                if not key.upper().startswith(("AWS", "RCLONE")) and not key.lower().endswith("_proxy")}
        self.environment = {**kept, **server.settings, "RCLONE_CONFIG": "/dev/null",
                            "HOME": str(scene.work), "XDG_STATE_HOME": str(scene.work / "states")}
        self.child = None

    def __enter__(self):
        began = time.perf_counter()
        {"forebay": self.forebay, "s3fs": self.s3fs, "rclone": self.rclone}[self.name]()
        until(f"the mount of {self.name}", self.at.is_mount)
        self.mount_s = time.perf_counter() - began
        return self

    def __exit__(self, *_):
        if self.at.is_mount():
            self.end()

    def forebay(self):
        run(self.work / "forebay", "mount", "--state", self.own, *self.options, f"s3://{self.bucket}/v",
            self.at, env=self.environment)

    def start(self, *words):
        with open(self.work / f"{self.name}.log", "a", encoding="utf-8") as log:
            self.child = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log,
                                          env=self.environment)

    def s3fs(self):
        # A bucket that nobody else writes: the manual's options against needless requests.
        url = self.server.settings["AWS_ENDPOINT_URL"]
        self.start("s3fs", self.bucket, self.at, "-f", "-o", f"url={url},use_path_request_style", "-o",
                   f"use_cache={self.own},enable_noobj_cache,notsup_compat_dir,ensure_diskfree=100")

    def rclone(self):
        url = self.server.settings["AWS_ENDPOINT_URL"]
        self.control = "127.0.0.1:5573"
        self.start("rclone", "mount", f":s3:{self.bucket}", self.at, "--s3-provider", "Other",
                   "--s3-endpoint", url, "--s3-env-auth", "--vfs-cache-mode", "writes", "--cache-dir",
                   self.own, "--rc", "--rc-no-auth", "--rc-addr", self.control)

    def queued(self):
        """How many files rclone has not uploaded yet."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{self.control}/vfs/stats", data=b"", timeout=PATIENCE) as answer:
            cache = json.load(answer)["diskCache"]
        return cache["uploadsInProgress"] + cache["uploadsQueued"]

    def end(self):
        """Unmounts when all is in the bucket; the seconds that took."""
        looking = threading.Thread(target=self.look)
        looking.start()
        began = time.perf_counter()
        if self.name == "forebay":
            run(self.work / "forebay", "unmount", self.at, env=self.environment)
        else:
            if self.name == "rclone":
                until("the uploads of rclone", lambda: self.queued() == 0)
            run("fusermount3", "-u", self.at)
            self.child.wait(PATIENCE)
        seconds = time.perf_counter() - began
        looking.join()
        return seconds

    def look(self, once=False):
        """The most memory that its daemon had so far, until it is gone."""
        ours = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(self.at) in words and b"unmount" not in words:
                ours.append(process / "status")
        while ours:
            for status in list(ours):
                try:
                    peak = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
                except OSError:
                    peak = []
                if peak:
                    self.peak = max(self.peak, int(peak[0].split()[1]) // 1024)
                else:
                    ours.remove(status)
            if once:
                break
            time.sleep(0.02)


def load(*words):
    return json.loads(run(sys.executable, "-B", Path(__file__).with_name("load.py"), *words))
