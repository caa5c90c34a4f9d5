"""Does an emulated storage take what was asked for?

    emulated.py DIR latency 2ms|write MIB_S|read MIB_S     on a storage that is mounted at DIR
    emulated.py DIR write|read MIB_S MIB                   is it that fast at least?
    emulated.py DIR parity FOREBAY PROFILE...              simulated, then emulated in DIR

This machine may be busy with other things, which makes everything later: the best of many tries
counts. Nothing makes anything earlier, so no try may be too early (status 3; late is 1).
"""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PATIENCE, MIB = 40, 1 << 20
EARLY = 3       # the exit status where it takes less than was asked for
STORAGE = Path(__file__).with_name("storage.py")
STEPS = f"for step in small large again gone; do /usr/bin/python3 -B {STORAGE} $step; done"


def judge(what, asked, measure, within):
    """`measure` gives seconds; `asked` is how many it should give."""
    tries, until = [], time.monotonic() + PATIENCE
    while time.monotonic() < until and (not tries or min(tries) > 1 + within):
        time.sleep(0.5 if tries else 0)
        tries.append(measure(len(tries)) / asked)
    told = ", ".join(f"{ratio:.3f}" for ratio in tries)
    print(f"{what}: {told} times what was asked for", flush=True)
    if min(tries) < 1 - within:
        sys.exit(EARLY)
    return 1 - within <= min(tries) <= 1 + within


def each(folder, attempt, count=100):
    took = []
    for number in range(count):
        began = time.monotonic()
        os.path.exists(folder / f"absent-{attempt}-{number}")
        took.append(time.monotonic() - began)
    return statistics.median(took)


def write(folder, attempt, mib):
    block = bytes(MIB)
    began = time.monotonic()
    # What is written is sent by the close at the latest.
    with open(folder / f"written-{attempt}", "wb", buffering=0) as file:
        for _ in range(mib):
            file.write(block)
    took = time.monotonic() - began
    os.unlink(file.name)
    return took


def read(folder):
    with open(folder / "big", "rb", buffering=0) as file:
        # What was read before is in memory.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began = time.monotonic()
        while file.read(MIB):
            pass
        return time.monotonic() - began


def run(folder, *command):
    began = time.monotonic()
    subprocess.run(command, cwd=folder, check=True)
    return time.monotonic() - began


def parity(folder, forebay, profile):
    """The workload is recorded where it is, simulated elsewhere, and run on what is emulated."""
    trace, site = folder.parent / "storage.run", folder.parent / "site.toml"
    if not trace.exists():
        run(folder, forebay, "run", "-q", "--trace", "every-read", "-o", trace, "--", "sh", "-ec", STEPS)
    if profile.endswith(".toml"):
        numbers = Path(profile).read_text(encoding="utf-8").split("[profile]")[1]
        tier = f'[tier.other]\nreach = "shared"\n[tier.other.profile]{numbers}'
    else:
        tier = f'[tier.other]\nprofile = "{profile}"\n'
    # A shell does one thing after the other, which nobody can see in its files.
    site.write_text(f'[nodes]\ncores = 2\nslots = 1\nmemory = "8 GiB"\n{tier}', encoding="utf-8")
    told = subprocess.run([forebay, "simulate", trace, "--site", site, "--project", "other", "--json"],
                          check=True, capture_output=True).stdout

    def measure(_):
        subprocess.run(["find", folder, "-mindepth", "1", "-delete"], check=True)
        subprocess.run([forebay, "mount", "--emulate", profile, folder, folder], check=True,
                       capture_output=True)
        try:
            return run(folder, "sh", "-ec", STEPS)
        finally:
            subprocess.run([forebay, "unmount", folder], check=True, capture_output=True)

    return judge(f"{profile}, simulated", json.loads(told)["makespan_s"], measure, 0.1)


def main():
    folder, what, *words = Path(sys.argv[1]).resolve(), *sys.argv[2:]
    if what == "parity":
        ends = [parity(folder, words[0], profile) for profile in words[1:]]
        return all(ends)
    if what == "latency":
        seconds = float(words[0].removesuffix("ms")) / 1000
        return judge(what, seconds, lambda attempt: each(folder, attempt), 0.05)
    rate, mib = int(words[0]), int(words[-1])
    ways = {"write": lambda attempt: write(folder, attempt, mib), "read": lambda _: read(folder)}
    if len(words) == 2:
        return min(ways[what](attempt) for attempt in range(5)) <= mib / rate
    return judge(f"{what} at {mib} MiB/s", 1.0, ways[what], 0.05)


sys.exit(0 if main() else 1)
