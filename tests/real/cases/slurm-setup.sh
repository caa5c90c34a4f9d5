#!/bin/bash
# If this failed, the lines that Forebay gives to the administrators of a cluster would stop Slurm or
# change nothing, and jobs would begin on nodes without their volume, or get more room than there is.
# ring: short
# as: root
# s3: yes
# alone: yes
# bare: no
# needs: slurmctld slurmd sbatch scontrol srun munged python3
# limit: 180
set -u
. "$REAL/lib.sh"
. "$REAL/cluster.sh"

die() { cat "$etc"/slurmctld.log "$etc"/slurmd.*.log | tail -60; cat "$etc/slurm.conf"; sinfo -Nl; squeue; stop; fail "$1"; }

slurm_ends() { ! pgrep -x 'slurmd|slurmctld' > /dev/null; }

restart() {
    local file number
    for file in "$etc"/slurmd.*.pid "$etc/slurmctld.pid"; do kill "$(cat "$file")"; done
    wait_for 20 slurm_ends || fail "Slurm does not end"
    slurmctld || die "slurmctld does not start"
    for number in 1 2; do slurmd -N "n$number" || die "slurmd n$number does not start"; done
    wait_for 30 all_idle 2 || die "nodes do not come up"
}

check() { # STATUS
    local got=0
    "$FOREBAY" slurm check "${options[@]}" > told || got=$?
    [ "$got" = "$1" ] || { cat told; die "check ended with $got, not $1"; }
}

told() { grep -q "$1" told || { cat told; die "check does not say: $1"; }; }

cluster 2
# As on a cluster that knows nothing of Forebay.
sed -i -e '/^GresTypes/d' -e 's/ Gres=[^ ]*//' "$etc/slurm.conf"
: > "$etc/gres.conf"
restart
mkdir "$WORK/volume" "$WORK/local"
chmod 755 "$WORK/local"
cat > lab.toml <<SITE
[tier.near]
path = "$WORK/local/\$USER"
reach = "node"
capacity = "90 MiB"
[tier.net]
path = "$WORK"
reach = "shared"
capacity = "100 MiB"
SITE
options=(--site lab.toml --mount "$WORK/volume" --stage-in --low low)

say "a cluster that lacks all is told so"
check 1
for section in "room on nodes" "room for all" "begin of jobs" "end of jobs" "stage in" "low queue"; do
    told "^missing  $section: "
done

say "lines at the end of slurm.conf come too late for nodes, and it says so"
"$FOREBAY" slurm print "${options[@]}" -o "$etc" || die "print"
cp "$etc/slurm.conf" slurm.conf
echo "Include forebay.conf" >> "$etc/slurm.conf"
echo "Include forebay-gres.conf" > "$etc/gres.conf"
restart
check 1
told "^missing  room on nodes: n1,n2 have no forebay_near"

say "before the nodes they are all that is needed"
sed '/^NodeName/i Include forebay.conf' slurm.conf > "$etc/slurm.conf"
restart
mount_volume() { "$FOREBAY" mount --allow-other --state "$WORK/$1" s3://ours/slurm-setup "$WORK/volume"; }
mount_volume one || die "mount"
check 0
grep -q '^missing' told && { cat told; die "something is missing"; }
for section in "room on nodes" "room for all" "begin of jobs" "stage in" "low queue" arrays nodes; do
    told "^ok       $section: "
done

say "the doctor asks each node"
# Other mounts of this machine may be lost; they are not the case's.
"$FOREBAY" doctor --cluster --json > doctor
python3 - "$WORK/volume" <<'PY' || { cat doctor; die "doctor --cluster"; }
import json, sys
nodes = json.load(open("doctor"))["nodes"]
assert [node["node"] for node in nodes] == ["n1", "n2"], nodes
for node in nodes:
    assert node["forebay"] and node["kernel"] and node["clock_off_s"] == 0, node
    assert not [said for said in node["troubles"] if sys.argv[1] in said or "answer" in said], node
PY

say "a job of an ordinary user gets a directory on the node's disk, and files that it names"
seq 100000 > "$WORK/volume/a reference's file"
"$FOREBAY" unmount "$WORK/volume" || die "unmount"
mount_volume two || die "mount again"
cat > job.sh <<JOB
#!/bin/bash
#FOREBAY warm $WORK/volume/a reference's file
#FOREBAY warm $WORK/volume/\$(touch $WORK/broken)
stat -c %U:%a $WORK/local/forebay-test
md5sum < "$WORK/volume/a reference's file"
JOB
chmod 777 .
sbatch -W --uid=forebay-test --gres=forebay_near:80 -D "$PWD" -o "$PWD/log" job.sh || die "the job"
grep -v slurmstepd log > lines      # which says that TMPDIR is not the user's
[ "$(sed -n 1p lines)" = forebay-test:700 ] || { cat log; die "no directory of the user's"; }
[ "$(sed -n 2p lines)" = "$(seq 100000 | md5sum)" ] || { cat log; die "another file"; }
grep -q "forebay: job [0-9]*: .*this node has 1 file" "$etc/slurmctld.log" || die "nothing was warmed"
[ ! -e "$WORK/broken" ] || die "a name in a job script was run"
printf '#!/bin/sh\n#FOREBAY cool /x\ntrue\n' > wrong.sh
sbatch wrong.sh > said 2>&1 && die "a line that nobody understands is taken"

say "room for all is never given twice: of three that want 40 of 100 MiB, one waits"
printf '#!/bin/sh\nuntil [ -e %s/go ]; do sleep 0.1; done\n' "$WORK" > wait.sh
for _ in 1 2 3; do sbatch -Q -o /dev/null --licenses=forebay_net:40 wait.sh || die "sbatch"; done
one_waits() { [ "$(squeue -h -o '%t %r' | sort | paste -sd,)" = "PD Licenses,R None,R None" ]; }
wait_for 30 one_waits || die "not two of three run"
touch "$WORK/go"
wait_for 30 all_idle 2 || die "they do not end"

say "what was left behind by a killed daemon of the user's job is taken away, and nothing else"
(SLURM_JOB_UID=$(id -u forebay-test) SLURM_JOB_ID=1 "$etc/forebay-epilog") || die "the epilog failed"
mountpoint -q "$WORK/volume" || die "the epilog took a living mount away"

say "a node whose volume is not there gets no job, and says why"
wait_for 30 sh -c '[ -z "$(squeue -h)" ]' || die "jobs are left"
"$FOREBAY" unmount "$WORK/volume" || die "unmount"
sbatch -o /dev/null wait.sh > /dev/null || die "sbatch"
drained() { sinfo -h -N -o %T | grep -q drain; }
wait_for 30 drained || die "no node is drained"
scancel --name wait.sh
check 0
told "^limited  nodes: n[12] is .*DRAIN.*because: Prolog error"
mount_volume three || die "mount once more"
wait_for 30 sh -c '[ -z "$(squeue -h)" ]' || die "a cancelled job stays"
scontrol update NodeName=n1,n2 State=RESUME
wait_for 30 all_idle 2 || die "nodes do not come back"
sbatch -W -p low -o /dev/null wait.sh || die "the job after that"
"$FOREBAY" unmount "$WORK/volume" || die "the last unmount"
stop
