#!/usr/bin/env python3
"""Small workloads through `forebay simulate` and through SimGrid: makespans within 1 %.

If this fails, one of two simulators that were written apart is wrong about how flows share links,
how barriers hold jobs back, or how jobs wait for cores. Usage: compare.py FOREBAY [SEEDS]
"""

import importlib.util
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import cases
import ours
import theirs

MOST = 0.01


def main():
    if importlib.util.find_spec("simgrid") is None:
        print(f"simgrid: SimGrid is missing\n  where: {sys.executable}\n"
              "  next:  tests/simgrid/setup.sh", file=sys.stderr)
        return 1
    forebay, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    wrong, worst, count = 0, 0.0, 0
    all_cases = [*cases.by_hand(), *map(cases.from_seed, range(seeds))]
    with tempfile.TemporaryDirectory() as folder:
        for case in all_cases:
            here = ours.makespan(case, forebay, pathlib.Path(folder))
            there = theirs.makespan(case)
            error = abs(here / there - 1)
            worst, count = max(worst, error), count + 1
            if error > MOST:
                wrong += 1
                print(f"simgrid: {case['name']}: {here:.3f} s here, {there:.3f} s in SimGrid")
    print(f"simgrid: {count} cases, {wrong} wrong; the farthest apart by {worst:.3%}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
