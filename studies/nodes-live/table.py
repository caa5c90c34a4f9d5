"""What was published, predicted and measured, side by side."""


def figure(figures, finding):
    """What stands for a finding."""
    rate = lambda storage, size: figures[storage, size]["rate"]
    if finding.figure == "waited":
        return figures[finding.storage, finding.at]["waited"]
    if finding.figure == "rate":
        return rate(finding.storage, finding.at) / rate(finding.storage, finding.over)
    ahead = [rate("lustre", size) / rate("nfs", size) for size in (finding.at, finding.over)]
    return ahead[0] / ahead[1]


def tell(study):
    """The table and the findings; their figures."""
    print("\n| storage | nodes | jobs | published | predicted: an hour | efficiency | waited |"
          " measured: an hour | efficiency | waited |\n" + "|---" * 10 + "|")
    for (storage, size), told in study.before.items():
        cells = [f"{one['rate']:.0f} | {one['efficiency']:.0%} | {one['waited']:.1%}"
                 for one in (told, study.after[storage, size])]
        words = study.program.published[storage] if size == study.sizes[0] else ""
        print(f"| {storage} (emulated) | {size[0]} | {size[1]} | {words} | {' | '.join(cells)} |")
        yield {"program": study.name, "storage": storage, "nodes": size[0], "jobs": size[1],
               "predicted": told, "measured": study.after[storage, size]}
    print("\n| published finding | stands for it | predicted | | measured | |\n" + "|---" * 6 + "|")
    for one in study.program.findings:
        bound = f"at least {one.least}" if one.least is not None else f"at most {one.most}"
        bound = bound if one.figure != "advantage" else "above 1"
        what = {"rate": "jobs an hour, times those of fewer nodes", "waited": "share waited",
                "advantage": "Lustre over NFS, times that of fewer jobs"}[one.figure]
        cells = []
        for figures in (study.before, study.after):
            value = figure(figures, one)
            over = one.least is None or (value > one.least if one.figure == "advantage"
                                         else value >= one.least)
            holds = over and (one.most is None or value <= one.most)
            cells += [f"{value:.3f}", "holds" if holds else "does not"]
        print(f"| {one.words} | {what}: {bound} | {' | '.join(cells)} |", flush=True)
        yield {"program": study.name, "finding": one.words, "predicted": cells[:2],
               "measured": cells[2:]}
