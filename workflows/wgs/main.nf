/*
 * The workflow of the Snakefile, for Nextflow: the same scripts, tools and settings, so that
 * results/ holds the same bytes. Only steps are here; config.yaml holds the numbers, and
 * `-params-file` those that are to be others.
 *
 *   nextflow run main.nf --out results
 *
 * Files have the names that they have there: headers of BAM files hold command lines, and where
 * compressed blocks begin depends on how long a header is.
 *
 * Other than there: finished inputs are used where they are; a control is mapped and sorted by the
 * same steps as a piece of the donor's reads; nothing is deleted before `nextflow clean`.
 */

params.inputs = ''          // a folder with finished inputs; empty: they are simulated
params.out = 'results'
params.python = 'python3'   // one that has pysam

// The settings that are shipped, and over them what is given.
def settings() {
    new org.yaml.snakeyaml.Yaml().load(file("${projectDir}/config.yaml").text) + params
}

// The command that runs one of the scripts.
def script(name) { "${params.python} -B ${projectDir}/scripts/${name}.py" }

def donor() { settings().depth.keySet() as List }   // tumour, normal

def sequences() { settings().sequences.keySet() as List }

def places() { sequences() + 'unmapped' }

def pieces() { (0..<settings().pieces).collect { String.format('%04d', it) } }

// [sequence, name, samtools region]: fixed windows, the last of a sequence shorter; 1-based, closed.
def regions() {
    def width = settings().region_bp
    settings().sequences.collectMany { sequence, length ->
        (0..<Math.ceil(length / width).intValue()).collect { n ->
            def start = n * width + 1
            [sequence, String.format('%s_%03d', sequence, n + 1),
             "${sequence}:${start}-${Math.min(start + width - 1, length)}".toString()]
        }
    }
}

def named_numbers(numbers) { numbers.collect { name, value -> "${name}=${value}" }.join(',') }


process INPUTS {
    cpus 2
    output:
        path 'data/reference.fa', emit: reference
        path 'data/truth.tsv', emit: truth
        path 'data/*.fq.gz', emit: reads
    script:
        def all = settings()
        """
        ${script('make_inputs')} --out data --seed ${all.seed} --genome "${all.genome ?: ''}" \
            --sequences ${named_numbers(all.sequences)} \
            --depth ${named_numbers(all.depth + all.controls)} --processes ${task.cpus}
        """
}

// bwa and samtools write their index beside the FASTA they are given.
process REFERENCE {
    input: path 'data/reference.fa'
    output: path 'reference/reference.fa*'
    script:
        """
        mkdir reference
        cp data/reference.fa reference/reference.fa
        samtools faidx reference/reference.fa
        bwa index reference/reference.fa
        """
}

process SPLIT {
    tag "${sample}"
    input: tuple val(sample), path(mates)
    output: tuple val(sample), path("split/${sample}/*.fq")
    script:
        """
        ${script('split_fastq')} ${mates.join(' ')} --pieces ${pieces().size()} --out split/${sample}
        """
}

// A fixed batch (-K, in bases) keeps bwa's insert-size estimate, and so its output, independent of
// the number of threads. -T 0 keeps all alignments, as Genomon does.
process MAP {
    tag "${sample} ${piece}"
    input:
        tuple val(sample), val(piece), path("split/${sample}/*")
        path reference, stageAs: 'reference/*'
    output: tuple val(sample), val(piece), path("map/${sample}/${piece}.sam")
    script:
        """
        mkdir -p map/${sample}
        bwa mem -T 0 -K 10000000 -R '@RG\\tID:${sample}\\tSM:${sample}\\tLB:${sample}\\tPL:ILLUMINA' \
            reference/reference.fa split/${sample}/* > map/${sample}/${piece}.sam
        """
}

