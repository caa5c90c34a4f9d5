#!/bin/bash
# If this failed, jobs that Slurm runs would not see a mounted volume, or a run with rules would
# send them to files that they can't find.
# ring: short
# as: root
# alone: yes
# bare: no
# needs: slurmctld slurmd sbatch munged
# limit: 120
set -u
. "$REAL/lib.sh"
. "$REAL/cluster.sh"

cluster 1

say "a job sees the volume, and what it writes goes where the rules say"
mkdir data
echo input > data/input
chown -R forebay-test: data
cat > "$WORK/packed.toml" <<RULES
[[rule]]
match = "*.tmp"
home = "far"
after = "discard"

[[rule]]
match = "**"
home = "far"
RULES
"$FOREBAY" mount --allow-other --site "$WORK/site.toml" --rules "$WORK/packed.toml" data data ||
    fail "mount"
cat > "$WORK/job.sh" <<'JOB'
#!/bin/bash
set -e
sort input > sorted.tmp
md5sum sorted.tmp > result
JOB
chmod 755 "$WORK/job.sh"
cd data || exit 1
chmod 1777 "$WORK/far"
sbatch -W --uid=forebay-test -D "$PWD" -o log "$WORK/job.sh" || {
    cat "$etc"/*.log; ls -la; stop; fail "the job"; }
cd ..
[ -f data/result ] && [ "$(stat -c %U data/result)" = forebay-test ] || fail "no result of the user's"
ls "$WORK"/far/*/* | grep -q result || fail "the rules did not reach the job"
"$FOREBAY" unmount data || fail "unmount"
[ -f data/result ] && [ ! -L data/result ] || fail "the result is not home"
[ ! -e data/sorted.tmp ] || fail "the temporary file was not discarded"
[ "$(cut -d' ' -f1 data/result)" = "$(md5sum < data/input | cut -d' ' -f1)" ] || fail "wrong result"

say "a run whose tasks go elsewhere stops before the first redirect"
expect_status 125 "$FOREBAY" run --site "$WORK/site.toml" --rules "$WORK/rules.toml" -- \
    sbatch -W -o "$WORK/log" "$WORK/job.sh"

say "a run without rules says what it did not see"
cp data/input .
"$FOREBAY" run -o "$WORK/runs/s.run" -- sbatch -W -o "$WORK/log" -D "$PWD" "$WORK/job.sh" \
    2> "$WORK/said" || fail "run"
grep -q sbatch "$WORK/said" || { cat "$WORK/said"; fail "it says nothing of sbatch"; }

say "the options that a plan writes are options of sbatch"
cat > "$WORK/plan-site.toml" <<SITE
[nodes]
count = 1
cores = 1
instance = "ec2.m6i.large"
[tier.net]
reach = "shared"
price = "efs.elastic"
profile = { source = "a test", latency = "20 ms", write = { stream = "1 MB/s" } }
[tier.near]
path = "$WORK/near"
reach = "node"
capacity = "1 GB"
profile = { source = "a test", latency = "10 us" }
SITE
mkdir "$WORK/near"
"$FOREBAY" run -q --trace every-read -o "$WORK/runs/p.run" -- \
    sh -c 'seq 1000000 > part.tmp; sort part.tmp | tail -1 > last; rm part.tmp' || fail "run"
for machines in --on-demand --spot; do
    "$FOREBAY" plan "$WORK/runs/p.run" --site "$WORK/plan-site.toml" --project net --samples 2 \
        --budget 2s $machines --emit slurm -o "$WORK/plan.toml" > "$WORK/told" || fail "plan"
    rm -f sample.*
    { cat "$WORK/plan.slurm.sh"; echo 'touch "sample.$SLURM_ARRAY_TASK_ID"'; } > "$WORK/array.sh"
    case $machines in --spot) option=requeue ;; *) option=gres=forebay_near: ;; esac
    grep -q "^#SBATCH --$option" "$WORK/array.sh" || { cat "$WORK/array.sh"; fail "no $option"; }
    sbatch -W -o "$WORK/log" -D "$PWD" "$WORK/array.sh" ||
        { cat "$WORK/array.sh" "$etc"/*.log; stop; fail "the array of a plan"; }
    [ -e sample.1 ] && [ -e sample.2 ] || { ls; fail "not all samples of the array ran"; }
done
stop
