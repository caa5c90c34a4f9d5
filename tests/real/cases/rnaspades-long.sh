#!/bin/bash
# The same loss as rnaspades.sh, looked for in real mouse reads, on two threads.
# ring: long
# as: root,traced,user
# bare: self
# needs: rnaspades.py
# limit: 900
set -eu
. "$REAL/lib.sh"

data=$ROOT/../shared/data/trinity-mouse
[ -d "$data" ] || skip "no real reads in ../shared/data/trinity-mouse"
assemble() {
    rnaspades.py -t 2 -m 8 -1 reads.left.fq.gz -2 reads.right.fq.gz -o assembly > "$1" 2>&1 ||
        { tail -20 "$1"; return 1; }
}
export -f assemble
mkdir "$WORK/bare"
cp "$data"/*.gz "$WORK/bare"
cp "$data"/*.gz .
(cd "$WORK/bare" && assemble "$WORK/bare.out") || fail "bare"
covered bash -c 'assemble "$WORK/covered.out"' || fail "covered"
same "$WORK/bare/assembly/transcripts.fasta" assembly/transcripts.fasta
