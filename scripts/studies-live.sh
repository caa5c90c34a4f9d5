#!/usr/bin/env bash
# The closed loop for real: workflows are recorded with two slots and with one, their wall time on
# other storage is predicted from these records, then they are run there, and both are printed side
# by side, whatever comes out (studies/closed-loop/measure.py says more). Then published experiments
# as the model reproduces them, with their errors. Then published comparisons in small, published,
# predicted, measured: of storages (studies/storages-live), by nodes and jobs (studies/nodes-live), of
# s3fs and rclone over an S3 server on this machine (studies/neighbours-live), of several pipelines at
# once on a cluster of Slurm's (studies/corun-live), and of a node of one that is taken away in the middle
# of a run (studies/spot-live).
#
#   scripts/studies-live.sh [--only wgs,genes,...] [--pipelines DIR]           two hours
#   scripts/studies-live.sh --storages [--only trinity|evacuation|nextflow]    the second part alone
#   scripts/studies-live.sh --nodes [--only fastq-dump|bowtie]                 the third part alone
#   scripts/studies-live.sh --neighbours [--only links|copies|small]           the fourth part alone
#   scripts/studies-live.sh --corun [--most 5]                                 the fifth part alone
#   scripts/studies-live.sh --spot [--repeat 1]                                the sixth part alone
#   FOREBAY=path             the binary (default target/release/forebay)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup-demo.sh
bash tests/real/setup.sh
forebay=${FOREBAY:-target/release/forebay}
case ${1:-} in
    --storages) study=storages-live ;;
    --nodes) study=nodes-live ;;
    --neighbours) study=neighbours-live ;;
    --corun) study=corun-live ;;
    --spot) study=spot-live ;;
    *) study= ;;
esac
# Where a distribution lacks a program, its study says so.
case $study in '' | nodes-live) scripts/setup-programs.sh ;; esac
case $study in '' | neighbours-live) scripts/setup-neighbours.sh ;; esac
if [ -n "$study" ]; then
    shift
    exec .venv/bin/python "studies/$study/measure.py" --forebay "$forebay" "$@"
fi
.venv/bin/python studies/closed-loop/measure.py --forebay "$forebay" "$@"
"$forebay" study studies/genomon-placements studies/genomon-corun studies/trinity-storages
.venv/bin/python studies/storages-live/measure.py --forebay "$forebay"
.venv/bin/python studies/nodes-live/measure.py --forebay "$forebay"
.venv/bin/python studies/neighbours-live/measure.py --forebay "$forebay"
.venv/bin/python studies/corun-live/measure.py --forebay "$forebay"
exec .venv/bin/python studies/spot-live/measure.py --forebay "$forebay"
