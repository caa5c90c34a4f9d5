#!/usr/bin/env bash
# A database search in parts by BLAST: queries are split, each part maps the same database into
# memory, and the best hits of all are joined.
#   search.sh inputs DIR | search.sh run DIR SLOTS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
step=$1 inputs=$2
if [ "$step" = inputs ]; then
    cd "$inputs"
    for seed in 1 2 3; do
        python3 -B "$here/genome.py" "chromosome$seed" 1500000 "$seed"
    done > subjects.fa
    wgsim -S 9 -N 1500 -1 250 -2 250 -e 0.05 subjects.fa mate1.fq mate2.fq > truth.txt 2> wgsim.log
    sed -n '1~4s/^@/>/p;2~4p' mate1.fq > queries.fa
    rm mate?.fq
    exit
fi
slots=$3
mkdir -p database parts
makeblastdb -in "$inputs/subjects.fa" -dbtype nucl -out database/subjects > makeblastdb.log
split --lines 125 --numeric-suffixes --suffix-length 3 "$inputs/queries.fa" parts/query-
ls parts/query-* | xargs -P "$slots" -I{} blastn -task blastn -db database/subjects -query {} \
    -evalue 1e-5 -outfmt 6 -out {}.hits
cat parts/*.hits | sort -T . -S 2M -k1,1 -k12,12gr | sort -T . -S 2M -u -k1,1 > best.tsv
cut -f 2 best.tsv | sort | uniq -c > counts.txt
