# From reads to one BAM a sample: split, map, sort, scatter, gather, mark duplicates, concatenate.

# A fixed batch (-K, in bases) keeps bwa's insert-size estimate, and so its output, independent of
# the number of threads. -T 0 keeps all alignments, as Genomon does.
BWA = ("bwa mem -T 0 -K 10000000 -R '@RG\\tID:{wildcards.sample}\\tSM:{wildcards.sample}"
       "\\tLB:{wildcards.sample}\\tPL:ILLUMINA' {input.ref} {input.mates} > {output} 2> {log}")

# One thread each: the array's jobs are the parallelism. blockmb is the sort buffer (MiB).
BAMSORT = ("bamsort verbose=0 level=1 blockmb=64 inputthreads=1 outputthreads=1 index=1 "
           "calmdnm=1 calmdnmrecompindetonly=1 calmdnmreference={input.ref} "
           "tmpfile={output.bam}.tmp indexfilename={output.bai} "
           "inputformat=sam I={input.sam} O={output.bam} 2> {log}")


rule split:
    input:
        expand("data/{{sample}}_{mate}.fq.gz", mate=MATES),
    output:
        temp(expand("split/{{sample}}/{piece}_{mate}.fq", piece=PIECES, mate=MATES)),
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        pieces=len(PIECES),
        split=script("split_fastq"),
    shell:
        "{params.split} {input} --pieces {params.pieces} --out {params.folder}"


rule map:
    input:
        ref="reference/reference.fa",
        index=rules.reference.output.index,
        mates=expand("split/{{sample}}/{{piece}}_{mate}.fq", mate=MATES),
    output:
        temp("map/{sample}/{piece}.sam"),
    log:
        "log/map/{sample}.{piece}.txt",
    shell:
        BWA


rule sort:
    input:
        ref="reference/reference.fa",
        sam="map/{sample}/{piece}.sam",
    output:
        bam=temp("sort/{sample}/{piece}.bam"),
        bai=temp("sort/{sample}/{piece}.bam.bai"),
    log:
        "log/sort/{sample}.{piece}.txt",
    shell:
        BAMSORT


rule scatter:
    input:
        bam=expand("sort/{{sample}}/{piece}.bam", piece=PIECES),
        bai=expand("sort/{{sample}}/{piece}.bam.bai", piece=PIECES),
    output:
        temp(directory("scatter/{sample}")),
    params:
        scatter=script("scatter"),
    shell:
        "{params.scatter} {input.bam} --out {output}"


rule gather:
    input:
        "scatter/{sample}",
    output:
        temp("gather/{sample}/{place}.bam"),
    params:
        parts=lambda wildcards, input: [
            f"{input}/{wildcards.place}.{piece}.bam" for piece in PIECES],
    shell:
        "samtools cat --no-PG -o {output} {params.parts}"


rule mark_duplicates:
    input:
        bam="gather/{sample}/{place}.bam",
    output:
        bam=temp("markdup/{sample}/{place}.bam"),
        bai=temp("markdup/{sample}/{place}.bam.bai"),
        md5=temp("markdup/{sample}/{place}.bam.md5"),
        metrics=temp("markdup/{sample}/{place}.metrics"),
    params:
        sorted=lambda wildcards, output: output.bam.removesuffix(".bam") + ".sorted.bam",
    log:
        "log/mark_duplicates/{sample}.{place}.txt",
    shell:
        """
        bamsort verbose=0 level=1 blockmb=64 tmpfile={params.sorted}.tmp \
            I={input.bam} O={params.sorted} 2> {log}
        bammarkduplicates verbose=0 markthreads=1 rewritebam=1 rewritebamlevel=1 level=1 \
            index=1 md5=1 tmpfile={output.bam}.tmp indexfilename={output.bai} \
            md5filename={output.md5} M={output.metrics} I={params.sorted} O={output.bam} 2>> {log}
        rm {params.sorted}
        """


# The parts' headers tell the history of one piece and one sequence (@PG command lines, @CO check
# sums of that part), which is untrue of the whole; the sample's BAM gets a header without them.
rule sample_bam:
    input:
        expand("markdup/{{sample}}/{place}.bam", place=PLACES),
    output:
        bam="results/{sample}.bam",
        bai="results/{sample}.bam.bai",
        md5="results/{sample}.bam.md5",
        header=temp("results/{sample}.header.sam"),
    shell:
        """
        samtools view --no-PG -H {input[0]} | grep -v -E '^@(PG|CO)' > {output.header}
        samtools cat --no-PG -h {output.header} -o {output.bam} {input}
        samtools index {output.bam} {output.bai}
        (cd $(dirname {output.bam}) && md5sum {wildcards.sample}.bam > {wildcards.sample}.bam.md5)
        """


rule map_control:
    input:
        ref="reference/reference.fa",
        index=rules.reference.output.index,
        mates=expand("data/{{sample}}_{mate}.fq.gz", mate=MATES),
    output:
        temp("panel/{sample}.sam"),
    log:
        "log/map/{sample}.txt",
    shell:
        BWA


rule panel:
    input:
        ref="reference/reference.fa",
        sam="panel/{sample}.sam",
    output:
        bam="panel/{sample}.bam",
        bai="panel/{sample}.bam.bai",
    log:
        "log/sort/{sample}.txt",
    shell:
        BAMSORT
