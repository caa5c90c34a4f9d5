#!/bin/bash
# If this failed, the settings that `forebay plan --emit` writes would stop the engine that they are
# made for, or say nothing to it.
# ring: short
# as: root
# bare: no
# needs: snakemake nextflow java
# limit: 300
set -eu
. "$REAL/lib.sh"

export XDG_CACHE_HOME=$WORK/tmp/cache
# Storage in place is so slow that files move however busy this machine is, and machines are of a kind that the price sheet has.
cat > "$WORK/plan-site.toml" <<SITE
[nodes]
count = 1
cores = 2
instance = "ec2.m6i.large"
[tier.net]
reach = "shared"
price = "efs.elastic"
profile = { source = "a test", latency = "100 ms", read = { stream = "0.1 MB/s" }, write = { stream = "0.1 MB/s" } }
[tier.near]
path = "$WORK/near"
reach = "node"
capacity = "1 GB"
profile = { source = "a test", latency = "10 us" }
SITE
planned() {  # NAME OPTION: a plan of $WORK/NAME.run, in $WORK/NAME.toml with settings beside it
    "$FOREBAY" plan "$WORK/$1.run" --site "$WORK/plan-site.toml" --project net --budget 3s "$2" \
        --emit snakemake,nextflow -o "$WORK/$1.toml" > "$WORK/$1.told" || fail "no plan for $1"
}

cat > Snakefile <<'SMK'
rule all:
    input: "report.txt"
rule reads:
    output: temp("raw/{s}.fq")
    shell: "seq 50000 | sed 's/^/{wildcards.s}/' > {output}"
rule count:
    input: expand("raw/{s}.fq", s=["a", "b", "c"])
    output: "report.txt"
    shell: "cat {input} | wc -l > {output}"
SMK
"$FOREBAY" run -q --trace every-read -o "$WORK/smk.run" -- snakemake --cores 2 --quiet rules
for machines in --on-demand --spot; do
    say "Snakemake takes the profile of a plan with $machines"
    planned smk $machines
    rm -r report.txt .snakemake
    snakemake --profile "$WORK/smk.snakemake" > "$WORK/out" 2>&1 || { cat "$WORK/out"; fail profile; }
    [ "$(cat report.txt)" = 150000 ] || fail "report: $(cat report.txt)"
    grep -q 'Provided cores: 2' "$WORK/out" || { cat "$WORK/out"; fail "cores are not as planned"; }
    case $machines in
        --on-demand) grep -q 'forebay_mb=1' "$WORK/out" || { cat "$WORK/out"; fail "no resources"; } ;;
        --spot) grep -q '^retries: 3' "$WORK/smk.snakemake/config.yaml" || fail "no retries" ;;
    esac
done

cat > main.nf <<'NF'
process PART {
    input: val n
    output: path 'part.txt'
    script: "seq $n > part.txt"
}
process SUM {
    input: path 'part*.txt'
    output: stdout
    script: "cat part*.txt | wc -l"
}
workflow { Channel.of(10000, 20000) | PART | collect | SUM | view }
NF
"$FOREBAY" run -q --trace every-read -o "$WORK/nf.run" -- nextflow -q run main.nf > "$WORK/out"
for machines in --on-demand --spot; do
    say "Nextflow takes the configuration of a plan with $machines"
    planned nf $machines
    nextflow -c "$WORK/nf.nextflow.config" config -flat . > "$WORK/flat"
    grep -qx 'executor.queueSize = 2' "$WORK/flat" || { cat "$WORK/flat"; fail "no queue size"; }
    [ $machines = --on-demand ] || grep -qx 'process.maxRetries = 3' "$WORK/flat" ||
        { cat "$WORK/flat"; fail "no retries"; }
    nextflow -q run main.nf -c "$WORK/nf.nextflow.config" > "$WORK/out" ||
        { tail -50 .nextflow.log; fail "the run with it"; }
    grep -qx 30000 "$WORK/out" || { cat "$WORK/out"; fail "another result"; }
done
