# A cluster of Slurm's on this machine, all of it in the case's own namespaces; sourced by cases.
# cluster NODES    starts one with so many nodes, n1 and so on, of two cores and 90 MiB of a tier `near`
#                  each, as the settings that a plan writes ask for it; after nodes.sh they are its nodes
# slurm_more       lines before those of the nodes, and slurm_partitions lines behind them: others may be
#                  given before a cluster starts; CPUS is how many cores a node has
# cluster_for_pipelines NODES SITE LOW   one that several pipelines share: so many nodes, and another for
#                  their heads; settings as `forebay slurm print` has them for a site, and a partition LOW of
#                  lower priority
# start_slurmd K   on node K alone, for one that is replaced
# short_jobs       lines for slurm_more that suit jobs of seconds
# stop             ends it
# No case logic here.

etc=$WORK/slurm

as_munge() { setpriv --reuid munge --regid munge --clear-groups "$@"; }

cluster() {
    local host number
    host=$(hostname -s)
    mkdir -p "$etc/state" "$WORK/munge"
    chown munge: "$WORK/munge" && chmod 755 "$WORK" "$WORK/munge"
    head -c 1024 /dev/urandom > "$WORK/munge/key"
    chown munge: "$WORK/munge/key" && chmod 400 "$WORK/munge/key"
    as_munge munged --force --key-file="$WORK/munge/key" --socket="$WORK/munge/socket" \
        --pid-file="$WORK/munge/pid" --log-file="$WORK/munge/log" \
        --seed-file="$WORK/munge/seed" || fail "munged"
    cat > "$etc/slurm.conf" <<CONF
ClusterName=case
SlurmctldHost=$host${HEAD:+($HEAD)}
AuthType=auth/munge
AuthInfo=socket=$WORK/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmctldPort=16817
StateSaveLocation=$etc/state
SlurmdSpoolDir=$etc/spool.%n
SlurmctldPidFile=$etc/slurmctld.pid
SlurmdPidFile=$etc/slurmd.%n.pid
SlurmctldLogFile=$etc/slurmctld.log
SlurmdLogFile=$etc/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
GresTypes=forebay_near
$(slurm_more)
$(slurm_nodes "$1" "$host")
$(slurm_partitions)
CONF
    echo "Name=forebay_near Count=90 Flags=CountOnly" > "$etc/gres.conf"
    export SLURM_CONF=$etc/slurm.conf
    slurmctld || { cat "$etc"/*.log; fail "slurmctld"; }
    for number in $(seq "$1"); do start_slurmd "$number"; done
    wait_for 30 all_idle "$1" || { cat "$etc"/*.log; sinfo; stop; fail "not all nodes come up"; }
}

start_slurmd() {
    mkdir -p "$etc/spool.n$1"
    # Where it is looked for by programs whose environment has nothing of Slurm's, as Snakemake's jobs.
    ${HEAD:+node "$1" mount --bind "$etc" /etc/slurm}
    ${HEAD:+node "$1"} slurmd -N "n$1" || { cat "$etc"/*.log; fail "slurmd n$1"; }
}

# For slurm_more: a node runs as many jobs as it has cores; and jobs are seconds long, so the queue is
# looked at whenever one ends.
short_jobs() {
    echo "SelectType=select/cons_tres"
    echo "SelectTypeParameters=CR_CPU"
    echo "SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=1,bf_interval=1"
}

cluster_for_pipelines() {
    local nodes=$1 low=$3
    slurm_more() {
        short_jobs
        echo "Include forebay.conf"
    }
    # Forebay's lines for LOW would have the node of the heads, too.
    slurm_partitions() {
        echo "PartitionName=all Nodes=n[1-$nodes] Default=YES PriorityTier=10 State=UP"
        echo "PartitionName=$low Nodes=n[1-$nodes] PriorityTier=1 State=UP"
        echo "PartitionName=heads Nodes=n$((nodes + 1)) State=UP"
    }
    mkdir -p "$etc"
    "$FOREBAY" slurm print --site "$2" -o "$etc" > "$WORK/print.log" 2>&1 ||
        { cat "$WORK/print.log"; fail "forebay slurm print"; }
    # The files of this cluster are elsewhere.
    sed -i "s|/etc/slurm/|$etc/|" "$etc/forebay.conf"
    cluster $((nodes + 1))
}

slurm_more() { :; }

slurm_partitions() { echo "PartitionName=all Nodes=ALL Default=YES State=UP"; }

# NODES HOST: lines of slurm.conf; on a machine without nodes of their own, they differ by ports.
slurm_nodes() {
    local k each="CPUs=${CPUS:-2} RealMemory=8000 Gres=forebay_near:90 State=UNKNOWN"
    if [ -z "${HEAD:-}" ]; then
        echo "NodeName=n[1-$1] NodeHostname=$2 Port=[16818-$((16817 + $1))] $each"
        return
    fi
    for k in $(seq "$1"); do
        echo "NodeName=n$k NodeHostname=$2 NodeAddr=10.77.0.$k Port=16818 $each"
    done
}

all_idle() { [ "$(sinfo -h -t idle -o %D)" = "$1" ]; }

stop() {
    local file
    for file in "$etc"/slurmd.*.pid "$etc/slurmctld.pid" "$WORK/munge/pid"; do
        kill "$(cat "$file")"
    done
    wait_for 20 sh -c "! pgrep -x 'slurmd|slurmctld|munged' > /dev/null"
}
