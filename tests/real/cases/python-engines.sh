#!/bin/bash
# If this failed, steps of workflows for cwltool, Toil and Ruffus would have no names of their own, or
# these engines would not run under Forebay.
# ring: long
# as: root,user
# needs: python3
# bare: no
# limit: 300
set -u
. "$REAL/lib.sh"
engines=$TOOLS/python-engines
[ -d "$engines" ] || skip "tests/real/setup.sh installs Toil, cwltool and Ruffus"
export PYTHONPATH=$engines PATH=$engines/bin:$PATH HOME=$WORK/home XDG_CACHE_HOME=$WORK/tmp/cache
mkdir -p "$HOME"

cat > flow.cwl <<'CWL'
cwlVersion: v1.2
class: Workflow
inputs: {reads: File}
outputs: {count: {type: File, outputSource: count/out}}
steps:
  sort:
    in: {file: reads}
    out: [out]
    run:
      class: CommandLineTool
      baseCommand: [sort, -r]
      inputs: {file: {type: File, inputBinding: {}}}
      stdout: sorted
      outputs: {out: {type: stdout}}
  count:
    in: {file: sort/out}
    out: [out]
    run:
      class: CommandLineTool
      baseCommand: [wc, -l]
      inputs: {file: {type: File, inputBinding: {}}}
      stdout: count.txt
      outputs: {out: {type: stdout}}
CWL
cat > flow.py <<'PY'
import subprocess
from ruffus import originate, pipeline_run, suffix, transform


@originate(["a.in", "b.in"])
def make(out):
    subprocess.check_call(f"seq 1000 > {out}", shell=True)


@transform(make, suffix(".in"), ".sorted")
def sort_reads(source, out):
    subprocess.check_call(["sort", "-r", "-o", out, source])


pipeline_run(multiprocess=2, verbose=0)
PY
seq 1000 > reads

steps() { # NAME EXPECTED COMMAND...: a run's tasks of these programs, with how many there are of each
    local name=$1 expected=$2 found
    shift 2
    "$FOREBAY" run --recorder auto -q -o "$WORK/runs/$name.run" -- "$@" > "$WORK/$name.out" 2>&1 ||
        { tail -30 "$WORK/$name.out"; fail "$name"; }
    found=$(python3 - "$WORK/runs/$name.run" <<'PY'
import sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = run.execute("""SELECT name, count(*) FROM tasks WHERE kind = 'task' AND name IN ('seq', 'sort', 'wc')
                      GROUP BY 1 ORDER BY 1""")
print(*(f"{name}:{count}" for name, count in rows))
PY
)
    [ "$found" = "$expected" ] || fail "$name: steps are: $found"
}

say "cwltool"
steps cwltool "sort:1 wc:1" python "$engines/bin/cwltool" --outdir cwl flow.cwl --reads reads
grep -q '^1000 ' cwl/count.txt || fail "another result"

say "Toil"
steps toil "sort:1 wc:1" python "$engines/bin/toil-cwl-runner" --outdir toil --workDir "$WORK/tmp" \
    --jobStore "$WORK/store" flow.cwl --reads reads
grep -q '^1000 ' toil/count.txt || fail "another result"

say "Ruffus"
steps ruffus "seq:2 sort:2" python flow.py
[ "$(head -1 b.sorted)" = 999 ] || fail "another result"
