#!/usr/bin/env bash
# 600 genes, five small files each: Python jobs by xargs that call minimap2.
#   genes.sh inputs DIR | genes.sh run DIR SLOTS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
step=$1 inputs=$2
if [ "$step" = inputs ]; then
    python3 -B "$here/genome.py" chromosome 900000 1 > "$inputs/ref.fa"
    exit
fi
slots=$3
cp "$inputs/ref.fa" .
seq 0 5 | xargs -P "$slots" -I{} python3 -B "$here/gene_job.py" {} 6 ref.fa
find genes -name hits.paf | sort | xargs cat > all.paf
find genes -name done | wc -l > count
