# The demo: a tumour/normal genome workflow in Genomon's shape under Snakemake, from simulated
# reads to calls. Words: ready, prepare, run, verify, rules; see ../README.md.
set -euo pipefail
workflow=$FOREBAY_ROOT/workflows/wgs
venv=$FOREBAY_ROOT/.venv/bin
# Caches of the engine are no part of the pipeline's directory.
export XDG_CACHE_HOME=$XDG_STATE_HOME/cache PYTHONDONTWRITEBYTECODE=1

case $1 in
ready)
    for file in "$venv/snakemake" "$workflow/Snakefile"; do
        [ -e "$file" ] || { echo "no $file; next: bash scripts/setup-demo.sh"; exit 1; }
    done
    for tool in bwa samtools bcftools bamsort; do
        command -v $tool >/dev/null || { echo "no $tool; next: bash scripts/setup-demo.sh"; exit 1; }
    done
    ;;
prepare) ;;
run)
    export PATH=$venv:$PATH
    exec snakemake -s "$workflow/Snakefile" --cores 2 --quiet all
    ;;
verify)
    [ -s results/report.txt ]
    (cd results && md5sum --quiet -c md5sums.txt)
    ;;
rules)
    cat "$workflow/tiers.toml"
    ;;
*) echo "unknown word $1"; exit 2 ;;
esac
