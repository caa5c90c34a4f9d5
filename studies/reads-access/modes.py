"""The ways of getting at reads in an object store: each takes a run that is stored, and tells how long
it took, and how much of that was downloading, where the two are apart."""
import itertools
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable, NamedTuple

from client import Part

# So that a reader of SRA's archives looks for no network of NCBI's.
SETTINGS = '/LIBS/GUID = "5d3f5a3e-1f7e-4a35-9f61-3b1e3d6f7a10"\n/repository/remote/disabled = "true"\n'
CACHE = '/repository/user/main/public/root = "{0}"\n/repository/user/default-path = "{0}"\n'
# Of a cache that is "on" the toolkit has to be told that it may keep more than runs.
CACHE += ('/repository/user/main/public/cache-enabled = "true"\n'
          '/repository/user/main/public/apps/sra/volumes/sraFlat = "sra"\n'
          '/repository/user/main/public/apps/http/volumes/flat = "."\n')
CONNECTIONS = 8


class Took(NamedTuple):
    """Seconds; of downloading, `None` where a program does both at a time."""
    all: float
    downloading: float | None = None


class Mode(NamedTuple):
    """`script` is the letter of the published one that did the same."""
    name: str
    form: str
    what: str
    script: str
    run: Callable


def tool(case, *command, **more):
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                   check=True, env=case.environment | more)


def fetched(parts_of, connections=1):
    """All parts of a run, one list after the other, each list over so many connections."""
    def run(case):
        began = time.monotonic()
        for parts in parts_of(case):
            case.client.fetch(parts, connections)
        took = time.monotonic() - began
        return Took(took, took)
    return run


def blobs(case):
    """Objects of which each holds a column of a group of reads, in order."""
    return [[Part(f"{case.prefix}/blobs/{path.name}") for path in sorted((case.forms / "blobs").iterdir())]]


def groups(case):
    """The same, the columns of one group in each list."""
    parts, sizes = iter(blobs(case)[0]), case.group_sizes()
    return [list(itertools.islice(parts, size)) for size in sizes]


def parts(case):
    """The same bytes as parts of one object, in order."""
    return [[Part(f"{case.prefix}/together/{one.object}", one.offset, one.size) for one in case.chunks]]


def at_random(case):
    all_parts = parts(case)[0]
    random.Random(1).shuffle(all_parts)
    return [all_parts]


def before(form, *command):
    """Downloads all of a form, then runs a program on each file."""
    def run(case):
        with tempfile.TemporaryDirectory(dir=case.work) as folder:
            began = time.monotonic()
            objects = [Part(f"{case.prefix}/{form}/{name}") for name in case.names(form)]
            bodies = case.client.fetch(objects)
            for part, body in zip(objects, bodies):
                Path(folder, Path(part.key).name).write_bytes(body)
            middle = time.monotonic()
            for path in sorted(Path(folder).iterdir()):
                tool(case, *command, path)
            return Took(time.monotonic() - began, middle - began)
    return run


def dump(has_cache):
    """An archive of SRA by its URL; what a cache keeps on disk is thrown away before."""
    def run(case):
        home = Path(case.work, "home")
        shutil.rmtree(home, ignore_errors=True)
        Path(home, ".ncbi").mkdir(parents=True)
        settings = SETTINGS + (CACHE.format(home / "cache") if has_cache else "")
        Path(home, ".ncbi/user-settings.mkfg").write_text(settings)
        began = time.monotonic()
        tool(case, "fastq-dump", "-Z", "--split-files", f"{case.url}/runs/{case.prefix}/sra/x.sra", HOME=str(home))
        return Took(time.monotonic() - began)
    return run


def cat(form, *options):
    def run(case):
        began = time.monotonic()
        more = ["--spots", f"1-{case.spots // 10}"] if "--tenth" in options else []
        words = [word for word in options if word != "--tenth"]
        tool(case, case.forebay, "reads", "cat", f"s3://runs/{case.prefix}/{form}", *words, *more)
        return Took(time.monotonic() - began)
    return run


def joined(case):
    """Aligned reads, whose bases are those of a reference, brought back into pairs."""
    began = time.monotonic()
    url = f"{case.url}/runs/{case.prefix}/aligned/x.cram"
    with tempfile.TemporaryDirectory(dir=case.work) as folder:
        tool(case, "bash", "-o", "pipefail", "-c",
             f"samtools collate -u -O '{url}' {folder}/x | samtools fastq -n - > /dev/null")
    return Took(time.monotonic() - began)


MODES = [
    Mode("gz-whole", "gz", ".fastq.gz: downloaded, then gzip -dc", "", before("gz", "gzip", "-dc")),
    Mode("sra-whole", "sra", ".sra: downloaded, then fastq-dump", "", before("sra", "fastq-dump", "-Z", "--split-files")),
    Mode("sra-url", "sra", ".sra: fastq-dump by its URL, no cache", "B", dump(False)),
    Mode("sra-cache", "sra", ".sra: fastq-dump by its URL, a cache on disk", "B", dump(True)),
    Mode("aligned", "aligned", "aligned CRAM by its URL: samtools collate, fastq", "", joined),
    Mode("objects", "blobs", "group blobs: whole objects, in order", "E, J", fetched(blobs)),
    Mode("columns", "blobs", "group blobs: whole objects, the columns of a group at a time", "K", fetched(groups, CONNECTIONS)),
    Mode("objects-8", "blobs", f"group blobs: whole objects, {CONNECTIONS} at a time", "", fetched(blobs, CONNECTIONS)),
    Mode("parts", "together", "group blobs: parts of one object, in order", "F", fetched(parts)),
    Mode("random", "together", "group blobs: parts of one object, at random", "G", fetched(at_random)),
    Mode("parts-8", "together", f"group blobs: parts of one object, {CONNECTIONS} at a time", "", fetched(parts, CONNECTIONS)),
    Mode("cat-each", "each", "forebay reads cat, an object for each part", "D", cat("each")),
    Mode("cat", "together", "forebay reads cat, parts of one object", "", cat("together")),
    Mode("cat-lite", "together", "forebay reads cat --lite", "", cat("together", "--lite")),
    Mode("cat-bases", "together", "forebay reads cat --form bases", "", cat("together", "--form", "bases")),
    Mode("cat-tenth", "together", "forebay reads cat, a tenth of the spots", "", cat("together", "--tenth")),
]
