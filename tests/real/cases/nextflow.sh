#!/bin/bash
# If this failed, Nextflow's cache (mapped files, fcntl locks) would break, or -resume would run
# finished tasks again because a size, time or path looks different covered.
# ring: short
# as: root,packed
# as-long: ruled,user,traced
# bare: self
# needs: nextflow java
# limit: 300
set -eu
. "$REAL/lib.sh"

cat > main.nf <<'NF'
process SPLIT {
    input: path reads
    output: path 'chunk.*'
    script: "split -l 50 $reads chunk."
}
process WORK {
    tag "$chunk"
    input: path chunk
    output: path 'sum.txt'
    script: "awk '{s += \$1} END {print s}' $chunk > sum.txt; cp -L $chunk copy; ln copy hard"
}
process GATHER {
    publishDir 'results', mode: params.publish
    input: path 'sum*.txt'
    output: path 'total.txt'
    script: "cat sum*.txt | awk '{s += \$1} END {print s}' > total.txt; echo \$PWD"
}
params.publish = 'link'
workflow { SPLIT(file('reads.txt')) | flatten | WORK | collect | GATHER }
NF
seq 200 > reads.txt
touch -d '2024-05-06 07:08:09.123456789' reads.txt
cat > nextflow.config <<'CONF'
executor.queueSize = 2
trace.enabled = true
trace.overwrite = true
trace.file = 'trace.txt'
CONF

cached() {  # RAN CACHED: the numbers of the last run's tasks, from its trace
    local ran hit
    ran=$(awk -F'\t' 'NR > 1 && $5 == "COMPLETED"' trace.txt | wc -l)
    hit=$(awk -F'\t' 'NR > 1 && $5 == "CACHED"' trace.txt | wc -l)
    [ "$ran $hit" = "$1 $2" ] ||
        { cat trace.txt .nextflow.log | tail -50; fail "$3: $ran ran, $hit cached"; }
    [ "$(cat results/total.txt)" = "$4" ] || fail "$3: total $(cat results/total.txt)"
}
first=(nextflow -q run main.nf)
again=(nextflow -q run main.nf -resume)

"${first[@]}" > "$WORK/out"
cached 6 0 "bare run" 20100
covered "${again[@]}" > "$WORK/out" || { tail -50 .nextflow.log; fail "-resume after bare"; }
cached 0 6 "covered -resume after bare" 20100

say "the other way round"
rm -rf work results .nextflow*
covered "${first[@]}" > "$WORK/out" || { tail -50 .nextflow.log; fail "covered run"; }
cached 6 0 "covered run" 20100
[ "$(stat -c %h results/total.txt)" = 2 ] || fail "publishDir link made no hard link"
"${again[@]}" > "$WORK/out"
cached 0 6 "bare -resume after covered" 20100

say "one input changed outside: all downstream runs again, covered"
seq 201 400 > reads.txt
covered "${again[@]}" > "$WORK/out" || { tail -50 .nextflow.log; fail "covered -resume"; }
cached 6 0 "covered -resume after a change" 60100
