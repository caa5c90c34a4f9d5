#!/bin/bash
# If this failed, an aligner or a converter would see other reads in an attached archive than a
# sequencer wrote, and its users would not know.
# ring: short
# as: root
# as-long: user
# bare: no
# needs: bwa samtools gzip
# limit: 120
set -eu
. "$REAL/lib.sh"

/usr/bin/python3 "$REAL/programs/reads.py" 11 "$WORK/left.fq" "$WORK/right.fq"
"$FOREBAY" reads pack -q "$WORK/left.fq" "$WORK/right.fq" -o "$WORK/x.reads"
# What they are simulated from is not known here: some of them serve as the reference.
awk 'NR % 4 == 2 && NR < 2000 { print ">" NR "\n" $0 }' "$WORK/left.fq" > "$WORK/ref.fa"
bwa index "$WORK/ref.fa" 2> /dev/null
"$FOREBAY" attach . "$WORK/x.reads" reads --shards 3
use() {  # DIR END OUT: reads as an aligner and a converter do, from files with this ending
    bwa mem -v 1 "$WORK/ref.fa" "$1/left.fq$2" "$1/right.fq$2" 2> /dev/null | grep -v '^@PG' > "$3.sam"
    samtools import --no-PG -o "$3.bam" -1 "$1/left.fq$2" -2 "$1/right.fq$2"
    samtools fastq -n "$3.bam" > "$3.fq" 2> /dev/null
}
export -f use

say "bwa and samtools"
use "$WORK" "" "$WORK/wanted"
[ "$(grep -vc '^@' "$WORK/wanted.sam")" -ge 40000 ] || fail "not all reads"
for end in "" .gz; do
    covered bash -euc 'use reads "$1" seen' - "$end"
    same "$WORK/wanted.sam" seen.sam
    same "$WORK/wanted.fq" seen.fq
done

say "in no order, and by several at a time"
covered bash -euc 'gzip -t reads/*.gz; cp reads/left.fq copy; cmp copy "$WORK/left.fq"
    cmp reads/left.fq "$WORK/left.fq" & left=$!
    cmp reads/right.fq "$WORK/right.fq"; wait "$left"
    tail -c +777777 reads/right.fq | head -c 99999 > part
    tail -c +777777 "$WORK/right.fq" | head -c 99999 | cmp - part'

say "shards: each read once, and of mates the same"
covered bash -euc 'for mate in left right; do
    cat reads/$mate.????-of-0003.fq | paste - - - - | sort > "$mate"
    paste - - - - < "$WORK/$mate.fq" | sort | cmp - "$mate"
    zcat reads/$mate.0001-of-0003.fq.gz | cmp - "reads/$mate.0001-of-0003.fq"
done'
covered sh -c '! touch reads/x && ! rm reads/left.fq' 2> /dev/null || fail "it can be changed"
"$FOREBAY" detach . reads

say "a .fastq.gz and CRAM as plain FASTQ"
mkdir "$WORK/there"
gzip -c "$WORK/left.fq" > "$WORK/there/left.fq.gz"
gzip -9 -c "$WORK/right.fq" > "$WORK/there/right.fq.gz"
"$FOREBAY" attach . "$WORK/there" reads --plain
covered bash -euc 'use reads "" seen'
same "$WORK/wanted.sam" seen.sam
same "$WORK/wanted.fq" seen.fq
"$FOREBAY" detach . reads
samtools fastq -n -1 "$WORK/first.fq" -2 "$WORK/second.fq" "$WORK/wanted.bam" 2> /dev/null
for how in version=3.0 version=3.1,archive,level=9 version=3.1,small,seqs_per_slice=500; do
    samtools view --no-PG -O "cram,$how" -o "$WORK/x.cram" "$WORK/wanted.bam"
    "$FOREBAY" attach . "$WORK/x.cram" reads
    covered bash -euc 'cmp reads/x_R1.fastq "$WORK/first.fq"
        cmp reads/x_R2.fastq "$WORK/second.fq"
        tail -c +777777 reads/x_R2.fastq | head -c 99999 > part
        tail -c +777777 "$WORK/second.fq" | head -c 99999 | cmp - part'
    "$FOREBAY" detach . reads
done

say "aligned reads with all they need in the file"
{ echo ">all"; grep -v '^>' "$WORK/ref.fa"; } > "$WORK/one.fa"
bwa index "$WORK/one.fa" 2> /dev/null
bwa mem -v 1 "$WORK/one.fa" "$WORK/left.fq" 2> /dev/null | samtools view --no-PG -h -F 4 > "$WORK/single.sam"
for how in no_ref=1 embed_ref=1; do
    samtools sort --no-PG -O "cram,$how" --reference "$WORK/one.fa" -o "$WORK/a.cram" "$WORK/single.sam" 2> /dev/null
    samtools fastq -n "$WORK/a.cram" > "$WORK/a.fastq" 2> /dev/null
    [ "$(wc -l < "$WORK/a.fastq")" -ge 1000 ] || fail "hardly any reads"
    "$FOREBAY" attach . "$WORK/a.cram" reads
    covered bash -euc 'cmp reads/a.fastq "$WORK/a.fastq"'
    "$FOREBAY" detach . reads
done

say "what has to be packed is refused with its reason"
refused() {  # FILE REASON
    "$FOREBAY" attach . "$1" reads 2> told && fail "$1 was attached"
    grep -q "$2" told && grep -q "forebay reads pack" told || fail "it does not say why: $(cat told)"
    [ "$(wc -l < told)" -le 2 ] || fail "it says more than that: $(cat told)"
}
bwa mem -v 1 "$WORK/ref.fa" "$WORK/left.fq" "$WORK/right.fq" > "$WORK/pairs.sam" 2> /dev/null
samtools sort --no-PG -O cram,no_ref=1 -o "$WORK/sorted.cram" "$WORK/pairs.sam" 2> /dev/null
refused "$WORK/sorted.cram" "mates are far apart"
samtools view --no-PG -O cram -T "$WORK/one.fa" -o "$WORK/single.cram" "$WORK/single.sam"
samtools view --no-PG -O cram -T "$WORK/ref.fa" -o "$WORK/pairs.cram" "$WORK/pairs.sam"
for aligned in single pairs; do
    refused "$WORK/$aligned.cram" "they may need the reference of"
done
