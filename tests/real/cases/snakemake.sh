#!/bin/bash
# If this failed, Snakemake would run finished jobs again, or not delete temp files, under forebay.
# ring: short
# as: root,user
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
jobs_to_do() { "$@" --dry-run 2>&1 | tee "$WORK/dry" | grep -c 'Nothing to be done' || true; }

covered "${smk[@]}" || fail "the covered run"
[ "$(cat report.txt)" = 200002000020000 ] || fail "report: $(cat report.txt)"
[ ! -e raw/a.fq ] || fail "a temp file was not deleted"
[ ! -e .snakemake/incomplete ] || [ -z "$(ls .snakemake/incomplete)" ] || fail "incomplete markers are left"
[ "$(jobs_to_do snakemake --cores 2)" = 1 ] || { cat "$WORK/dry"; fail "bare after covered has work to do"; }
[ "$(jobs_to_do covered snakemake --cores 2)" = 1 ] || { cat "$WORK/dry"; fail "covered after covered has work to do"; }

say "an input changed outside is seen inside"
sleep 1.1
gzip -dc aln/b.bam | head -5 | gzip -nc > "$WORK/b" && cat "$WORK/b" > aln/b.bam
covered "${smk[@]}" || fail "the second covered run"
[ "$(cat report.txt)" = 20000520000 ] || fail "report: $(cat report.txt)"

say "and from a bare run, nothing to do covered"
rm -rf aln counts report.txt
"${smk[@]}"
[ "$(jobs_to_do covered snakemake --cores 2)" = 1 ] || { cat "$WORK/dry"; fail "covered after bare has work to do"; }
