#!/bin/bash
# If this failed, an aligner or a converter would see other reads in an attached archive than a
# sequencer wrote, and its users would not know.
# ring: short
# as: root,user
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
