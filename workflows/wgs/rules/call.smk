# From BAMs to calls: one job a region, then one VCF, the report and the checksums.


def of_region(pattern):
    """Input function: `pattern` for tumour and normal, {place} being the region's sequence."""
    def paths(wildcards):
        place = REGIONS[wildcards.region].split(":")[0]
        return expand(pattern, sample=DONOR, place=place)
    return paths


rule call:
    input:
        ref="reference/reference.fa",
        fai="reference/reference.fa.fai",
        bams=of_region("markdup/{sample}/{place}.bam"),
        bais=of_region("markdup/{sample}/{place}.bam.bai"),
        panel=expand("panel/{control}.bam", control=CONTROLS),
        panel_bais=expand("panel/{control}.bam.bai", control=CONTROLS),
    output:
        pileup=temp("call/{region}.pileup.txt"),
        fisher=temp("call/{region}.fisher.tsv"),
        vcf=temp("call/{region}.vcf"),
    params:
        where=lambda wildcards: REGIONS[wildcards.region],
        limits=CALLING,
        fisher_filter=script("fisher_filter"),
        panel_filter=script("panel_filter"),
    log:
        "log/call/{region}.txt",
    shell:
        """
        samtools mpileup -B -q {params.limits[min_mapping_quality]} \
            -Q {params.limits[min_base_quality]} -f {input.ref} -r {params.where} \
            {input.bams} > {output.pileup} 2> {log}
        {params.fisher_filter} {output.pileup} {output.fisher} \
            --min-depth {params.limits[min_depth]} \
            --min-alt-reads {params.limits[min_alt_reads]} \
            --min-tumour-fraction {params.limits[min_tumour_fraction]} \
            --max-normal-fraction {params.limits[max_normal_fraction]} \
            --max-fisher-p {params.limits[max_fisher_p]}
        {params.panel_filter} {output.fisher} {output.vcf} --panel {input.panel} \
            --min-mapping-quality {params.limits[min_mapping_quality]} \
            --min-base-quality {params.limits[min_base_quality]} \
            --min-eb-score {params.limits[min_eb_score]}
        """


rule merge:
    input:
        expand("call/{region}.vcf", region=REGIONS),
    output:
        vcf="results/somatic.vcf.gz",
        tbi="results/somatic.vcf.gz.tbi",
    log:
        "log/merge.txt",
    shell:
        """
        bcftools concat --no-version --output-type v {input} 2> {log} | bgzip -c > {output.vcf}
        tabix -p vcf {output.vcf}
        """


rule metrics:
    input:
        expand("markdup/{{sample}}/{sequence}.metrics", sequence=SEQUENCES),
    output:
        "results/{sample}.metrics.txt",
    shell:
        "cat {input} > {output}"


rule report:
    input:
        truth="data/truth.tsv",
        vcf="results/somatic.vcf.gz",
        metrics=expand("markdup/{sample}/{sequence}.metrics", sample=DONOR, sequence=SEQUENCES),
    output:
        "results/report.txt",
    params:
        metrics=lambda wildcards, input: [f"{path.split('/')[-2]}={path}" for path in input.metrics],
        report=script("report"),
    shell:
        "{params.report} --truth {input.truth} --calls {input.vcf} "
        "--metrics {params.metrics} --out {output}"


rule checksums:
    input:
        expand("results/{sample}{kind}", sample=DONOR,
               kind=[".bam", ".bam.bai", ".bam.md5", ".metrics.txt"]),
        "results/somatic.vcf.gz",
        "results/somatic.vcf.gz.tbi",
        "results/report.txt",
    output:
        "results/md5sums.txt",
    shell:
        "(cd $(dirname {output}) && md5sum $(basename -a {input} | LC_ALL=C sort)) > {output}"