// One thread each: the array's jobs are the parallelism. blockmb is the sort buffer (MiB).
process SORT {
    tag "${sample} ${piece}"
    input:
        tuple val(sample), val(piece), path("map/${sample}/${piece}.sam")
        path reference, stageAs: 'reference/*'
    output: tuple val(sample), path("${bam}"), path("${bam}.bai")
    script:
        bam = "sort/${sample}/${piece}.bam"
        """
        mkdir -p sort/${sample}
        bamsort verbose=0 level=1 blockmb=64 inputthreads=1 outputthreads=1 index=1 \
            calmdnm=1 calmdnmrecompindetonly=1 calmdnmreference=reference/reference.fa \
            tmpfile=${bam}.tmp indexfilename=${bam}.bai inputformat=sam I=map/${sample}/${piece}.sam O=${bam}
        """
}

process SCATTER {
    tag "${sample}"
    input: tuple val(sample), path(bams), path(indexes)
    output: tuple val(sample), path('scatter')
    script:
        """
        ${script('scatter')} ${pieces().collect { "${it}.bam" }.join(' ')} --out scatter
        """
}

process GATHER {
    tag "${sample} ${place}"
    input: tuple val(sample), path(folder), val(place)
    output: tuple val(sample), val(place), path("gather/${sample}/${place}.bam")
    script:
        """
        mkdir -p gather/${sample}
        samtools cat --no-PG -o gather/${sample}/${place}.bam \
            ${pieces().collect { "${folder}/${place}.${it}.bam" }.join(' ')}
        """
}

process MARK_DUPLICATES {
    tag "${sample} ${place}"
    input: tuple val(sample), val(place), path("gather/${sample}/${place}.bam")
    output:
        tuple val(sample), val(place), path("${out}.bam"), path("${out}.bam.bai"), path("${out}.metrics")
    script:
        out = "markdup/${sample}/${place}"
        """
        mkdir -p markdup/${sample}
        bamsort verbose=0 level=1 blockmb=64 tmpfile=${out}.sorted.bam.tmp I=gather/${sample}/${place}.bam O=${out}.sorted.bam
        bammarkduplicates verbose=0 markthreads=1 rewritebam=1 rewritebamlevel=1 level=1 \
            index=1 md5=1 tmpfile=${out}.bam.tmp indexfilename=${out}.bam.bai \
            md5filename=${out}.bam.md5 M=${out}.metrics I=${out}.sorted.bam O=${out}.bam
        rm ${out}.sorted.bam
        """
}

// The parts' headers tell the history of one piece and one sequence (@PG command lines, @CO check
// sums of that part), which is untrue of the whole; the sample's BAM gets a header without them.
process SAMPLE_BAM {
    tag "${sample}"
    publishDir params.out, mode: 'copy'
    input: tuple val(sample), path(bams)
    output: path "${sample}.bam*"
    script:
        def parts = places().collect { "${it}.bam" }
        """
        samtools view --no-PG -H ${parts[0]} | grep -v -E '^@(PG|CO)' > header.sam
        samtools cat --no-PG -h header.sam -o ${sample}.bam ${parts.join(' ')}
        samtools index ${sample}.bam ${sample}.bam.bai
        md5sum ${sample}.bam > ${sample}.bam.md5
        """
}

process METRICS {
    tag "${sample}"
    publishDir params.out, mode: 'copy'
    input: tuple val(sample), path(metrics)
    output: path "${sample}.metrics.txt"
    script: "cat ${sequences().collect { "${it}.metrics" }.join(' ')} > ${sample}.metrics.txt"
}

process CALL {
    tag "${region}"
    input:
        tuple val(region), val(where), path(bams, stageAs: 'donor?/*'), path(indexes, stageAs: 'donor?/*')
        tuple val(controls), path(panel, stageAs: 'panel?/*'), path(indexes_of_panel, stageAs: 'panel?/*')
        path reference, stageAs: 'reference/*'
    output: path "${region}.vcf"
    script:
        def limits = settings().calling
        """
        samtools mpileup -B -q ${limits.min_mapping_quality} -Q ${limits.min_base_quality} \
            -f reference/reference.fa -r ${where} ${bams.join(' ')} > pileup.txt
        ${script('fisher_filter')} pileup.txt fisher.tsv \
            --min-depth ${limits.min_depth} --min-alt-reads ${limits.min_alt_reads} \
            --min-tumour-fraction ${limits.min_tumour_fraction} \
            --max-normal-fraction ${limits.max_normal_fraction} --max-fisher-p ${limits.max_fisher_p}
        ${script('panel_filter')} fisher.tsv ${region}.vcf --panel ${panel.join(' ')} \
            --min-mapping-quality ${limits.min_mapping_quality} \
            --min-base-quality ${limits.min_base_quality} --min-eb-score ${limits.min_eb_score}
        """
}

