# samtools sorts reads with little memory, so that it writes and merges some twenty temporary files.
# Words: ready, prepare, run, verify, rules; see ../README.md.
set -euo pipefail

case $1 in
ready)
    command -v samtools >/dev/null || { echo "no samtools; next: bash scripts/setup-demo.sh"; exit 1; }
    ;;
prepare)
    awk 'BEGIN {
        srand(1); letters = "ACGT"
        print "@HD\tVN:1.6\tSO:unsorted"; print "@SQ\tSN:chr1\tLN:100000000"
        for (i = 0; i < 300000; i++) {
            bases = ""
            for (k = 0; k < 50; k++) bases = bases substr(letters, 1 + int(rand() * 4), 1)
            printf "r%d\t0\tchr1\t%d\t60\t50M\t*\t0\t0\t%s\t%s\n", i, 1 + int(rand() * 99999000), bases, bases
        }
    }' | samtools view -b -o unsorted.bam -
    ;;
run)
    exec samtools sort -m 4M -@ 1 -o sorted.bam -T temporary unsorted.bam 2> /dev/null
    ;;
verify)
    [ "$(samtools view -c sorted.bam)" = 300000 ]
    samtools view -H sorted.bam | grep -q SO:coordinate
    ;;
rules)
    printf '[[rule]]\nmatch = "temporary*"\nhome = "fast"\nafter = "discard"\n'
    ;;
*) echo "unknown word $1"; exit 2 ;;
esac
