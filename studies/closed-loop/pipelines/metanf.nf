nextflow.enable.dsl = 2

process DATABASE {
    input: path genomes
    output: path 'database'
    script:
    """
    mkdir -p database/taxonomy
    taxon=1
    printf '1\\t|\\t1\\t|\\tno rank\\t|\\n' > database/taxonomy/nodes.dmp
    printf '1\\t|\\troot\\t|\\t\\t|\\tscientific name\\t|\\n' > database/taxonomy/names.dmp
    for genome in $genomes; do
        taxon=\$((taxon + 1))
        printf "\$taxon\\t|\\t1\\t|\\tspecies\\t|\\n" >> database/taxonomy/nodes.dmp
        printf "\$taxon\\t|\\t\$genome\\t|\\t\\t|\\tscientific name\\t|\\n" >> database/taxonomy/names.dmp
        sed "s/^>/>kraken:taxid|\$taxon|/" \$genome > labelled.fa
        kraken2-build --add-to-library labelled.fa --db database --no-masking > library.log 2>&1
    done
    kraken2-build --build --db database --threads 1 > build.log 2>&1
    """
}

process TRIM {
    tag "$sample"
    input: tuple val(sample), path(reads)
    output: tuple val(sample), path('trimmed_*.fq.gz')
    script:
    """
    fastp -w 1 -i ${reads[0]} -I ${reads[1]} -o trimmed_1.fq.gz -O trimmed_2.fq.gz \
        -j report.json -h report.html 2> fastp.log
    """
}

process CLASSIFY {
    tag "$sample"
    input:
    tuple val(sample), path(reads)
    path database
    output: path "${sample}.report"
    script:
    """
    kraken2 --db $database --threads 1 --paired --report ${sample}.report --output ${sample}.kraken \
        --unclassified-out unclassified#.fq ${reads[0]} ${reads[1]} 2> kraken2.log
    """
}

process SKETCH {
    tag "$sample"
    input: tuple val(sample), path(reads)
    output: path "${sample}.msh"
    script: "zcat $reads > reads.fq && mash sketch -r -m 2 -s 5000 -o $sample reads.fq 2> mash.log"
}

process DISTANCES {
    publishDir 'results', mode: 'copy'
    input: path sketches
    output: path 'distances.tsv'
    script: "mash paste all $sketches 2> paste.log && mash dist all.msh all.msh > distances.tsv"
}

process KMERS {
    tag "$sample"
    input: tuple val(sample), path(reads)
    output: path "${sample}.histogram"
    script:
    """
    zcat $reads > reads.fq
    jellyfish count -m 21 -s 5M -t 1 -C -o counts.jf reads.fq
    jellyfish histo counts.jf > ${sample}.histogram
    """
}

process RENAME {
    tag "$sample"
    input: tuple val(sample), path(reads)
    output: path "${sample}_*.fq.gz"
    script: "cp ${reads[0]} ${sample}_1.fq.gz && cp ${reads[1]} ${sample}_2.fq.gz"
}

process ASSEMBLE {
    publishDir 'results', mode: 'copy'
    input: path reads
    output: path 'contigs.fa'
    script:
    """
    cat *_1.fq.gz > all1.fq.gz
    cat *_2.fq.gz > all2.fq.gz
    seqtk sample -s1 all1.fq.gz 4000 > part1.fq
    seqtk sample -s1 all2.fq.gz 4000 > part2.fq
    megahit -t ${task.cpus} --k-list 21,31 -1 part1.fq -2 part2.fq -o assembly > megahit.log 2>&1
    cp assembly/final.contigs.fa contigs.fa
    """
}

process SUMMARY {
    publishDir 'results', mode: 'copy'
    input:
    path reports
    path histograms
    output: path 'summary.txt'
    script: "cat $reports $histograms > summary.txt"
}

workflow {
    samples = Channel.fromFilePairs("${params.inputs}/s?_{1,2}.fq.gz")
    database = DATABASE(Channel.fromPath("${params.inputs}/{first,second,third}.fa").collect())
    trimmed = TRIM(samples)
    CLASSIFY(trimmed, database.first())
    DISTANCES(SKETCH(trimmed).collect())
    KMERS(trimmed)
    ASSEMBLE(RENAME(trimmed).flatten().collect())
    SUMMARY(CLASSIFY.out.collect(), KMERS.out.collect())
}
