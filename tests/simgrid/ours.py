"""A case as files of ours, and what `forebay simulate` makes of it."""

import json
import subprocess


def site(case):
    lines = ["[nodes]", f"cores = {case['cores']}", f"count = {case['nodes']}"]
    for name, has in case["storages"].items():
        node = f', node = "{has["node"]} MB/s"' if has["node"] else ""
        lines += [f"[tier.{name}]", 'reach = "shared"', f"[tier.{name}.profile]", 'source = "a test"']
        for way in ("read", "write"):
            rates = f'stream = "{has["stream"]} MB/s", total = "{has[way]} MB/s"{node}'
            lines.append(f"{way} = {{ {rates} }}")
    return "\n".join(lines) + "\n"


def workload(case):
    """Each step that moves bytes has a family of files; those that are written are made there."""
    families, stages = [], []
    for stage in case["stages"]:
        steps = []
        for number, step in enumerate(stage["steps"]):
            if step[0] == "compute":
                steps.append(f'{{ name = "{number}", compute = "{step[1]} s" }}')
                continue
            if step[0] == "back":
                _, storage, size = stage["steps"][step[1]]
                name = f"{stage['name']}_{step[1]}"
                steps.append(f'{{ name = "{number}", files.{name} = {{ read = "{size}" }} }}')
                continue
            way, storage, size = step
            name = f"{stage['name']}_{number}"
            families += [f"[files.{name}]", f'path = "{storage}/{way}/{name}/#"',
                         f'bytes = "{size * stage["jobs"]}"', f'per = "{stage["name"]}"']
            steps.append(f'{{ name = "{number}", files.{name} = {{ {way} = "{size}" }} }}')
        after = ", ".join(f'"{name}"' for name in stage["after"])
        stages += ["[[stage]]", f'name = "{stage["name"]}"', f"after = [{after}]", "cores = 1",
                   f"jobs = {stage['jobs']}", "step = [", *(f"  {step}," for step in steps), "]"]
    return "\n".join([f'name = "{case["name"]}"', *families, *stages]) + "\n"


def rules(case, project):
    """What is written elsewhere lives there; it comes home only if the case says so."""
    after = "restore" if case["home"] else "keep"
    return "\n".join(f'[[rule]]\nmatch = "{name}/write/**"\nhome = "{name}"\nafter = "{after}"\n'
                     for name in case["storages"] if name != project)


def makespan(case, forebay, folder):
    """Seconds, by the engine for searching."""
    (folder / "site.toml").write_text(site(case))
    (folder / "workload.toml").write_text(workload(case))
    (folder / "rules.toml").write_text(rules(case, "slow"))
    command = [forebay, "simulate", folder / "workload.toml", "--site", folder / "site.toml",
               "--rules", folder / "rules.toml", "--project", "slow", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"forebay simulate: {done.stderr.strip()}")
    return json.loads(done.stdout)["makespan_s"]
