#!/bin/bash
# If this failed, Nextflow with Slurm could not work on a volume that all nodes write: tasks would end
# "for an unknown reason", results would come late or not, or differ from those of one machine.
# ring: short
# as: root
# alone: yes
# bare: no
# needs: nextflow java slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter
# limit: 300
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

cat > main.nf <<'NF'
params.reads = 'reads.txt'
process SPLIT {
    input: path reads
    output: path 'chunk.*'
    script: "split -l 500 $reads chunk."
}
process WORK {
    tag "$chunk"
    input: path chunk
    output: tuple path('sum.txt'), path('large')
    script: """
        awk '{s += \$1} END {print s}' $chunk > sum.txt
        seq 20000 > large
        echo \${SLURMD_NODENAME:-here} > node.txt
    """
}
process GATHER {
    publishDir "${params.out}", mode: 'copy'
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

say "on this machine alone"
nextflow -q run main.nf -profile here -w "$WORK/bare-work" --out "$WORK/bare" > "$WORK/out" ||
    { tail -50 .nextflow.log; fail "the bare run"; }

say "a volume on four nodes and the head"
nodes 4
bucket
book
volume_everywhere flow
cluster 4

say "Nextflow on the head, its tasks on the nodes"
# All of it is in the volume, `.nextflow` with its locks and its database too.
cp main.nf nextflow.config reads.txt "$WORK/volume"
cd "$WORK/volume" || exit 1
nextflow -q run main.nf -profile nodes --out "$WORK/volume/results" > "$WORK/out" ||
    { tail -50 .nextflow.log; cat "$WORK/out" "$etc"/*.log; daemon_logs; stop; fail "the run"; }
same "$WORK/bare/total.txt" "$WORK/volume/results/total.txt"
cat "$WORK"/volume/work/*/*/node.txt | sort | uniq -c | tee used
[ "$(wc -l < used)" -ge 2 ] || { stop; fail "all tasks ran on one node"; }
[ "$(cat "$WORK"/volume/work/*/*/.exitcode)" = 00000000000000 ] || { stop; fail "not all exit codes are there"; }

say "-resume finds all of it"
nextflow -q run main.nf -profile nodes -resume --out "$WORK/volume/results" > "$WORK/out" ||
    { tail -50 .nextflow.log; stop; fail "-resume"; }
[ "$(node 1 cat "$WORK/volume/.nextflow/history" | wc -l)" = 2 ] || { stop; fail "the history has not both runs"; }
[ "$(find "$WORK/volume/work" -mindepth 2 -maxdepth 2 -name '??*' -path '*/work/??/*' | wc -l)" = 14 ] ||
    { tail -50 .nextflow.log; stop; fail "-resume ran tasks again"; }
cd "$WORK" || exit 1

stop
volume_nowhere
end_nodes
