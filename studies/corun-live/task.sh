#!/bin/bash
# One job of the pipeline: `task.sh STAGE`, in the folder of the pipeline, a task of an array of Slurm's.
# In the environment:
#   INPUTS   the folder of 1.fastq and 2.fastq, a normal and a tumour sample: they are not in the volume
#   STAGES   a folder where each stage is a link to work.py
#   SCALE    how many times as small files are as said here (1); PACE, how many times as fast it goes (1)
# No program but the stage's own runs here: a job is one task.
set -eu
stage=$1 k=${SLURM_ARRAY_TASK_ID:-1}
# The head of the pipeline looks for it.
trap 'touch failed' ERR

# FORMAT FIRST LAST: a name for each number.
names() { local n; for ((n = $2; n <= $3; n++)); do printf "$1 " "$n"; done; }
# KiB
bytes() { echo $(($1 * 1024 / ${SCALE:-1})); }

# Seconds of each stage are to each other as the slowest jobs of the source are, map jobs apart: there
# are 14 rounds of them there, two here.
# A job removes what it has read, if nobody else wants it: what it had not opened would seem to stay, in
# its record.
case $stage in
    # In pieces, one for each map job of the sample.
    split)      s=12 && set -- --read "$INPUTS/$k.fastq" \
                    --write $(names "%s.split=$(bytes 1536)" $((k * 16 - 15)) $((k * 16))) ;;
    # A file for each part of the reference, so that markdup finds its own.
    map)        s=5.$((k % 5)) && set -- --read "$k.split" --write $(names "$k.%s.sam=$(bytes 682)" 1 3) \
                    --remove "$k.split" ;;
    # A job is as long as its sequence.
    markdup)    sample=$(((k - 1) / 3 + 1)) part=$(((k - 1) % 3 + 1)) lengths=(30 18 8)
                s=${lengths[part - 1]} && mine=$(names "%s.$part.sam" $((sample * 16 - 15)) $((sample * 16)))
                set -- --read $mine --write "$k.bam=$(bytes 6144)" --remove $mine ;;
    merge)      s=6 && set -- --read $(names %s.bam $((k * 3 - 2)) $((k * 3))) \
                    --write "$k.merged.bam=$(bytes 16384)" ;;
    mutations)  s=$((k * 2)) && set -- --read $(names "%s.bam@$k/10" 1 6) --write "$k.txt=$(bytes 128)" ;;
    # Checks what is handed over; it goes elsewhere, and one small file stays.
    publish)    s=1 && all="$(names %s.bam 1 6) $(names %s.merged.bam 1 2) $(names %s.txt 1 10)"
                set -- --read $all --write "result=$(bytes 1024)" --remove $all ;;
esac
python3 "$STAGES/$stage" --seconds "$s" "$@"
