#!/usr/bin/env bash
# One sample in plain bash: large texts between steps, external sorts with little memory, pipes, and
# bedtools, which writes half a KiB at a time.
#   tempsort.sh inputs DIR | tempsort.sh run DIR SLOTS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
step=$1 inputs=$2
if [ "$step" = inputs ]; then
    cd "$inputs"
    python3 -B "$here/genome.py" chromosome 1500000 2 > ref.fa
    wgsim -S 2 -N 60000 -1 100 -2 100 ref.fa mate1.fq mate2.fq > truth.txt 2> wgsim.log
    gzip -1 -f mate1.fq mate2.fq
    exit
fi
slots=$3
export LC_ALL=C
mkdir -p index scratch
cp "$inputs/ref.fa" index/
bowtie2-build -q --threads "$slots" index/ref.fa index/ref
bowtie2 -p "$slots" -x index/ref -1 "$inputs/mate1.fq.gz" -2 "$inputs/mate2.fq.gz" \
    -S aligned.sam 2> bowtie2.log
samtools view -H aligned.sam > header.sam
samtools view -F 4 aligned.sam | sort -T scratch -S 12M -k3,3 -k4,4n > body.sam
cat header.sam body.sam | samtools view -b -o sorted.bam -
samtools index sorted.bam
# The most frequent reads: two external sorts in one pipe.
samtools view aligned.sam | cut -f 10 | sort -T scratch -S 8M | uniq -c |
    sort -T scratch -S 8M -k1,1nr | sed -n '1,1000p' > frequent.txt
bedtools genomecov -ibam sorted.bam -bga > depth.bed
samtools view -H sorted.bam | sed -n 's/^@SQ\tSN:\([^\t]*\)\tLN:\([0-9]*\).*/\1\t\2/p' > sizes.txt
bedtools makewindows -g sizes.txt -w 500 > windows.bed
bedtools map -a windows.bed -b depth.bed -c 4 -o mean > windows.depth
rm aligned.sam body.sam
md5sum sorted.bam > sorted.md5