process MERGE {
    publishDir params.out, mode: 'copy'
    input: path parts
    output: path 'somatic.vcf.gz*'
    script:
        """
        bcftools concat --no-version --output-type v ${regions().collect { "${it[1]}.vcf" }.join(' ')} |
            bgzip -c > somatic.vcf.gz
        tabix -p vcf somatic.vcf.gz
        """
}

process REPORT {
    publishDir params.out, mode: 'copy'
    input:
        path truth
        path calls
        tuple val(samples), path(metrics, stageAs: 'metrics?/*')
    output: path 'report.txt'
    script:
        def named = [samples, metrics].transpose().collect { sample, file -> "${sample}=${file}" }
        """
        ${script('report')} --truth ${truth} --calls somatic.vcf.gz --metrics ${named.join(' ')} --out report.txt
        """
}

process CHECKSUMS {
    publishDir params.out, mode: 'copy'
    input: path results
    output: path 'md5sums.txt'
    script: "md5sum ${results*.name.sort().join(' ')} > md5sums.txt"
}


workflow {
    if (params.inputs) {
        given = file(params.inputs, checkIfExists: true)
        reference = Channel.value(given / 'reference.fa')
        truth = Channel.value(given / 'truth.tsv')
        reads = Channel.fromPath("${params.inputs}/*.fq.gz")
    } else {
        INPUTS()
        reference = INPUTS.out.reference
        truth = INPUTS.out.truth
        reads = INPUTS.out.reads.flatten()
    }
    index = REFERENCE(reference)
    samples = reads
        .map { file -> [file.name.replaceAll(/_[12]\.fq\.gz$/, ''), file] }
        .groupTuple(size: 2, sort: { it.name })
        .branch { donor: it[0] in donor(); control: true }

    parts = SPLIT(samples.donor).transpose()
        .map { sample, file -> [sample, file.name.tokenize('_')[0], file] }
        .groupTuple(by: [0, 1], size: 2, sort: { it.name })
    controls = samples.control.map { sample, mates -> [sample, 'panel', mates] }
    sorted = SORT(MAP(parts.mix(controls), index), index)
        .branch { donor: it[0] in donor(); control: true }

    panel = sorted.control.toSortedList { a, b -> a[0] <=> b[0] }
        .map { it.transpose() }
    scattered = SCATTER(sorted.donor.groupTuple(size: pieces().size()))
    marked = MARK_DUPLICATES(GATHER(scattered.combine(Channel.fromList(places()))))

    whole = marked.groupTuple(size: places().size())
    bams = SAMPLE_BAM(whole.map { sample, _places, bams, _indexes, _metrics -> [sample, bams] })
    counted = marked.filter { it[1] != 'unmapped' }
    metrics = METRICS(counted.map { [it[0], it[4]] }.groupTuple(size: sequences().size()))

    // Tumour first.
    by_place = counted.groupTuple(by: 1, size: donor().size())
        .map { samples, place, bams, indexes, _metrics ->
            def order = donor().collect { samples.indexOf(it) }
            [place, bams[order], indexes[order]]
        }
    calls = CALL(
        Channel.fromList(regions()).combine(by_place, by: 0).map { it.drop(1) }, panel, index)
    vcf = MERGE(calls.collect())
    report = REPORT(truth, vcf, counted
        .toSortedList { a, b -> donor().indexOf(a[0]) <=> donor().indexOf(b[0]) ?: a[1] <=> b[1] }
        .map { all -> [all*.getAt(0), all*.getAt(4)] })
    CHECKSUMS(bams.mix(metrics, vcf, report).collect())
}
