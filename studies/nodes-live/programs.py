"""The programs whose jobs are run on so many nodes, one entry each: real ones, on real reads.

Reads are RNA-seq of S. pombe below FOREBAY_DATA, or those of a HiSeq 2000 that apt has
(scripts/setup-programs.sh).
"""
import dataclasses
import gzip
import itertools
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "storages-live"))
from calls import ROOT, call
from workflows import POMBE

SIMULATED = ROOT / "studies/nfs-lustre"
APT_READS = Path("/usr/share/doc/seqprep/examples/data")
APT_GENOME = Path("/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz")
# The toolkit works offline, says nothing of the machine to anybody, and leaves the user's own
# settings alone.
SETTINGS = """\
/LIBS/GUID = "4f2d8a31-0b6c-4f6e-9d5e-6a0c7f3b1e22"
/repository/remote/disabled = "true"
/libs/cloud/report_instance_identity = "false"
"""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the source says in words, and the number that stands for it (studies/nfs-lustre has the
    same): `figure` of a storage at the size `at`, or of one storage as times that of another."""

    words: str
    storage: str
    figure: str
    # (nodes, jobs); with `over`, the rate as times the rate at that size
    at: tuple[int, int]
    over: tuple[int, int] | None
    least: float | None = None
    most: float | None = None


@dataclasses.dataclass(frozen=True)
class Program:
    """A part of the source: one job of it, its sizes, and what was found."""

    package: str
    # A job in the source, in studies/nfs-lustre
    workload: str
    pairs: int
    # Makes what a job reads, in a folder; what all jobs share goes beside it
    inputs: Callable[[Path, int], None]
    command: Callable[[Path], list]
    # How it is traced: "every-read" counts calls; what the kernel asks storage for, since it reads
    # ahead, "files" counts, and that alone tells that reads lie near each other
    trace: str
    nodes: list[int]
    jobs: list[int]
    # storage -> in words
    published: dict[str, str]
    findings: list[Finding]


def reads(folder, pairs):
    """So many pairs in r1.fq and r2.fq, and how their qualities are written."""
    ours = {n: sorted(POMBE.glob(f"Sp_*.{side}.fq.gz")) for n, side in ((1, "left"), (2, "right"))}
    for number, files in ours.items():
        files = files or [APT_READS / f"multiplex_bad_contam_{number}.fq.gz"]
        if not files[0].exists():
            sys.exit(f"nodes-live: there are no reads\n  where: {POMBE}, {files[0]}\n"
                     "  next:  scripts/setup-programs.sh, or name yours: FOREBAY_DATA=DIR")
        with open(folder / f"r{number}.fq", "wb") as out:
            lines = itertools.chain.from_iterable(map(gzip.open, files))
            out.writelines(itertools.islice(lines, 4 * pairs))
    return "PHRED_33" if ours[1] else "PHRED_64"


def archive(folder, pairs):
    """An archive as SRA has them, made by the toolkit's own loader."""
    made = folder.parent / "loaded"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    quality = reads(made, pairs)
    (home := folder.parent / "home/.ncbi").mkdir(parents=True, exist_ok=True)
    (home / "user-settings.mkfg").write_text(SETTINGS)
    toolkit = {"HOME": str(home.parent)}
    call(folder.parent, made, "latf-load", "--quality", quality, "-p", "ILLUMINA", "-o", "table",
         "-1", "r1.fq", "-2", "r2.fq", **toolkit)
    call(folder.parent, made, "kar", "-f", "-c", folder / "reads.sra", "-d", "table", **toolkit)


def fastq_dump(_):
    # Newer toolkits start it through a program that takes longer than a job here; 2.3.2 had none.
    found = Path(shutil.which("fastq-dump")).resolve()
    behind = found.with_name("fastq-dump-orig")
    return [behind if behind.exists() else found, "--split-files", "./reads.sra"]


def aligned(folder, pairs):
    """Reads, and beside them an index: of the species that the reads are of, if it is there."""
    reads(folder, pairs)
    genome = POMBE.parent / "pombe-guided/SP2.chr.fa.gz"
    genome = genome if genome.exists() else APT_GENOME
    fasta = folder.parent / "genome.fa"
    fasta.write_bytes(gzip.open(genome).read())
    call(folder.parent, folder.parent, "bowtie-build", "-q", fasta, folder.parent / "genome")


def bowtie(folder):
    return ["bowtie", "-p", 4, "-S", "-x", folder.parent / "genome", "-1", "r1.fq", "-2", "r2.fq",
            "out.sam"]


PROGRAMS = {
    "fastq-dump": Program(
        "sra-toolkit", "workload.toml", 20_000, archive, fastq_dump, "files", [1, 2, 4, 8], [4],
        {"nfs": "stops between 4 and 8 nodes, high iowait", "lustre": "linear, iowait near none"},
        [Finding("NFS scales to 4 nodes", "nfs", "rate", (4, 4), (1, 4), least=3.8),
         Finding("and stops between 4 and 8", "nfs", "rate", (8, 4), (4, 4), most=1.9),
         Finding("with high iowait", "nfs", "waited", (8, 4), None, least=0.10),
         Finding("Lustre is linear to 4 nodes", "lustre", "rate", (4, 4), (1, 4), least=3.8),
         Finding("and to 8", "lustre", "rate", (8, 4), (4, 4), least=1.9),
         Finding("with iowait near none", "lustre", "waited", (8, 4), None, most=0.02)]),
    "bowtie": Program(
        "bowtie", "bowtie.toml", 10_000, aligned, bowtie, "every-read", [16], [1, 2, 4],
        {"nfs": "falls behind with jobs", "lustre": "its advantage grows with jobs"},
        [Finding("Lustre's advantage grows from 1 job to 2", "lustre", "advantage", (16, 2), (16, 1),
                 least=1.0),
         Finding("and from 2 jobs to 4", "lustre", "advantage", (16, 4), (16, 2), least=1.0)]),
}
