# rnaSPAdes: many small files, several k-mer rounds, native threads. Reads of S. pombe when
# FOREBAY_DATA (or ../shared/data) has them, else those of the Debian package: a run of one second,
# too short for a verdict. Words: ready, prepare, run, verify, rules; see ../README.md.
set -euo pipefail
pombe=${FOREBAY_DATA:-$FOREBAY_ROOT/../shared/data}/pombe-rnaseq
package=/usr/share/spades/test_dataset

case $1 in
ready)
    command -v rnaspades.py >/dev/null ||
        { echo "no rnaspades.py; next: apt-get install spades"; exit 1; }
    [ -d "$pombe" ] || [ -d $package ] || { echo "no reads in $pombe or $package"; exit 1; }
    ;;
prepare)
    if [ -d "$pombe" ]; then
        cat "$pombe"/Sp_*.left.fq.gz > left.fq.gz
        cat "$pombe"/Sp_*.right.fq.gz > right.fq.gz
    else
        cp $package/ecoli_1K_1.fq.gz left.fq.gz
        cp $package/ecoli_1K_2.fq.gz right.fq.gz
    fi
    ;;
run)
    exec rnaspades.py -t 2 -m 4 -1 left.fq.gz -2 right.fq.gz -o assembly
    ;;
verify)
    grep -q '^>NODE_1_' assembly/transcripts.fasta
    [ "$(grep -v '^>' assembly/transcripts.fasta | tr -d '\n' | wc -c)" -gt 900 ]
    grep -q 'SPAdes pipeline finished' assembly/spades.log
    ;;
rules)
    printf '[[rule]]\nmatch = "assembly/tmp/**"\nhome = "fast"\nafter = "discard"\n'
    printf '[[rule]]\nmatch = "assembly/K*/**"\nhome = "fast"\n'
    ;;
*) echo "unknown word $1"; exit 2 ;;
esac
