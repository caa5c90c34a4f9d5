"""What was measured of ways to get at reads, as tables beside what was published."""
from modes import MODES

# Ratios that a noisy machine gives for what is the same.
SAME = 0.15

# What may be behind a finding that is not the same here.
AT_A_TIME = "columns at a time are no faster than in turns (K/J)"
NO_CACHE = "fastq-dump without a cache on disk takes longer"
WHY = {
    AT_A_TIME: "perhaps the rate of the published client bound both ways. Here a column takes less "
               "to send than the server takes to answer, and waiting can be done at a time.",
    NO_CACHE: "the archives here are small enough for most of what fastq-dump reads twice to be in its memory; the next "
              "line has how much it fetched again.",
}


def tell(found, published):
    options = found["options"]
    print(f"\n{published['name']}\n{published['source']}\n")
    print(f"An S3 server on this machine: {options['latency']} ms to each answer, {options['rate']} MB/s of a "
          f"connection; medians of {options['repeats']}.")
    for name, run in found["runs"].items():
        sizes = ", ".join(f"{form} {size / 1e6:.2f}" for form, size in sorted(run["bytes"].items()))
        print(f"\n{name}, MB stored: {sizes}\n")
        print("| what is stored, and how it is read | script | requests | MB | s | of them downloading |\n" + "|---" * 6 + "|")
        for mode in MODES:
            row = run["modes"].get(mode.name)
            if row:
                down = "at a time" if row["download_s"] is None else f"{row['download_s']:.2f}"
                print(f"| {mode.what} | {mode.script or '-'} | {row['requests']:.0f} | {row['MB']:.2f} | {row['s']:.2f} | {down} |")
    print("\n| finding | published | here | |\n|---|---|---|---|")
    told = list(findings(found, published))
    for what, said, here, holds in told:
        print(f"| {what} | {said} | {here} | {'holds' if holds else 'does not hold'} |")
    for what, _, _, holds in told:
        if not holds and what in WHY:
            print(f"\n{what}: {WHY[what]}")
    failed(found["failures"], published["failed"])
    for line in not_reproduced(published):
        print(f"\nNot reproduced: {line}")


def ratio(found, one, other, what="s"):
    """Of sums over the runs that have both."""
    both = [run["modes"] for run in found["runs"].values() if {one, other} <= run["modes"].keys()]
    if not both:
        return None
    return sum(modes[one][what] for modes in both) / sum(modes[other][what] for modes in both)


def findings(found, published):
    """What, as published, as here, and whether that is the same finding."""
    said, csra = published["seconds"], published["csra"]

    def row(what, of, one, other, holds, by="s"):
        here = ratio(found, one, other, by)
        if here is not None:
            yield what, of if isinstance(of, str) else f"{of:.2f}", f"{here:.2f}", holds(here)

    def alike(here):
        return abs(here - 1) <= SAME

    yield from row("group blobs take less time than fastq-dump from a URL (D/B)", said["D"] / said["B"],
                   "cat-each", "sra-url", lambda here: here < 1)
    yield from row("parts of one object are as fast as whole objects (F/E)", said["F"] / said["E"],
                   "parts", "objects", alike)
    yield from row("the same, 8 requests at a time", "-", "parts-8", "objects-8", alike)
    yield from row("the same, archives of forebay", "-", "cat", "cat-each", alike)
    yield from row("parts at random are as fast as in order (G/F; I/H 1.02)", said["G"] / said["F"],
                   "random", "parts", alike)
    yield from row(AT_A_TIME, said["K"] / said["J"],
                   "columns", "objects", lambda here: here > 1 - SAME)
    slower = 1 + csra["cache_off_single_table_slowdown_pct"] / 100
    yield from row(NO_CACHE, slower, "sra-url", "sra-cache",
                   lambda here: here > 1 + SAME)
    yield from row("the same, bytes fetched", "more than once", "sra-url", "sra-cache", lambda here: here > 1.01, "MB")
    yield from row("blobs take less time than joins with a reference (D/C of CSRA)",
                   csra["blobs_s"] / csra["dump_s"], "cat-each", "aligned", lambda here: here < 1)
    yield from row("without qualities, bytes of all (--form bases)", "-", "cat-bases", "cat", lambda here: here < 0.45, "MB")
    yield from row("a tenth of the spots, bytes of all", "-", "cat-tenth", "cat", lambda here: here < 0.5, "MB")


def failed(failures, published):
    print(f"\nCalls that failed where one GET in a hundred does ({failures['gets']} GETs a call; published, without "
          f"asking again: {published['failed']:,} of {published['calls']:,} calls):\n")
    print("| how | calls | failed | expected |\n|---|---|---|---|")
    for way, row in failures.items():
        if way != "gets":
            expected = f"{row['calls'] * (1 - 0.99 ** failures['gets']):.0f}" if way.startswith("no ") else "0"
            print(f"| {way} | {row['calls']} | {row['failed']} | {expected} |")


def not_reproduced(published):
    yield (f"aligned runs without a cache ({published['csra']['cache_off_aligned']}): the loader of aligned runs of SRA "
           "is not in Debian. The joins here are those of a CRAM with its reference in it, which samtools reads in "
           "order and sorts by name: it needs no cache, but room on disk.")
    yield "how much slower another store is (E to G against H and I): here there is one."
    yield ("a second reading from fastq-dump's cache on disk: with the URL of an object, sra-tools 3.0.3 ended by a "
           "segmentation fault where the file was in its cache, so the cache is emptied before each reading.")
