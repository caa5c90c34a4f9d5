#!/usr/bin/env bash
# Metagenomes by Nextflow: a Kraken 2 database of three genomes, four samples, and an assembly by
# MEGAHIT, which reads two small files of its own thousands of times at random.
#   metanf.sh inputs DIR | metanf.sh run DIR SLOTS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
step=$1 inputs=$2
if [ "$step" = inputs ]; then
    cd "$inputs"
    python3 -B "$here/genome.py" first 800000 4 > first.fa
    python3 -B "$here/genome.py" second 50000 5 > second.fa
    python3 -B "$here/genome.py" third 1200000 6 > third.fa
    for sample in 1 2 3 4; do
        : > "s${sample}_1.fq"; : > "s${sample}_2.fq"
        while read -r genome pairs; do
            wgsim -S "$sample" -N "$pairs" -1 100 -2 100 "$genome.fa" mate1 mate2 > /dev/null 2> wgsim.log
            cat mate1 >> "s${sample}_1.fq"; cat mate2 >> "s${sample}_2.fq"
        done <<< $'first 8000\nsecond 2500\nthird 5000'
    done
    rm mate1 mate2
    gzip -1 -f s?_?.fq
    exit
fi
slots=$3
export NXF_HOME=${NXF_HOME:-$inputs/nextflow}
cat > nextflow.config <<CONFIG
executor { cpus = $slots; queueSize = $slots }
process { cpus = 1; withName: ASSEMBLE { cpus = $slots } }
CONFIG
exec nextflow -q run "$here/metanf.nf" --inputs "$inputs"
