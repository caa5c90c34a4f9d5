"""Rules and site files against the JSON Schemas that editors get, and against Forebay itself.

    tests/schema/check.py FOREBAY

If this fails, an editor underlines what Forebay takes, or is content with what it refuses.
Needs jsonschema (the demo's venv has it with Snakemake).
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
SITE = '[tier.scratch]\npath = "/tmp"\nreach = "node"\n'
RULE = '[[rule]]\nmatch = "a"\nhome = "scratch"\n'
CACHE = '[[metadata_cache]]\nmatch = "a"\n'

# What both refuse, beside what both take.
WRONG = {
    "rules": [
        "rule = 1",
        "[[rules]]",
        "[[rule]]\nmatch = \"a\"",
        "[[rule]]\nmatch = []\nhome = \"scratch\"",
        "[[rule]]\nmatch = 1\nhome = \"scratch\"",
        RULE + 'layout = "zipped"',
        RULE + 'after = "retore"',
        RULE + 'ahead = "on-open"',
        RULE + "publishes = \"scratch\"",
        CACHE,
        CACHE + "timeout = 2",
        CACHE + 'timeout = "2"',
        CACHE + 'timeout = "2 weeks"',
    ],
    "site": [
        "",
        "[tier]",
        '[tier.Scratch]\npath = "/tmp"\nreach = "node"',
        SITE + 'capacity = "200 G"',
        SITE + "capacity = 200",
        SITE + 'reech = "node"',
        SITE.replace('"node"', '"nodes"'),
        SITE + '[tier.scratch.profile]\nlatency = "5 ms"',
        SITE + '[tier.scratch.profile]\nsource = "x"\nlatency = { opens = "5 ms" }',
        SITE + '[tier.scratch.profile]\nsource = "x"\nread = { total = "125 MiB" }',
        SITE + '[tier.scratch.profile]\nsource = "x"\nkeeps_written = "no"',
        SITE + "[nodes]\ncount = 2",
        SITE + "[nodes]\ncores = 0",
    ],
}
RIGHT = {
    "rules": [
        "",
        RULE + 'layout = "packed"\nfsync = "scratch"\nafter = "discard"\n',
        CACHE + 'timeout = "1.5 min"',
    ],
    "site": [
        SITE + 'capacity = " 1.5  tib "\n[tier.scratch.pools]\ntemp = "4096"',
        SITE + '[tier.scratch.profile]\nsource = "x"\nlatency = { names = "5 ms", read = "1us" }\n'
        'read = { total = "125 MiB/s", burst = "1 GB/s", credits = "2 TiB" }',
        SITE + "[nodes]\ncores = 8\nspeed = 1.5",
    ],
}


def takes(forebay: str, kind: str, text: str) -> bool:
    """Whether Forebay reads such a file."""
    with tempfile.TemporaryDirectory() as folder:
        site, rules = Path(folder, "site.toml"), Path(folder, "rules.toml")
        site.write_text(text if kind == "site" else SITE)
        rules.write_text(text if kind == "rules" else "")
        words = [forebay, "run", "-q", "--site", str(site), "--rules", str(rules), "--", "true"]
        return subprocess.run(words, capture_output=True, cwd=folder).returncode == 0


def main() -> int:
    """Compares both; returns 1 with a line for each difference."""
    (forebay,) = sys.argv[1:]
    flaws, files = [], {"rules": "examples/rules/*.toml", "site": "sites/*.toml"}
    for kind in WRONG:
        schema = json.loads(
            subprocess.run(
                [forebay, "manual", "--schema", kind], capture_output=True, check=True
            ).stdout
        )
        jsonschema.Draft7Validator.check_schema(schema)
        editor = jsonschema.Draft7Validator(schema)
        shipped = sorted(ROOT.glob(files[kind]))
        assert shipped, f"no files: {files[kind]}"
        for path in shipped:
            for flaw in editor.iter_errors(tomllib.loads(path.read_text())):
                flaws.append(f"{path.relative_to(ROOT)}: an editor refuses it: {flaw.message}")
        for texts, expected in (WRONG[kind], False), (RIGHT[kind], True):
            for text in texts:
                seen = editor.is_valid(tomllib.loads(text)), takes(forebay, kind, text)
                if seen != (expected, expected):
                    flaws.append(f"{kind} {text!r}: editor {seen[0]}, Forebay {seen[1]}")
    print("\n".join(flaws) or "editors and Forebay agree")
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())
