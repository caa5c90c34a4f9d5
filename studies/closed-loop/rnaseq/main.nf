// Counts of reads by transcript, in the shape of the common RNA-seq pipelines: each sample is
// trimmed, aligned, sorted and counted in tasks of its own; one index before, one table after.
nextflow.enable.dsl = 2

process index {
    input: path transcripts
    output: path 'index'
    script: "mkdir index && bwa index -p index/all $transcripts"
}

process trim {
    tag "$sample"
    input: tuple val(sample), path(reads)
    output: tuple val(sample), path('*.trimmed.fq')
    script: """
    for read in $reads; do
        zcat \$read | awk 'NR % 2 { print; next } { print substr(\$0, 1, 90) }' \
            > \${read%.fq.gz}.trimmed.fq
    done
    """
}

process align {
    tag "$sample"
    input: tuple val(sample), path(reads); path index
    output: tuple val(sample), path('*.sam')
    script: "bwa mem -v 1 $index/all $reads > ${sample}.sam"
}

process sort {
    tag "$sample"
    input: tuple val(sample), path(sam)
    output: tuple val(sample), path('*.bam'), path('*.bai')
    script: "samtools sort -m 16M -o ${sample}.bam $sam && samtools index ${sample}.bam"
}

process count {
    tag "$sample"
    input: tuple val(sample), path(bam), path(bai)
    output: path '*.counts'
    script: "samtools idxstats $bam | awk -v sample=$sample '{ print sample, \$1, \$3 }' > ${sample}.counts"
}

process merge {
    publishDir 'results', mode: 'copy'
    input: path counts
    output: path 'counts.txt'
    script: "cat $counts | sort -k 2,2 -k 1,1 > counts.txt"
}

workflow {
    reference = index(file("${params.inputs}/transcripts.fa"))
    Channel.fromFilePairs("${params.inputs}/*_{1,2}.fq.gz") | trim
    align(trim.out, reference.first()) | sort | count
    merge(count.out.collect())
}
