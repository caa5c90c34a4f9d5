#!/usr/bin/env bash
# RNA-seq by Snakemake: four samples, trimmed, aligned, sorted and counted in two ways, with
# temporary outputs between.
#   rnasmk.sh inputs DIR | rnasmk.sh run DIR SLOTS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
step=$1 inputs=$2
if [ "$step" = inputs ]; then
    cd "$inputs"
    python3 -B "$here/genome.py" chromosome 800000 3 > genome.fa
    samtools faidx genome.fa
    for start in $(seq 1 3000 797000); do
        end=$((start + 1999)) gene=g$start
        printf 'chromosome\tstudy\texon\t%s\t%s\t.\t+\t.\tgene_id "%s"; transcript_id "%s";\n' \
            "$start" "$end" "$gene" "$gene" >> genes.gtf
        echo "chromosome:$start-$end" >> regions
    done
    samtools faidx genome.fa -r regions > transcripts.fa
    for sample in 1 2 3 4; do
        wgsim -S "$sample" -N 10000 -1 76 -2 76 transcripts.fa "s${sample}_1.fq" "s${sample}_2.fq" \
            > /dev/null 2> wgsim.log
    done
    gzip -1 -f s?_?.fq
    exit
fi
slots=$3
export PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME=$inputs/cache
exec snakemake --cores "$slots" --quiet all --snakefile "$here/rnasmk.smk" --config "inputs=$inputs"
