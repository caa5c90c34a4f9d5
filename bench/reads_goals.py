"""What bench/reads.py aims at: a line for each goal and set, with what was found."""
from statistics import mean

from reads_peers import CRAMS, PROFILES

# MB of text for each second of CPU of one thread with AVX2, by sort of qualities.
DECODE_MB = {"default": {"many levels": 640, "few levels": 700}, "fast": {"many levels": 900, "few levels": 1000}}
ENCODE_MB = {"default": 60, "fast": 100, "random": 40}
# Sizes, of those of others.
OF_BEST_CRAM, MEAN_OF_BEST_CRAM, FAST_OF_CRAM, OF_GZ = 0.97, 0.90, 0.95, 0.62
DECODE_OF_SMALL, DECODE_OF_CBQ = 8, 1
TWO_THREADS, MEMORY_MIB, PACKERS = 1.9, 1024, 8
PREAD_MS = {"default": 5, "random": 2}

# What is not on the PATH, and in no package registry that this bench uses, is quoted.
QUOTED = """Not measured: SPRING, which is not on the PATH (bioconda has it). Its paper (Bioinformatics
35(15):2674, 2019) says, of data that are not these: 195 GB of FASTQ (human, 25-fold, NovaSeq) take less than
7 GB, about 1.6 times less than the best of others then."""


class Goal:
    """What was found, beside what it should be at least, or at most."""

    def __init__(self, of, what, found, target=None, most=False, unit=""):
        self.of, self.what, self.found, self.target, self.most, self.unit = of, what, found, target, most, unit

    def row(self):
        found = f"{self.found:,.0f}" if self.found >= 1000 else f"{self.found:.3g}"
        if self.target is None:
            return f"| {self.of} | {self.what} | {found}{self.unit} | - | |"
        met = self.found <= self.target if self.most else self.found >= self.target
        goal = f"{'at most' if self.most else 'at least'} {self.target:g}{self.unit}"
        return f"| {self.of} | {self.what} | {found}{self.unit} | {goal} | {'met' if met else 'missed'} |"


def goals_of_set(name, rows):
    """Goals of one set by what tools did with it on the fewest threads."""
    kind, of = rows[0]["kind"], {row["tool"]: row for row in rows}
    own = {profile: of[f"forebay {profile}"] for profile in PROFILES}

    def speed(row, what):
        return row["text"] / 1e6 / max(row[what], 1e-3)

    for profile, least in DECODE_MB.items():
        yield Goal(name, f"decode, `{profile}`, MB/CPU-s", speed(own[profile], "decode_cpu"), least[kind])
    cbq = [row for tool, row in of.items() if tool.startswith("CBQ")]
    if cbq:
        fastest = max(speed(row, "decode_cpu") for row in cbq)
        yield Goal(name, "decode, `fast`, times CBQ", speed(own["fast"], "decode_cpu") / fastest, DECODE_OF_CBQ)
    if "CRAM 3.1 small" in of:
        small = speed(of["CRAM 3.1 small"], "decode_cpu")
        yield Goal(name, "decode, `default`, times CRAM 3.1 small", speed(own["default"], "decode_cpu") / small,
                   DECODE_OF_SMALL)
    for profile, least in ENCODE_MB.items():
        yield Goal(name, f"encode, `{profile}`, MB/CPU-s", speed(own[profile], "encode_cpu"), least)
    crams = {profile: of[f"CRAM 3.1 {profile}"]["bytes"] for profile in CRAMS if f"CRAM 3.1 {profile}" in of}
    for profile, size in crams.items():
        best = size == min(crams.values())
        yield Goal(name, f"size of CRAM 3.1 {profile}{', its best' if best else ''}", own["default"]["bytes"] / size,
                   OF_BEST_CRAM if best else None, True)
    if "normal" in crams:
        yield Goal(name, "size of `fast`, of CRAM 3.1 normal", own["fast"]["bytes"] / crams["normal"], FAST_OF_CRAM, True)
    for peer in ("gzip -6", "SRA"):
        if peer in of:
            yield Goal(name, f"size of {peer}", own["default"]["bytes"] / of[peer]["bytes"], OF_GZ, True)
    if "SPRING" in of:
        yield Goal(name, "size of SPRING", own["default"]["bytes"] / of["SPRING"]["bytes"])
        yield Goal(name, "encode, `default`, times SPRING", of["SPRING"]["encode_cpu"] / own["default"]["encode_cpu"])
    for profile, most in PREAD_MS.items():
        if own[profile].get("pread_ms"):
            yield Goal(name, f"4 KiB at random, `{profile}`, median", own[profile]["pread_ms"][0], most, True, " ms")


def goals_of_all(found):
    """Goals of every set, then the mean of their sizes."""
    few = min(row["threads"] for row in found)
    alone = [row for row in found if row["threads"] == few]
    ratios = []
    for name in dict.fromkeys(row["set"] for row in found):
        rows = [row for row in alone if row["set"] == name]
        yield from goals_of_set(name, rows)
        crams = [row["bytes"] for row in rows if row["tool"].startswith("CRAM")]
        own = [row["bytes"] for row in rows if row["tool"] == "forebay default"]
        ratios += [own[0] / min(crams)] if crams else []
    if ratios:
        yield Goal("mean", "size of the best CRAM 3.1", mean(ratios), MEAN_OF_BEST_CRAM, True)


def goals_of_long(name, long):
    """Goals that only show with much text."""
    of = f"{name}, {long['text'] / 1e6:.0f} MB"
    yield Goal(of, "decode by two threads, times one, by the clock", long["wall"][1] / long["wall"][2], TWO_THREADS)
    yield Goal(of, f"memory to pack with {PACKERS} threads", long["memory_mib"], MEMORY_MIB, True, " MiB")


def show_goals(goals):
    goals = list(goals)
    print("\n| set | what | found | goal | |\n|---|---|---|---|---|")
    for goal in goals:
        print(goal.row())
    if not any(goal.what == "size of SPRING" for goal in goals):
        print(f"\n{QUOTED}")
