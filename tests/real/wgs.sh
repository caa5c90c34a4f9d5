# The demo's workflow, with a donor that is small enough to be run several times; sourced by cases.
# smk              the command, as an array, without a goal; flow: the same of Nextflow
# results FOLDER   checksums of what it made there, but for logs
# No case logic here.

cat > "$WORK/small.yaml" <<'YAML'
sequences: {chr01: 30000, chr02: 24000, chr03: 20000, chr04: 20000, chr05: 20000, chr06: 20000,
            chr07: 20000, chr08: 20000, chr09: 20000, chr10: 20000, chr11: 20000, chr12: 20000}
depth: {tumour: 24, normal: 20}
controls: {control1: 8, control2: 8, control3: 8, control4: 8}
pieces: 2
YAML
export XDG_CACHE_HOME=$WORK/tmp/cache
smk=(snakemake --snakefile "$ROOT/workflows/wgs/Snakefile" --configfile "$WORK/small.yaml")
flow=(nextflow -q run "$ROOT/workflows/wgs/main.nf" -params-file "$WORK/small.yaml"
    --python "$ROOT/.venv/bin/python")

results() { (cd "$1/results" && find . -type f ! -name '*.log' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum); }
