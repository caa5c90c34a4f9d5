#!/bin/bash
# Runs a command beside a cluster of Slurm's: four nodes of SLOTS cores, and one on which the heads of
# pipelines run. Forebay says what slurm.conf needs for SITE; the partition of low priority leaves out the
# node of the heads, which `forebay slurm print --low` could not know.
#   WORK=FOLDER SITE=FILE LOW=PARTITION SLOTS=4 FOREBAY=... with_cluster.sh COMMAND...
# It is for mount and pid namespaces of its own: what runs in them ends with it.
set -u
REAL=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tests/real" && pwd)
. "$REAL/lib.sh"
. "$REAL/cluster.sh"

slurm_more() {
    echo "SelectType=select/cons_tres"
    echo "SelectTypeParameters=CR_CPU"
    # Jobs are seconds long: the queue is looked at whenever one ends.
    echo "SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=1,bf_interval=1"
    echo "Include forebay.conf"
}
slurm_partitions() {
    echo "PartitionName=all Nodes=n[1-4] Default=YES PriorityTier=10 State=UP"
    echo "PartitionName=$LOW Nodes=n[1-4] PriorityTier=1 State=UP"
    echo "PartitionName=heads Nodes=n5 State=UP"
}
CPUS=$SLOTS
mkdir -p "$etc"
"$FOREBAY" slurm print --site "$SITE" -o "$etc" > "$WORK/print.log" 2>&1 ||
    { cat "$WORK/print.log"; fail "forebay slurm print"; }
# The files of this cluster are elsewhere.
sed -i "s|/etc/slurm/|$etc/|" "$etc/forebay.conf"
cluster 5
"$@"
status=$?
stop
exit $status
