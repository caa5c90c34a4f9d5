INPUTS = config["inputs"]
SAMPLES = [f"s{number}" for number in range(1, 5)]

rule all:
    input: "counts.tsv", "flagstat.txt", expand("salmon/{sample}/quant.sf", sample=SAMPLES)

rule index:
    input: f"{INPUTS}/genome.fa"
    output: directory("hisat2-index")
    shell: "mkdir {output} && hisat2-build -q {input} {output}/genome > index.log 2>&1"

rule trim:
    input:
        first=f"{INPUTS}/{{sample}}_1.fq.gz",
        second=f"{INPUTS}/{{sample}}_2.fq.gz",
    output:
        first=temp("trimmed/{sample}_1.fq"),
        second=temp("trimmed/{sample}_2.fq"),
        report="trimmed/{sample}.json",
    shell:
        "fastp -w 1 -i {input.first} -I {input.second} -o {output.first} -O {output.second}"
        " -j {output.report} -h trimmed/{wildcards.sample}.html 2> trimmed/{wildcards.sample}.log"

rule align:
    input:
        index="hisat2-index",
        first="trimmed/{sample}_1.fq",
        second="trimmed/{sample}_2.fq",
    output: temp("aligned/{sample}.sam")
    shell:
        "hisat2 -p 1 -x {input.index}/genome -1 {input.first} -2 {input.second} -S {output}"
        " 2> aligned/{wildcards.sample}.log"

rule sort:
    input: "aligned/{sample}.sam"
    output: "sorted/{sample}.bam"
    shell:
        "samtools sort -m 4M -T sorted/{wildcards.sample} -o {output} {input}"
        " && samtools index {output}"

rule count:
    input: expand("sorted/{sample}.bam", sample=SAMPLES)
    output: "counts.tsv"
    params: genes=f"{INPUTS}/genes.gtf"
    shell: "featureCounts -p -T 1 -a {params.genes} -o {output} {input} > count.log 2>&1"

rule flagstat:
    input: expand("sorted/{sample}.bam", sample=SAMPLES)
    output: "flagstat.txt"
    shell: "for bam in {input}; do samtools flagstat $bam; done > {output}"

rule salmon_index:
    input: f"{INPUTS}/transcripts.fa"
    output: directory("salmon-index")
    shell: "salmon index -t {input} -i {output} -p 1 -k 23 > salmon-index.log 2>&1"

rule salmon:
    input:
        index="salmon-index",
        first="trimmed/{sample}_1.fq",
        second="trimmed/{sample}_2.fq",
    output: "salmon/{sample}/quant.sf"
    shell:
        "salmon quant -i {input.index} -l A -1 {input.first} -2 {input.second} -p 1"
        " -o salmon/{wildcards.sample} > salmon/{wildcards.sample}.log 2>&1"
