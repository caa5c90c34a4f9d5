// A batch of samples, each aligned and called by itself, then put together. A task sorts and packs its
// lines for half a second, and sleeps where it would compute longer: four nodes have two cores here.
// Each begins with a line in `started`, outside of the volume: its number, when, and where.
params.samples = 40
process ALIGN {
    tag "$sample"
    input: val sample
    output: tuple val(sample), path("${sample}.sorted.gz")
    script:
    """
    echo "\$(date +%s.%N) \$SLURMD_NODENAME" >> ${params.started}/align-$sample
    seq $sample 30000 | awk '{print (\$1 * 7919) % 30011, \$1}' | sort -n | gzip -1 > ${sample}.sorted.gz
    sleep ${5 + sample % 4}
    sync ${sample}.sorted.gz
    """
}
process CALL {
    tag "$sample"
    input: tuple val(sample), path(sorted)
    output: path "${sample}.txt"
    script:
    """
    echo "\$(date +%s.%N) \$SLURMD_NODENAME" >> ${params.started}/call-$sample
    zcat $sorted | awk '\$1 % 97 == 0 {n++; s += \$2} END {print $sample, n, s}' > ${sample}.txt
    sleep 3
    sync ${sample}.txt
    """
}
process GATHER {
    publishDir "${params.out}", mode: 'copy'
    input: path calls
    output: path 'calls.txt'
    script:
    """
    echo "\$(date +%s.%N) \$SLURMD_NODENAME" >> ${params.started}/gather
    sort -n $calls > calls.txt
    sync calls.txt
    """
}
workflow { Channel.of(1..params.samples) | ALIGN | CALL | collect | GATHER }
