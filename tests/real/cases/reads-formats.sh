#!/bin/bash
# If this failed, an archive would have other reads than samtools and sra-tools have of the same
# file, or hand out a BAM or CRAM that others cannot read.
# ring: short
# as: user
# bare: no
# needs: bwa samtools gzip fastq-dump latf-load kar
# limit: 180
set -eu
. "$REAL/lib.sh"

/usr/bin/python3 "$REAL/programs/reads.py" 12 left.fq right.fq
awk 'NR % 4 == 2 && NR < 2000 { print ">" NR "\n" $0 }' left.fq > ref.fa
bwa index ref.fa 2> /dev/null
samtools faidx ref.fa
bwa mem -v 1 ref.fa left.fq right.fq 2> /dev/null | samtools view -b - > aligned.bam
[ "$(samtools view -c -f 16 -F 2304 aligned.bam)" -ge 50 ] || fail "hardly a read is turned"
[ "$(samtools view -c -f 2048 aligned.bam)" -ge 1 ] || echo "no supplementary lines here"

cat_is() {  # ARCHIVE LEFT RIGHT: what it has of each mate
    "$FOREBAY" reads verify -q "$1"
    "$FOREBAY" reads cat "$1" --mate 1 | cmp - "$2" || fail "$1: mate 1"
    "$FOREBAY" reads cat "$1" --mate 2 | cmp - "$3" || fail "$1: mate 2"
}
by_name() { paste - - - - < "$1" | sort; }

say "BAM as it comes from an aligner"
samtools fastq -1 wanted_1 -2 wanted_2 aligned.bam 2> /dev/null
[ "$(wc -l < wanted_1)" = 80000 ] || fail "not all reads"
"$FOREBAY" reads pack -q aligned.bam -o aligned.reads
cat_is aligned.reads wanted_1 wanted_2
"$FOREBAY" reads cat aligned.reads | bwa mem -v 1 -p ref.fa - 2> /dev/null | samtools view -c - > /dev/null
samtools view -u aligned.bam | "$FOREBAY" reads pack -q - -o piped.reads
cat_is piped.reads wanted_1 wanted_2

say "BAM and CRAM in the order of a reference"
samtools sort -o sorted.bam aligned.bam 2> /dev/null
samtools view -C -T ref.fa -o sorted.cram sorted.bam
samtools collate -O -u sorted.bam aside 2> /dev/null | samtools fastq -1 far_1 -2 far_2 - 2> /dev/null
for file in sorted.bam sorted.cram; do
    "$FOREBAY" reads pack -q "$file" --reference ref.fa -o "$file.reads"
    cat_is "$file.reads" far_1 far_2
    [ ! -e "$file.reads.collate" ] || fail "$file.reads.collate is left"
done
cmp <(by_name far_1) <(by_name wanted_1) || fail "other reads"

say "reads without mates, and single ones"
samtools view -b -e 'qname != "r7" || flag.read1' aligned.bam > torn.bam
"$FOREBAY" reads pack torn.bam -o torn.reads 2> words && fail "a read has no mate"
grep -q 'read r7 has no mate' words || fail "$(cat words)"
"$FOREBAY" reads pack torn.bam --skip-unpaired -o torn.reads
samtools fastq -1 torn_1 -2 torn_2 -s /dev/null torn.bam 2> /dev/null
cat_is torn.reads torn_1 torn_2
bwa mem -v 1 ref.fa left.fq 2> /dev/null | samtools sort -o single.bam - 2> /dev/null
samtools fastq -0 single.fq single.bam 2> /dev/null
"$FOREBAY" reads pack -q single.bam -o one.reads
"$FOREBAY" reads cat one.reads --file single.fastq | cmp - single.fq || fail "single reads"

say "out as BAM, CRAM and FASTQ.gz"
"$FOREBAY" reads pack -q left.fq right.fq -o x.reads
for file in x.bam x.cram; do
    "$FOREBAY" reads export -q x.reads -o "$file" -R '@RG\tID:a\tSM:b'
    samtools quickcheck -u "$file" || fail "samtools takes $file for a broken one"
    samtools fastq -N -1 out_1 -2 out_2 "$file" 2> /dev/null
    same left.fq out_1
    same right.fq out_2
    [ "$(samtools view -c -r a "$file")" = 40000 ] || fail "read group in $file"
    "$FOREBAY" reads pack -q "$file" -o "again.$file.reads"
    cat_is "again.$file.reads" left.fq right.fq
done
samtools import -1 left.fq -2 right.fq --no-PG -o theirs.bam
cmp <(samtools view theirs.bam | cut -f 1-11) <(samtools view x.bam | cut -f 1-11) \
    || fail "other lines than those of samtools import"
"$FOREBAY" reads export -q x.reads -o gz
gzip -dc gz/left.fq.gz | cmp - left.fq || fail "left.fq.gz"
gzip -dc gz/right.fq.gz | cmp - right.fq || fail "right.fq.gz"

say "archives of SRA"
for kind in pair single; do
    files=(left.fq right.fq)
    [ $kind = pair ] || files=(left.fq)
    latf-load --quality PHRED_33 -o "$kind.dir" "${files[@]}" 2> /dev/null || fail "latf-load"
    kar -c "$kind.sra" -d "$kind.dir" 2> /dev/null || fail "kar"
    fastq-dump --split-3 -O "$kind.out" "./$kind.sra" > /dev/null
    "$FOREBAY" reads import -q "$kind.sra" -o "$kind.reads"
done
cat_is pair.reads pair.out/pair_1.fastq pair.out/pair_2.fastq
"$FOREBAY" reads cat single.reads --file single.fastq | cmp - single.out/single.fastq \
    || fail "single reads of SRA"
head -c 3000 pair.sra > cut.sra
"$FOREBAY" reads import cut.sra -o cut.reads 2> words && fail "a cut archive was taken"
grep -q 'fastq-dump ended with' words || fail "$(cat words)"
