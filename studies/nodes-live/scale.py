"""The scale: what a job and a storage of the source are, and what they are here."""
import sqlite3
import tomllib

from programs import SIMULATED

MIB = 1 << 20
SITES = {"nfs": "site.toml", "lustre": "lustre.toml"}
UNITS = {"GB": 1e9}


def facts(file):
    return tomllib.loads((SIMULATED / file).read_text(encoding="utf-8"))


def amount(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def source(workload):
    """A job of the source: its bytes, and seconds of computing."""
    told = facts(workload)
    compute = told["stage"][0]["step"][0]["compute"]
    return sum(amount(one["bytes"]) for one in told["files"].values()), float(compute.split()[0])


def requests(run):
    """A job here: its bytes, and its requests as the emulation and the simulator count them: what
    goes on where the last one ended is so large a part of one as its bytes are of 1 MiB."""
    with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as trace:
        return trace.execute(
            "SELECT sum(p.bytes), sum(CASE k.pattern WHEN 'random' THEN p.count"
            " ELSE min(p.count, p.bytes / 1048576.0) END) FROM process_ops p JOIN op_keys k"
            " USING (op_key) WHERE k.op IN ('read', 'write')").fetchone()


def profile(storage, scale):
    """What a storage has at this scale, as lines of TOML. Its network is left out: the jobs of the
    source take a fifteenth of it at most."""
    rate = facts(SITES[storage])["tier"]["data"]["profile"]["data_per_second"] * scale
    return (f'source = "studies/nfs-lustre/{SITES[storage]}, times {scale:.4f}"\n'
            f'data_per_second = {rate:.2f}\nmerges = "1 MiB"\n')
