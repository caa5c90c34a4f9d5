"""What was seen, as a Markdown table: what is asked, what was measured, and whether that is met."""
import os
import statistics

median = statistics.median


def table(seen, latencies, repeats):
    lines = [f"### A volume in a bucket: medians of {repeats} repeats in turn, {os.cpu_count()} cores, "
             f"Linux {os.uname().release}", "", "| what | each answer after | asked | measured | met |",
             "|---|---|---|---|---|"]
    facts = Facts(seen)
    for late in latencies:
        for what, asked, keeps, value, shown in rows(facts, late):
            if value is not None:
                met = "" if asked is None else "yes" if keeps(value) else "**no**"
                lines.append(f"| {what} | {late} ms | {asked or ''} | {shown(value)} | {met} |")
    for one in seen:
        if one["part"].startswith("failed"):
            lines.append(f"| {one['part']}, {one['store']} | {one['late']} ms | | {one['why']} | |")
    beside = [line for late in latencies for line in others(facts, late)]
    if beside:
        lines += ["", "| beside it | each answer after | forebay | s3fs | rclone | ext4 | bare client | and a file |",
                  "|---|---|---|---|---|---|---|---|", *beside]
    return "\n".join(lines)


class Facts:
    def __init__(self, seen):
        self.seen = seen

    def all(self, part, store, late, name):
        return [one[name] for one in self.seen
                if (one["part"], one["store"], one["late"]) == (part, store, late) and name in one]

    def of(self, part, name, late, store="forebay", of=None):
        """The median, or that of a ratio, in each repeat."""
        values = self.all(part, store, late, name)
        if of:
            values = [a / b for a, b in zip(values, self.all(part, store, late, of))]
        return median(values) if values else None

    def ratio(self, part, late, other, name="rate"):
        """To another store, taken within each repeat."""
        pairs = zip(self.all(part, "forebay", late, name), self.all(part, other, late, name))
        ratios = [ours / theirs for ours, theirs in pairs]
        return median(ratios) if ratios else None


def least(number):
    return lambda value: value >= number


def most(number):
    return lambda value: value <= number


def plain(unit, digits=0):
    return lambda value: f"{value:,.{digits}f} {unit}".strip()


def rows(facts, late):
    """What, what is asked in words and as a test, the value, and how it is shown."""
    for writers, asked in ((1, 2000), (8, 4000)):
        by = f"{writers} writer{'s' if writers > 1 else ''}"
        told = f"at least {asked:,}" if late else None
        yield (f"small files, {by}, until stored", told, least(asked),
               facts.of(f"small-{writers}", "rate", late), plain("files/s"))
        yield (f"their requests for each file, {by}", "at most 0.01", most(0.01),
               facts.of(f"small-{writers}", "requests", late, of="files"), plain("", 4))
        yield (f"read again elsewhere, {by} before", "at least 4,000" if late else None, least(4000),
               facts.of(f"reread-{writers}", "rate", late), plain("files/s"))
        yield ("mounting it there", None, None, facts.of(f"reread-{writers}", "mount_s", late),
               plain("s", 2))
    yield ("make, write, close: of ext4", "at least 0.35", least(0.35), facts.ratio("make", late, "ext4"),
           plain("", 2))
    slower = facts.ratio("fsync", late, "ext4", "ms")
    yield ("fsync: of ext4", "at least 0.5", least(0.5), slower and 1 / slower, plain("", 2))
    for callers in (1, 8):
        trips = facts.of(f"durable-{callers}", "ms", late)
        yield (f"fsync into the bucket, {callers} at a time", "at most 2 round trips", most(2),
               trips and trips / late, plain("round trips", 2))
        yield ("its requests for each fsync", None, None,
               facts.of(f"durable-{callers}", "requests", late, of="files"), plain("", 2))
    for part in ("write", "read"):
        what = "written until stored" if part == "write" else "read elsewhere"
        for store in ("client", "client, file"):
            yield (f"512 MiB {what}: of the bare {store}", "at least 0.8", least(0.8),
                   facts.ratio(part, late, store), plain("", 2))
    for part, what in (("random", "cold"), ("random-again", "again")):
        asked = part == "random"
        yield (f"4 KiB at random, {what}: requests", "at most 1" if asked else None, most(1),
               facts.of(part, "requests", late, of="reads"), plain("", 2))
        kib = facts.of(part, "sent", late, of="reads")
        yield (f"4 KiB at random, {what}: fetched", "at most 64 KiB" if asked else None, most(64),
               None if kib is None else kib / 1024, plain("KiB", 1))
        yield (f"4 KiB at random, {what}: each", None, None, facts.of(part, "ms", late), plain("ms", 2))
    for part, what in (("flow", "with its work directory there"), ("flow-all", "with all of it there")):
        asked = part == "flow"
        yield (f"Nextflow {what}: of ext4", "at most 1.15" if asked else None, most(1.15),
               facts.ratio(part, late, "ext4", "s"), plain("", 2))
        yield (f"Nextflow {what}, until stored: of ext4", None, None,
               facts.ratio(part, late, "ext4", "stored_s"), plain("", 2))
    for part, name, what in (("queue", "queued_mib", "100,000 files queued"),
                             ("queue", "mib", "and while they are sent"),
                             ("stream", "written_mib", "{} GiB written through"),
                             ("stream", "read_mib", "{} GiB read through")):
        gib = facts.of("stream", "gib", late)
        yield (f"{what.format(gib)}: memory", "at most 300 MiB", most(300),
               facts.of(part, name, late), plain("MiB"))
    peaks = [one["mib"] for one in facts.seen
             if one.get("mib") and (one["store"], one["late"]) == ("forebay", late)]
    yield "the most memory of any daemon", None, None, max(peaks, default=None), plain("MiB")


def others(facts, late):
    """The same of all that was measured."""
    parts = [("small-1", "rate", "files/s until stored, 1 writer"),
             ("small-8", "rate", "files/s until stored, 8 writers"),
             ("small-1", "requests", "requests for each file"),
             ("reread-1", "rate", "files/s read elsewhere"), ("make", "rate", "files/s made"),
             ("fsync", "ms", "ms for an fsync"), ("write", "rate", "MiB/s written until stored"),
             ("read", "rate", "MiB/s read elsewhere"), ("random", "ms", "ms for 4 KiB at random"),
             ("random", "requests", "requests for it"), ("flow", "s", "s for Nextflow, work there"),
             ("flow-all", "s", "s for Nextflow, all there"), ("read", "mib", "MiB of memory, long read")]
    for part, name, words in parts:
        of = ("files" if part.startswith("small") else "reads") if name == "requests" else None
        cells = []
        for store in ("forebay", "s3fs", "rclone", "ext4", "client", "client, file"):
            value = facts.of(part, name, late, store, of)
            cells.append("" if value is None else f"{value:,.4g}" if value < 100 else f"{value:,.0f}")
        if any(cells):
            yield f"| {words} | {late} ms | {' | '.join(cells)} |"
