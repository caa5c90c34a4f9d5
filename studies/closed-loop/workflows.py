"""The workflows that are predicted and measured, one entry each.

`inputs` makes what all runs of it read, once. `command` is run in a fresh directory. Slots: how many
tasks run at once; a program with threads of its own has one number of them. Whoever has pipelines of
their own adds a folder of them by `--pipelines`: NAME.sh, called as `NAME.sh inputs DIR` and
`NAME.sh run DIR SLOTS`, the latter in the directory to work in.
"""
import dataclasses
import itertools
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


@dataclasses.dataclass(frozen=True)
class Workflow:
    """What it is, how its inputs are made, and how it is started."""

    about: str
    inputs: Callable[[Path], list]
    command: Callable[[Path, int], list]


def snakemake(slots, *more):
    # What takes any number of words comes before an option, or it would take the next words, too.
    return [ROOT / ".venv/bin/snakemake", *more, "--cores", slots, "--quiet", "all",
            "--snakefile", WGS, "--configfile", HERE / "small.yaml"]


def wgs_inputs(folder):
    return snakemake(2, "inputs")


def wgs(folder, slots):
    return snakemake(slots, "--config", f"inputs={folder / 'data'}")


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


def of_script(script):
    """A pipeline that is one script; its first comment, up to how it is called, says what it is."""
    comment = itertools.takewhile(lambda line: line.startswith("# ") and line[2] != " ",
                                  script.read_text().splitlines()[1:])
    about = " ".join(line[2:] for line in comment).rstrip(".")
    return Workflow(about, lambda folder: ["bash", script, "inputs", folder],
                    lambda folder, slots: ["bash", script, "run", folder, slots])


def of_folders(folders):
    return {script.stem: of_script(script.resolve())
            for folder in folders for script in sorted(Path(folder).glob("*.sh"))}


WORKFLOWS = {
    "wgs": Workflow("The demo's workflow, a third of its reads (Snakemake)", wgs_inputs, wgs),
    "rnaseq": Workflow("RNA-seq counts (Nextflow)", rnaseq_inputs, rnaseq),
    "assembly": Workflow("An assembly of transcripts (rnaSPAdes)", assembly_inputs, assembly),
    **of_folders([HERE / "pipelines"]),
}
