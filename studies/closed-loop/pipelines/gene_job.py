#!/usr/bin/env python3
"""One of several jobs that share 600 genes: for each gene a query, targets, an alignment of both by
minimap2 under a passing name, its log, and an empty file that says it is done."""
import os
import subprocess
import sys
from pathlib import Path

GENES, WINDOW = 600, 1500


def main():
    job, jobs = int(sys.argv[1]), int(sys.argv[2])
    lines = Path(sys.argv[3]).read_text().splitlines()
    bases = "".join(line for line in lines if not line.startswith(">"))
    for number in range(job, GENES, jobs):
        folder = Path(f"genes/{number % 37:02}/g{number:04}")
        os.makedirs(folder, exist_ok=True)
        start = number * 1371 % (len(bases) - WINDOW)
        (folder / "query.fa").write_text(f">gene{number}\n{bases[start:start + 900]}\n")
        (folder / "targets.fa").write_text("".join(
            f">target{nth}\n{bases[start + 50 * nth:start + 50 * nth + 1000]}\n" for nth in range(4)))
        unfinished = folder / "hits.paf.tmp"
        with open(unfinished, "w") as hits, open(folder / "log", "w") as log:
            subprocess.run(["minimap2", "-t", "1", folder / "targets.fa", folder / "query.fa"],
                           stdout=hits, stderr=log, check=True)
        os.rename(unfinished, folder / "hits.paf")
        (folder / "done").touch()


if __name__ == "__main__":
    main()
