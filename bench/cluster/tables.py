"""The tables of bench/cluster.sh, from what was seen, with the goals beside."""
import statistics

# What is promised.
OF_ALONE = 0.8          # tasks of one node, shared, in times of the volume with one writer
OF_PEER = {"juicefs-redis": 4.0, "juicefs-postgres": 8.0}
LOOK_MS = {"look_p50_ms": 3.0, "look_p99_ms": 10.0}
TIMES_FETCHED = 1.1     # bytes from the bucket, in times of the file's, where all nodes read it at once
OF_ONE_READER = 0.8     # what each of them gets, in times of what one gets that reads it alone
IDLE = 1.0              # transactions of a node in 5 s
NAMES = {"ext4": "bare ext4", "forebay-alone": "Forebay, one writer", "forebay": "Forebay, shared",
         "juicefs-redis": "JuiceFS + Redis", "juicefs-postgres": "JuiceFS + PostgreSQL", "moosefs": "MooseFS"}


def verdict(value, goal, least=True):
    met = value >= goal if least else value <= goal
    return f"{value:.2f} ({'met' if met else 'missed'}: {goal:g})"


def medians(seen, word):
    """By system and nodes."""
    values = {}
    for one in seen:
        if one["part"] == "tasks" and word in one:
            values.setdefault((one["system"], one["nodes"]), []).append(one[word])
    return {key: statistics.median(some) for key, some in values.items()}


def of_tasks(seen):
    rates = medians(seen, "rate")
    if not rates:
        return
    looks = {word: medians(seen, word) for word in LOOK_MS}
    yield "| tasks a second | 1 node | 2 nodes | 4 nodes | a look, p50 ms (4 nodes) | p99 ms |"
    yield "|---|---|---|---|---|---|"
    for name in dict.fromkeys(system for system, _ in rates):
        cells = [f"{rates[name, count]:.0f}" if (name, count) in rates else "" for count in (1, 2, 4)]
        for word in LOOK_MS:
            cells.append(f"{looks[word][name, 4]:.1f}" if (name, 4) in looks[word] else "")
        yield f"| {NAMES[name]} | {' | '.join(cells)} |"
    yield ""
    if ("forebay", 1) not in rates:
        return
    yield "Goals:"
    yield ""
    if ("forebay-alone", 1) in rates:
        share = rates["forebay", 1] / rates["forebay-alone", 1]
        yield f"- shared, one node, in times of the volume with one writer: {verdict(share, OF_ALONE)}"
    for peer, goal in OF_PEER.items():
        for count in (1, 2, 4):
            if (peer, count) in rates:
                times = rates["forebay", count] / rates[peer, count]
                yield f"- {count} nodes, in times of {NAMES[peer]}: {verdict(times, goal)}"
    for word, goal in LOOK_MS.items():
        for count in (2, 4):
            if ("forebay", count) in looks[word]:
                told = verdict(looks[word]["forebay", count], goal, least=False)
                yield f"- a look, {count} nodes, {word[5:8]}, ms: {told}"
    yield ""


def of_fresh(seen):
    rows = [one for one in seen if one["part"] == "fresh"]
    if not rows:
        return
    names = list(dict.fromkeys(one["system"] for one in rows))
    yield "Stale at the first look, of the tries of both directions; the longest, in seconds:"
    yield ""
    yield f"| | {' | '.join(NAMES[name] for name in names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for case in rows[0]["cases"]:
        cells = []
        for name in names:
            ours = [one for one in rows if one["system"] == name]
            stale = sum(one["cases"][case][0] for one in ours)
            longest = max(one["cases"][case][1] for one in ours)
            cells.append(f"{stale}/{sum(one['tries'] for one in ours)}" + (f", {longest:.1f}" if stale else ""))
        yield f"| {case} | {' | '.join(cells)} |"
    yield ""


def of_reference(seen):
    rows = [one for one in seen if one["part"] == "reference"]
    if not rows:
        return
    yield (f"One file of {rows[0]['mib']} MiB, read by nodes that know nothing of it (MB a second; bytes that the "
           "bucket gave, in times of the file's):")
    yield ""
    yield f"| | one node | {rows[0]['nodes']} at once, the slowest | share | from the bucket |"
    yield "|---|---|---|---|---|"
    for one in rows:
        share, fetched = one["slowest_mb_s"] / one["alone_mb_s"], one.get("times_fetched")
        ours = one["system"] == "forebay"
        cells = [f"{one['alone_mb_s']:.0f}", f"{one['slowest_mb_s']:.0f}",
                 verdict(share, OF_ONE_READER) if ours else f"{share:.2f}",
                 "" if fetched is None else verdict(fetched, TIMES_FETCHED, least=False) if ours else f"{fetched:.2f}"]
        yield f"| {NAMES[one['system']]} | {' | '.join(cells)} |"
    yield ""


def of_idle(seen):
    for one in seen:
        if one["part"] == "idle":
            told = verdict(one["each_5_s"], IDLE, least=False)
            yield f"Idle, {one['nodes']} nodes: transactions of a node in 5 s: {told}"
            yield ""


def of_memory(seen):
    for one in seen:
        if one["part"] == "memory":
            yield (f"Memory of daemons, MiB, with {one['names']:,} files in the volume: {one['empty_mib']:.0f} before; the "
                   f"node that made them {one['maker_mib']:.0f}; one that listed 1,000 {one['other_mib']:.0f}; the first, "
                   f"mounted anew, {one['again_mib']:.0f}")
            yield ""


def tables(seen, wanted):
    head = (f"One volume on several nodes; {wanted.repeats} repeats of {wanted.seconds:g} s in turn, medians; "
            f"the bucket answers after {wanted.latency:g} ms, and gives {wanted.rate:g} MB/s a connection")
    return "\n".join([head, "", *of_tasks(seen), *of_fresh(seen), *of_reference(seen), *of_idle(seen), *of_memory(seen)])
