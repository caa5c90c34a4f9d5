#!/bin/bash
# If this failed, a pipeline whose tasks run on other nodes would be recorded in part: tasks without
# their node, bytes that nobody read, or jobs that fail because somebody looks on.
# ring: short
# as: root
# alone: yes
# bare: no
# needs: nextflow java slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter python3
# limit: 300
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

cd "$WORK" || exit 1
cat > main.nf <<'NF'
params.reads = 'reads.txt'
process SPLIT {
    input: path reads
    output: path 'chunk.*'
    script: "split -l 1000 $reads chunk."
}
process WORK {
    tag "$chunk"
    input: path chunk
    output: tuple path('sum.txt'), path('large')
    script: """
        awk '{s += \$1} END {print s}' $chunk > sum.txt
        seq 20000 > large
        sleep 1
    """
}
process GATHER {
    input:
        path 'sum*.txt'
        path 'large*'
    output: path 'total.txt'
    script: "cat sum*.txt | awk '{s += \$1} END {print s}' > total.txt; cat large* | wc -c >> total.txt"
}
workflow {
    sums = SPLIT(file(params.reads)) | flatten | WORK
    GATHER(sums.map { it[0] }.collect(), sums.map { it[1] }.collect())
}
NF
seq 6000 > reads.txt
cat > nextflow.config <<'CONF'
profiles {
    here { process.executor = 'local' }
    nodes {
        process.executor = 'slurm'
        executor { queueSize = 8; pollInterval = '1s'; queueStatInterval = '1s'; exitReadTimeout = '5s' }
    }
}
CONF
# What a run file says of the tasks' files: NAME READ WRITTEN, and of tasks: task NAME COUNT.
cat > told.py <<'PY'
import re, sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = run.execute("""
    SELECT f.path, sum(o.read_bytes), sum(o.written_bytes) FROM opens o JOIN files f USING (file)
    JOIN processes p USING (process) JOIN tasks t USING (task)
    WHERE t.engine = 'nextflow' AND t.kind = 'task' GROUP BY f.path""").fetchall()
sums = {}
for path, read, written in rows:
    name = path.rsplit("/", 1)[-1]
    if re.match(r"(sum|large|chunk|total|reads)", name):
        at = sums.setdefault(name, [0, 0])
        at[0] += read or 0
        at[1] += written or 0
for name in sorted(sums):
    print(name, *sums[name])
for name, count in run.execute(
    "SELECT name, count(*) FROM tasks WHERE engine = 'nextflow' AND kind = 'task' GROUP BY name ORDER BY name"):
    print("task", name, count)
PY

say "recorded on this machine alone"
mkdir "$WORK/one"
cp main.nf nextflow.config reads.txt "$WORK/one"
(cd "$WORK/one" && "$FOREBAY" run --recorder auto -q -o "$WORK/one.run" -- \
    nextflow -q run main.nf -profile here -w "$WORK/one/work" > "$WORK/out") ||
    { tail -50 "$WORK/one/.nextflow.log"; fail "the run on one machine"; }

say "a volume on four nodes and the head"
nodes 4
bucket
book
volume_everywhere flow
cluster 4

say "Nextflow on the head, its tasks on the nodes, all recorded"
cp main.nf nextflow.config reads.txt "$WORK/volume"
mkdir "$WORK/head"
cd "$WORK/head" || exit 1
"$FOREBAY" run --recorder auto --jobs "$WORK/volume/jobs" --at "$WORK/volume" -o "$WORK/all.run" -- \
    nextflow -q run "$WORK/volume/main.nf" -c "$WORK/volume/nextflow.config" -profile nodes \
    -w "$WORK/volume/work" --reads "$WORK/volume/reads.txt" > "$WORK/out" 2> "$WORK/summary" ||
    { tail -50 .nextflow.log; cat "$WORK/out" "$WORK/summary" "$etc"/*.log; daemon_logs; stop; fail "the run"; }
cat "$WORK/summary"
cd "$WORK" || exit 1
check() { # cause
    cat "$WORK"/volume/work/*/*/.command.log; stop; fail "$1"
}
grep -q "9 run files of 5 nodes joined" summary || check "not all was joined"
# The head may be one of them: programs of Nextflow's launcher are tasks there.
grep -q "Tasks ran on [345] nodes" summary || check "nodes are not told"
grep -q "sbatch" summary && check "jobs that were recorded are told as not seen"
python3 told.py one.run > one.told
python3 told.py all.run > all.told
same one.told all.told
grep -q "task WORK 6" all.told || check "tasks have no names"
[ -z "$(ls "$WORK/volume/jobs" 2> /dev/null)" ] || check "records of jobs are left"

say "arrays, steps, jobs that are cancelled and killed"
mkdir "$WORK/volume/plain"
cat > "$WORK/volume/plain/array.sh" <<'SH'
#!/bin/bash
#SBATCH --array=1-5
#SBATCH --output=/dev/null
cd "$1" && seq $SLURM_ARRAY_TASK_ID > "array.$SLURM_ARRAY_TASK_ID"
SH
cat > "$WORK/volume/plain/flow.sh" <<'SH'
cd "$1"
sbatch --wait ./array.sh "$1"
sbatch --wait --output=/dev/null --wrap="cat array.* > '$1/whole'; exit 3"
[ $? = 3 ] || exit 1
sbatch --wait --output=/dev/null <<JOB
#!/bin/sh
#SBATCH -n 2
srun -n 2 cp "$1/whole" "$1/copy.\$SLURM_JOB_ID"
JOB
cancelled=$(sbatch --parsable --output=/dev/null --wrap="touch '$1/began'; sleep 600")
while [ ! -e began ]; do sleep 0.1; done
scancel "$cancelled"
while squeue -h -j "$cancelled" 2> /dev/null | grep -q .; do sleep 0.2; done
# Here the recorder goes first.
sbatch --wait --output=/dev/null --wrap='kill -KILL $PPID; sleep 600'
true
SH
"$FOREBAY" run --recorder auto --jobs "$WORK/volume/jobs" --at "$WORK/volume" -o "$WORK/plain.run" -- \
    bash "$WORK/volume/plain/flow.sh" "$WORK/volume/plain" > "$WORK/out" 2> "$WORK/summary" ||
    { cat "$WORK/out" "$WORK/summary" "$etc"/*.log; stop; fail "the plain jobs"; }
cat summary
grep -q "1 job has begun and left no record" summary || check "a killed job is not told"
python3 - plain.run <<'PY' || check "plain jobs"
import sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
kinds = dict(run.execute("SELECT name, count(*) FROM tasks WHERE kind = 'task' GROUP BY name"))
wanted = {"seq": 5, "cp": 2, "cat": 1, "touch": 1}
assert {name: kinds.get(name) for name in wanted} == wanted, kinds
made = dict(run.execute("""SELECT f.path, sum(o.written_bytes) FROM opens o JOIN files f USING (file)
                           WHERE f.path LIKE 'plain/array._' GROUP BY 1"""))
assert made == {f"plain/array.{n}": 2 * n for n in range(1, 6)}, made
PY

stop
volume_nowhere
end_nodes
