#!/bin/bash
# If this failed, the same would be missing of Nextflow: a real workflow by Slurm with the results of a
# bare run, which are also those of Snakemake; all tasks in one run; a node that dies costs its own
# unfinished tasks alone.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: nextflow java snakemake bwa samtools bcftools bamsort bgzip slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter python3
# limit: 900
set -u
ENGINE=nextflow
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"
. "$REAL/wgs.sh"
. "$REAL/wgs_nodes.sh"

# Jobs are a second long here, so all is asked more often than by default.
cat > "$WORK/slurm.config" <<'CONF'
process { executor = 'slurm'; errorStrategy = 'retry'; maxRetries = 3 }
executor { queueSize = 8; pollInterval = '1s'; queueStatInterval = '1s'; exitReadTimeout = '20s' }
CONF

wgs_alone "${flow[@]}" --inputs "$PWD/inputs/data" --out results
say "what Snakemake makes of the same inputs"
mkdir snakemake
(cd snakemake && "${smk[@]}" --quiet all --cores 2 --config "inputs=$PWD/../inputs/data") || fail "Snakemake"
results snakemake > of-snakemake
results bare | diff of-snakemake - || fail "Nextflow makes other results than Snakemake"
wgs_nodes
wgs_by_slurm "${flow[@]}" -c "$WORK/slurm.config" --inputs "$WORK/volume/inputs" --out "$WORK/volume/project/results"
ran=$(find volume/project/work -mindepth 2 -maxdepth 2 -name '??*' -path '*/work/??/*' -type d | wc -l)
wgs_same
say "$((ran - $(awk '{n += $2} END {print n}' all.told))) tasks ran again"
