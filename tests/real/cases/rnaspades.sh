#!/bin/bash
# If this failed, an assembler would give other transcripts covered than bare: a scientist's wrong
# result.
# ring: short
# as: packed
# as-long: root,user,ruled
# bare: self
# needs: rnaspades.py
# limit: 300
set -eu
. "$REAL/lib.sh"

/usr/bin/python3 "$REAL/programs/reads.py" 11 left.fq right.fq
assemble() {  # one thread: the same answer every time
    rnaspades.py -t 1 -m 4 -1 "$1/left.fq" -2 "$1/right.fq" -o assembly > "$WORK/$2.out" 2>&1 ||
        { tail -20 "$WORK/$2.out"; return 1; }
}
export -f assemble
mkdir "$WORK/bare"
cp left.fq right.fq "$WORK/bare"
(cd "$WORK/bare" && assemble . bare) || fail "bare"
covered bash -c 'assemble . covered' || fail "covered"
for file in transcripts.fasta hard_filtered_transcripts.fasta; do
    same "$WORK/bare/assembly/$file" "assembly/$file"
done
[ "$(grep -c '>' assembly/transcripts.fasta)" -ge 20 ] || fail "hardly any transcript"
