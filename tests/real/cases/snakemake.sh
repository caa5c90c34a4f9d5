#!/bin/bash
# If this failed, Snakemake would run finished jobs again, or not delete temp files, under
# forebay.
# ring: short
# as: root,ruled-user
# as-long: packed-drained,user,ruled,packed,packed-user
# bare: self
# needs: snakemake
# limit: 300
set -eu
. "$REAL/lib.sh"

export XDG_CACHE_HOME=$WORK/tmp/cache
cat > Snakefile <<'SMK'
SAMPLES = ["a", "b", "c"]
rule all:
    input: "report.txt"
rule reads:
    output: temp("raw/{s}.fq")
    shell: "seq 20000 | sed 's/^/{wildcards.s}/' > {output}"
rule align:
    input: "raw/{s}.fq"
    output: bam="aln/{s}.bam", log="aln/{s}.log"
    threads: 1
    shell: "gzip -nc {input} > {output.bam}; wc -l < {input} > {output.log}"
rule count:
    input: "aln/{s}.bam"
    output: directory("counts/{s}")
    run:
        import gzip, os
        os.makedirs(output[0])
        with gzip.open(input[0]) as f, open(output[0] + "/n", "w") as out:
            out.write(str(sum(1 for _ in f)))
rule report:
    input: expand("counts/{s}", s=SAMPLES)
    output: "report.txt"
    shell: "cat counts/*/n > {output}"
SMK
smk=(snakemake --cores 2 --quiet rules)
nothing() {  # WHEN COMMAND...: Snakemake finds nothing to do
    local when=$1
    shift
    "$@" --dry-run > "$WORK/dry" 2>&1 || true
    grep -q 'Nothing to be done' "$WORK/dry" || { cat "$WORK/dry"; fail "$when has work to do"; }
}

covered "${smk[@]}" || fail "the covered run"
[ "$(cat report.txt)" = 200002000020000 ] || fail "report: $(cat report.txt)"
[ ! -e raw/a.fq ] || fail "a temp file was not deleted"
[ ! -e .snakemake/incomplete ] || [ -z "$(ls .snakemake/incomplete)" ] ||
    fail "incomplete markers are left"
nothing "bare after covered" snakemake --cores 2
nothing "covered after covered" covered snakemake --cores 2

say "an input changed outside is seen inside"
sleep 1.1
gzip -dc aln/b.bam | head -5 | gzip -nc > "$WORK/b" && cat "$WORK/b" > aln/b.bam
covered "${smk[@]}" || fail "the second covered run"
[ "$(cat report.txt)" = 20000520000 ] || fail "report: $(cat report.txt)"

say "and from a bare run, nothing to do covered"
rm -rf aln counts report.txt
"${smk[@]}"
nothing "covered after bare" covered snakemake --cores 2
