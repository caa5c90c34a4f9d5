"""How bench/reads.py has reads packed and read again, by each tool."""
import os
import shutil
import subprocess
from itertools import islice
from typing import NamedTuple

FOREBAY = os.environ.get("FOREBAY", "target/release/forebay")
PROFILES = ["default", "fast", "random"]
CRAMS = ["fast", "normal", "small", "archive"]
SRA = ["latf-load", "kar", "fastq-dump"]
# What a loader and a dumper of SRA ask of their settings, so that neither looks for a network.
SETTINGS = '/LIBS/GUID = "5d3f5a3e-1f7e-4a35-9f61-3b1e3d6f7a10"\n/repository/remote/disabled = "true"\n'


class Row(NamedTuple):
    """A tool with its options; shell commands, of which the first makes `outs`."""
    tool: str
    outs: list
    make: str
    read: str
    # Takes so long that it is packed once, however many repeats there are.
    slow: bool = False


def there(*tools):
    return all(shutil.which(tool) for tool in tools)


def missing():
    """Peers that can't be measured here, and what is not on the PATH."""
    peers = [(["samtools"], "CRAM"), (["bqtools"], "CBQ"), (SRA, "SRA"), (["bzip2"], "bzip2"), (["zstd"], "zstd"),
             (["spring"], "SPRING")]
    return [(what, tools) for tools, what in peers if not there(*tools)]


def offset(path):
    """33, or 64 where no quality of the first 5000 reads is below `;`."""
    with open(path, "rb") as lines:
        fourth = (line.strip() for at, line in zip(range(20000), lines) if at % 4 == 3)
        lowest = min((min(line, default=255) for line in fourth), default=0)
    return 64 if lowest >= 59 else 33


def for_cram(path):
    """The same file, or one with N for `.` beside it: samtools reads no other."""
    other = path + ".n"
    with open(path, "rb") as lines:
        if not any(b"." in line for at, line in enumerate(lines) if at % 4 == 1):
            return path
    if not os.path.exists(other):
        subprocess.run(f"sed '2~4y/./N/' {path} > {other}", shell=True, check=True)
    return other


def streams(plain, work):
    """Compressors of any bytes, each file by itself. They have one thread."""
    for name, command, back, slow in [
        ("gzip -6", "gzip -6 -c", "gzip -dc", False),
        ("bzip2 -9", "bzip2 -9 -c", "bzip2 -dc", False),
        ("zstd -3", "zstd -q -3 -c", "zstd -dcq", False),
        ("zstd -19", "zstd -q -19 --long=27 -c", "zstd -dcq --long=27", True),
    ]:
        if not there(command.split()[0]):
            continue
        outs = [f"{work}/{name.replace(' ', '')}.{at}" for at in range(len(plain))]
        make = " && ".join(f"{command} {path} > {out}" for path, out in zip(plain, outs))
        yield Row(name, outs, make, " && ".join(f"{back} < {out} > /dev/null" for out in outs), slow)


def crams(plain, work, threads):
    for profile in CRAMS if there("samtools") else []:
        out = f"{work}/{profile}.cram"
        taken = [for_cram(path) for path in plain]
        inputs, outs = f"-0 {taken[0]}", "-0 /dev/null"
        if len(plain) == 2:
            inputs, outs = f"-1 {taken[0]} -2 {taken[1]}", "-1 /dev/null -2 /dev/null"
        made = "" if profile == "normal" else f",{profile}"
        make = f"samtools import -@ {threads - 1} {inputs} -O cram,version=3.1,no_ref=1{made} -o {out}"
        read = f"samtools fastq -@ {threads - 1} {outs} -n {out}"
        yield Row(f"CRAM 3.1 {profile}", [out], make, read, profile == "archive")


def binseq(plain, work, threads):
    # Its longest block, since the default refuses long reads and is a seventh larger.
    for level in [3, 19] if there("bqtools") else []:
        out = f"{work}/{level}.cbq"
        make = f"bqtools encode -T {threads} -m cbq -B 8M -l {level} {' '.join(plain)} -o {out}"
        yield Row(f"CBQ -l {level}", [out], make, f"bqtools decode -T {threads} -f q {out} > /dev/null", level > 9)


def sra(plain, work):
    """Its loader takes reads as Illumina's, with their names; a dumper gives names of its own back."""
    if not there(*SRA):
        return
    out, loaded, home = f"{work}/loaded.sra", f"{work}/loaded", f"{work}/home"
    os.makedirs(f"{home}/.ncbi", exist_ok=True)
    with open(f"{home}/.ncbi/user-settings.mkfg", "w") as settings:
        settings.write(SETTINGS)
    # A pair by its places: by name alone a loader takes the second for the first one again.
    inputs = f"-1 {plain[0]} -2 {plain[1]}" if len(plain) == 2 else plain[0]
    make = (f"rm -rf {loaded} {out}; HOME={home} latf-load --quality PHRED_{offset(plain[0])} -p ILLUMINA"
            f" -o {loaded} {inputs} && HOME={home} kar -f -d {loaded} -c {out}")
    yield Row("SRA", [out], make, f"HOME={home} fastq-dump -Z --split-files {out} > /dev/null")


def spring(plain, work):
    """In the order of the input, and (-r) in its own. It takes short reads alone; no package of Debian has it."""
    if not there("spring") or any(len(line) > 512 for path in plain for line in islice(open(path, "rb"), 4000)):
        return
    for name, order in [("SPRING", ""), ("SPRING -r", "-r")]:
        out, back = f"{work}/spring{order}", f"{work}/spring.fq"
        make = f"spring -c -t 1 -w {work} {order} -i {' '.join(plain)} -o {out}"
        outs = " ".join([back] if len(plain) == 1 else [f"{back}.1", f"{back}.2"])
        yield Row(name, [out], make, f"spring -d -t 1 -w {work} -i {out} -o {outs} && rm {outs}", True)


def forebay(plain, work, threads):
    for profile in PROFILES:
        out = f"{work}/{profile}.reads"
        make = f"rm -rf {out}; {FOREBAY} reads pack -q -t {threads} --profile {profile} {' '.join(plain)} -o {out}"
        yield Row(f"forebay {profile}", [out], make, f"{FOREBAY} reads cat -t {threads} {out} > /dev/null")


def rows(plain, work, threads):
    if threads == 1:
        yield from streams(plain, work)
    yield from crams(plain, work, threads)
    yield from binseq(plain, work, threads)
    if threads == 1:
        yield from sra(plain, work)
        yield from spring(plain, work)
    yield from forebay(plain, work, threads)
