#!/bin/bash
# If this failed, jobs that Snakemake sends by Slurm would not be in the run that sent them, or would
# have no names there.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: snakemake slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter python3
# limit: 300
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

cd "$WORK" || exit 1
cat > Snakefile <<'SMK'
rule gather:
    input: expand("sum.{n}", n=range(4))
    output: "total"
    shell: "cat {input} > {output}"
rule work:
    input: "reads"
    output: "sum.{n}"
    shell: "head -n 20{wildcards.n} {input} | wc -c > {output}"
SMK
# The tasks of rules in a run file, and what they read and wrote of the workflow's files.
cat > told.py <<'PY'
import sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in run.execute("SELECT name, count(*) FROM tasks WHERE name IN ('gather', 'work') GROUP BY 1 ORDER BY 1"):
    print(*row)
for path, written in run.execute("""
    SELECT f.path, sum(o.written_bytes) FROM opens o JOIN files f USING (file)
    WHERE o.written_bytes > 0 AND (f.path LIKE '%sum._' OR f.path LIKE '%total') GROUP BY 1 ORDER BY 1"""):
    print(path.rsplit("/", 1)[-1], written)
PY
export XDG_CACHE_HOME=$WORK/tmp/cache

say "recorded on this machine alone"
mkdir "$WORK/one"
cp Snakefile "$WORK/one"
seq 5000 > "$WORK/one/reads"
(cd "$WORK/one" && "$FOREBAY" run --recorder auto -q -o "$WORK/one.run" -- \
    snakemake --quiet all --cores 2) > "$WORK/out" 2>&1 || { cat "$WORK/out"; fail "the run on one machine"; }

say "a volume on four nodes and the head"
nodes 4
bucket
book
volume_everywhere smk
cluster 4

say "Snakemake on the head, its jobs on the nodes, all recorded"
mkdir "$WORK/volume/run"
cp Snakefile "$WORK/one/reads" "$WORK/volume/run"
# Slurm has no accounts here. Jobs have the plugin, too: the environment goes with them.
export PYTHONPATH=$TOOLS/snakemake-slurm
cd "$WORK/volume/run" || exit 1
"$FOREBAY" run --recorder auto --jobs "$WORK/volume/jobs" --at "$WORK/volume" -o "$WORK/all.run" -- \
    snakemake --executor slurm --jobs 8 --latency-wait 0 --slurm-no-account \
    --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2 \
    --seconds-between-status-checks 2 --default-resources runtime=10 mem_mb=100 \
    > "$WORK/out" 2> "$WORK/summary" ||
    { cat "$WORK/out" "$WORK/summary"; cat .snakemake/slurm_logs/*/*.log; daemon_logs; stop; fail "the run"; }
cd "$WORK" || exit 1
cat summary
check() { # cause
    cat volume/run/.snakemake/slurm_logs/*/*.log; stop; fail "$1"
}
# Each job is one record, its step by srun another.
grep -q "^forebay: 11 run files of [2-5] nodes joined" summary || check "not all was joined"
grep -q "handed over" summary && check "jobs that were recorded are told as not seen"
python3 told.py one.run > one.told
python3 told.py all.run > all.told
diff one.told all.told || check "other tasks or bytes than on one machine"
grep -qx "work 4" all.told || check "tasks have no names"
[ -z "$(ls "$WORK/volume/jobs" 2> /dev/null)" ] || check "records of jobs are left"

stop
volume_nowhere
end_nodes
