# A small Nextflow pipeline: one split, 64 short tasks, one merge; the cost is the engine's own
# marker files, symbolic links and shells. Words: ready, prepare, run, verify, rules; see ../README.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
nextflow=$FOREBAY_ROOT/target/tools/nextflow/nextflow

case $1 in
ready)
    [ -x "$nextflow" ] || { echo "no $nextflow; next: bash tests/real/setup.sh"; exit 1; }
    command -v java >/dev/null || { echo "no java; next: bash tests/real/setup.sh"; exit 1; }
    ;;
prepare)
    cp "$here/nextflow/main.nf" main.nf
    awk 'BEGIN { srand(1); for (i = 0; i < 320000; i++) printf "%d %.6f\n", i % 64, rand() }' \
        > numbers.txt
    ;;
run)
    # The engine's home is no part of the pipeline's directory.
    export NXF_HOME=$XDG_STATE_HOME/nextflow
    exec "$nextflow" -q run main.nf
    ;;
verify)
    [ "$(wc -l < results/sums.txt)" = 64 ]
    [ "$(awk '{ lines += $2 } END { print lines }' results/sums.txt)" = 320000 ]
    ;;
rules)
    printf '[[rule]]\nmatch = "work/**"\nhome = "fast"\n'
    ;;
*) echo "unknown word $1"; exit 2 ;;
esac
