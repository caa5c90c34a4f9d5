# The demo's workflow by Slurm on a volume of four nodes, one of which dies in the middle and comes back;
# sourced by cases after nodes.sh, cluster.sh and wgs.sh. ENGINE is the one whose tasks are counted.
# wgs_alone COMMAND...     what the command does on this machine alone, in the folder bare/, which it makes
# wgs_nodes                the volume, with inputs/ and project/, and the cluster
# wgs_by_slurm COMMAND...  what it does from the volume's project/, where it sends jobs; a node dies
# wgs_same                 has the results of the one alone, and all tasks in one run; ends all
# No case logic here.

# How often a kind of task ran to its end in a run, by its run file: what died is there without one.
cat > told.py <<'PY'
import sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in run.execute("""SELECT name, count(*) FROM tasks WHERE engine = ? AND kind = 'task' AND exit_status = 0
                          GROUP BY name ORDER BY name""", sys.argv[2:]):
    print(*row)
PY

wgs_alone() {
    say "on this machine alone"
    mkdir inputs bare
    (cd inputs && "${smk[@]}" --quiet all --cores 2 -- inputs) || fail "the inputs"
    (cd bare && "$FOREBAY" run -q --recorder auto -o "$WORK/one.run" -- "$@") || fail "the run alone"
    python3 told.py "$WORK/one.run" "$ENGINE" > alone.told
}

wgs_nodes() {
    say "a volume on four nodes and the head"
    nodes 4
    bucket
    book
    volume_everywhere wgs
    cluster 4
    cp -r inputs/data "$WORK/volume/inputs"
    mkdir "$WORK/volume/project"
}

check() { # cause
    tail -n 40 out; cat summary
    find volume/project/.snakemake/slurm_logs -name '*.log' -exec tail -n 20 {} + 2> /dev/null | tail -n 200
    tail -n 60 volume/project/.nextflow.log 2> /dev/null
    daemon_logs; stop; fail "$1"
}

# The newest job's number: there are some 80.
begun() { squeue -h -t R -o %i | sort -n | tail -n 1; }

# One on node 3 that is recorded by now: its mark is there.
its_job() {
    local job
    for job in $(squeue -h -w n3 -t R -o %i); do
        ls volume/jobs/*/began | grep -q "[.]$job[.]0" && echo "$job" && return
    done
}

middle() {
    kill -0 $run || return 0
    [ "0$(begun)" -ge 20 ] && victim=$(its_job) && [ -n "$victim" ]
}

# Slurm starts it again, or has ended it, and the engine sends another.
given_up() { ! scontrol -o show job "$victim" | grep -q 'JobState=RUNNING Reason=[^ ]* .* Restarts=0'; }

back() { sinfo -h -N -n n3 -o %T | grep -qE '^(idle|mixed|allocated)$'; }

wgs_by_slurm() {
    say "the guide's command; a node dies in the middle, and is mended"
    cd "$WORK/volume/project" || exit 1
    "$FOREBAY" run --jobs "$WORK/volume/jobs" --at "$WORK/volume" --recorder auto -o "$WORK/all.run" -- "$@" \
        > "$WORK/out" 2> "$WORK/summary" &
    run=$!
    cd "$WORK" || exit 1
    wait_for 60 middle || check "no job runs on node 3"
    kill -0 $run 2> /dev/null || check "the run has ended before the node died"
    kill_on_node 3
    scontrol update nodename=n3 state=down reason=died
    rm "$etc/slurmd.n3.pid"
    wait_for 20 given_up || check "job $victim still runs, for Slurm"
    # As at its next boot: the mount first, then slurmd.
    node 3 umount -l "$WORK/volume"
    node 3 "$FOREBAY" mount --book "$(url_on 3)" --listen 10.77.0.3 s3://lab/wgs "$WORK/volume" ||
        check "the mount on node 3, again"
    node 3 slurmd -N n3 || check "slurmd on node 3, again"
    wait_for 20 back || check "node 3 does not come back"
    wait $run || check "the run"
    cat summary
}

wgs_same() {
    say "all is in one run, but for the records of jobs that died"
    grep -q "^forebay: [0-9]* run files of [45] nodes joined" summary || check "nothing was joined"
    grep -q "begun and left no record" summary || check "a record that is missing is not told"
    grep -q "handed over" summary && check "jobs that were recorded are told as not seen"
    python3 d/told.py all.run "$ENGINE" > all.told
    cat all.told
    same d/alone.told all.told
    stop

    say "the same results"
    results d/bare > expected
    results volume/project > got
    [ -s expected ] || fail "no results"
    diff expected got || fail "other results"
    volume_nowhere
    end_nodes
}
