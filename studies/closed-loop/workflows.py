"""The workflows that are predicted and measured, one entry each.

`inputs` makes what all runs of it read, once. `command` is run in a fresh directory that holds
`link` (copies of inputs that must lie there). Slots: how many tasks run at once; a program with
threads of its own has one number of them.
"""
import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WGS = ROOT / "workflows/wgs/Snakefile"
NEXTFLOW = ROOT / "target/tools/nextflow/nextflow"
POMBE = Path(os.environ.get("FOREBAY_DATA", ROOT / "../shared/data")) / "pombe-rnaseq"
PACKAGE = Path("/usr/share/spades/test_dataset")
STATIC = ["-", "1ms:250", "2ms:125", "5ms:125", "10ms:125", "5ms:30"]


@dataclasses.dataclass(frozen=True)
class Workflow:
    """A row of the table: what it is, how it is started, and where it is measured."""

    about: str
    inputs: Callable[[Path], list]
    command: Callable[[Path, int], list]
    # slots, then storages: latency of each operation on names and fsync, MiB/s of all bytes
    cases: list[tuple[int, str]]


def snakemake(inputs, slots, *more):
    # What takes any number of words comes before an option, or it would take the next words, too.
    return [ROOT / ".venv/bin/snakemake", *more, "--cores", slots, "--quiet", "all",
            "--snakefile", WGS, "--configfile", HERE / "small.yaml"]


def wgs_inputs(folder):
    return snakemake(folder, 2, "inputs")


def wgs(folder, slots):
    return snakemake(folder, slots, "--config", f"inputs={folder / 'data'}")


def rnaseq_inputs(folder):
    return [sys.executable, "-B", HERE / "rnaseq/reads.py", folder]


def rnaseq(folder, slots):
    settings = folder / f"{slots}.config"
    settings.write_text(f"executor {{ cpus = {slots}; queueSize = {slots} }}\n")
    return [NEXTFLOW, "-q", "-c", settings, "run", HERE / "rnaseq/main.nf", "--inputs", folder]


def assembly_inputs(folder):
    sources = {side: sorted(POMBE.glob(f"Sp_*.{side}.fq.gz")) or [PACKAGE / f"ecoli_1K_{n}.fq.gz"]
               for n, side in ((1, "left"), (2, "right"))}
    words = [f"cat {' '.join(map(str, files))} > {side}.fq.gz" for side, files in sources.items()]
    return ["bash", "-ec", "\n".join(words)]


def assembly(folder, slots):
    return ["rnaspades.py", "-t", slots, "-m", 4, "-1", folder / "left.fq.gz",
            "-2", folder / "right.fq.gz", "-o", "assembly"]


WORKFLOWS = {
    "wgs": Workflow("the demo's workflow, a third of its reads (Snakemake)", wgs_inputs, wgs,
                    [(2, one) for one in STATIC] + [(1, one) for one in STATIC[::2] + ["5ms:125"]]),
    "rnaseq": Workflow("RNA-seq counts (Nextflow)", rnaseq_inputs, rnaseq,
                       [(2, one) for one in STATIC] + [(1, one) for one in STATIC[::2] + ["5ms:125"]]),
    "assembly": Workflow("an assembly of transcripts (rnaSPAdes)", assembly_inputs, assembly,
                         [(2, one) for one in [*STATIC, "20ms:125", "1ms:60", "2ms:30", "500us:500"]]),
}
