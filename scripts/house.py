#!/usr/bin/env python3
"""Reports on the shape of the Rust sources: lines, names, and modules that import each other.

    scripts/house.py [--knots]     --knots names each import that a knot consists of

It is a report and refuses nothing. Functions of tests are counted apart: their names are sentences.
A knot is a set of top-level modules of a crate of which each reaches each other by `use` (a strongly
connected component); paths in the midst of code, as `crate::a::b()`, count too.
"""

import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

FUNCTION = re.compile(
    r'^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern "C"\s+)?fn\s+(\w+)', re.M
)
TEST = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn\s+(\w+)")
PATH = re.compile(r"\bcrate::(\w+)")
GROUP = re.compile(r"\bcrate::\{([^;]*?)\};", re.S)


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "crates/*.rs", "bench/*.rs"], capture_output=True, text=True, check=True
    )
    return {path: Path(path).read_text() for path in listed.stdout.split()}


def without_tests(text):
    """The text before its module of tests, which is the last thing in a file."""
    return re.split(r"^#\[cfg\(test\)\]\n(?:#\[[^\]]*\]\n)*mod tests \{", text, flags=re.M)[0]


def is_test(path):
    return path.endswith("tests.rs") or "/tests/" in path or "/examples/" in path


def lines(files):
    count = Counter()
    for path, text in files.items():
        crate = path.split("/")[1] if path.startswith("crates/") else "bench"
        whole = text.count("\n")
        own = 0 if is_test(path) else without_tests(text).count("\n")
        count[crate, "code"] += own
        count[crate, "tests"] += whole - own
    print("lines of Rust            code     tests")
    for crate in sorted({crate for crate, _ in count}):
        print(f"  {crate:<18} {count[crate, 'code']:>8,} {count[crate, 'tests']:>9,}")
    code, tests = (sum(n for (_, kind), n in count.items() if kind == what) for what in ("code", "tests"))
    print(f"  {'all':<18} {code:>8,} {tests:>9,}")


def names(files):
    functions, tests = [], []
    for path, text in files.items():
        of_tests = TEST.findall(text)
        tests += of_tests
        if not is_test(path):
            functions += FUNCTION.findall(without_tests(text))
    lengths = [len(name) for name in functions]
    single = sum("_" not in name.strip("_") for name in functions) / len(functions)
    print(f"\nfunctions: {len(functions):,}, names of {statistics.mean(lengths):.1f} characters on "
          f"average, {100 * single:.0f} % a single word")
    print(f"tests: {len(tests):,}, names of {statistics.mean(map(len, tests)):.1f} characters")
    common = Counter(name for name in functions).most_common(12)
    print("most common: " + ", ".join(f"{name} {count}" for name, count in common))
    stems = Counter(Path(path).stem for path in files if not is_test(path))
    shared = {stem: n for stem, n in stems.items() if n > 3 and stem not in ("lib", "main", "mod")}
    files_shared = sum(n for n in stems.values() if n > 1) / sum(stems.values())
    print(f"files: {sum(stems.values()):,}, {100 * files_shared:.0f} % share their stem with another; "
          "more than three have: " + ", ".join(f"{s} {n}" for s, n in sorted(shared.items(), key=lambda x: -x[1])))


def imports(files):
    """For each crate, which top-level module names which, and where."""
    graph = defaultdict(lambda: defaultdict(set))
    for path, text in files.items():
        parts = Path(path).parts
        if parts[0] != "crates" or "src" not in parts or is_test(path) or len(parts) < 4:
            continue
        crate, module = parts[1], Path(parts[3]).stem
        if module in ("lib", "main"):
            continue
        code = re.sub(r"//.*", "", without_tests(text))
        named = set(PATH.findall(code))
        for group in GROUP.findall(code):
            depth, word = 0, ""
            for c in group + ",":
                if c == "," and depth == 0:
                    named.add(word.strip().split("::")[0])
                    word = ""
                    continue
                depth += (c == "{") - (c == "}")
                word += c
        for other in named - {module}:
            graph[crate][module, other].add(path)
    return graph


def knots(edges):
    """Strongly connected components of more than one module (Tarjan 1972)."""
    after = defaultdict(set)
    modules = {module for module, _ in edges}
    for module, other in edges:
        if other in modules:
            after[module].add(other)
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in after[module]:
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            knot = set()
            while module not in knot:
                knot.add(stack.pop())
            if len(knot) > 1:
                found.append(knot)

    for module in sorted(modules):
        if module not in index:
            visit(module)
    return found


def main():
    files = sources()
    lines(files)
    names(files)
    print()
    for crate, edges in sorted(imports(files).items()):
        for knot in knots(edges):
            inner = {edge: where for edge, where in edges.items() if set(edge) <= knot}
            print(f"{crate}: a knot of {len(knot)} modules, {len(inner)} imports: {', '.join(sorted(knot))}")
            if "--knots" in sys.argv:
                for (module, other), where in sorted(inner.items()):
                    print(f"  {module} -> {other}: {len(where)} files, such as {sorted(where)[0]}")


if __name__ == "__main__":
    main()
