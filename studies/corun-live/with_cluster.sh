#!/bin/bash
# Runs a command beside a cluster of Slurm's: four nodes of SLOTS cores, and one on which the heads of
# pipelines run. Forebay says what slurm.conf needs for SITE.
#   WORK=FOLDER SITE=FILE LOW=PARTITION SLOTS=4 FOREBAY=... with_cluster.sh COMMAND...
# It is for mount and pid namespaces of its own: what runs in them ends with it.
set -u
REAL=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tests/real" && pwd)
. "$REAL/lib.sh"
. "$REAL/cluster.sh"

CPUS=$SLOTS
cluster_for_pipelines 4 "$SITE" "$LOW"
"$@"
status=$?
stop
exit $status
