#!/bin/bash
# If this failed, several pipelines on one cluster would fill the storage that they share: what a plan
# tells Slurm of room would be too little, or nobody would wait for it.
# ring: short
# as: root
# alone: yes
# bare: no
# needs: slurmctld slurmd sbatch munged python3
# limit: 180
set -u
. "$REAL/lib.sh"
. "$REAL/cluster.sh"
STUDY=$ROOT/studies/corun-live

cat > site.toml <<SITE
[nodes]
count = 2
cores = 8
[tier.net]
path = "$PWD/volume"
reach = "shared"
capacity = "26 MiB"
profile = { source = "no limit is told" }
SITE
mkdir volume inputs stages logs
export INPUTS=$PWD/inputs STAGES=$PWD/stages LOGS=$PWD/logs PACE=20 SCALE=8 LOW=forebay_low
for stage in split map markdup merge mutations publish; do ln -s "$STUDY/work.py" "stages/$stage"; done
for sample in 1 2; do head -c 3M /dev/zero > "inputs/$sample.fastq"; done
CPUS=8
cluster_for_pipelines 2 site.toml $LOW
check() { tail -n 5 logs/* said; squeue; stop; fail "$1"; } # cause

say "a pipeline alone, recorded where its jobs run"
"$FOREBAY" run --recorder auto --jobs "$PWD/jobs" --at "$PWD/volume" -o alone.run -- \
    bash "$STUDY/pipeline.sh" "$PWD/volume/alone" > said 2>&1 || check "the run"
cat said
grep -q "54 run files of [34] nodes joined" said || check "not all jobs are in the run"
rm -r volume/alone

say "the plan says which room each needs"
"$FOREBAY" plan alone.run --site site.toml --project net --goal throughput --samples 3 --budget 2s \
    --emit slurm -o rules.toml > said || check "plan"
grep '^#SBATCH --licenses=' rules.slurm.sh > licence || { cat rules.slurm.sh; check "no licence"; }
mib=$(grep -o '[0-9]*$' licence)
# At least what a pipeline has at once, at most all that it writes; and no room for a third.
[ "$mib" -ge 9 ] && [ "$mib" -le 13 ] || check "room for each is $mib MiB"

say "three at once, two of which have room"
cat > head.sh <<HEAD
#!/bin/bash
$(cat licence)
date +%s.%N > "$PWD/began.\$1"
bash "$STUDY/pipeline.sh" "$PWD/volume/\$1"
status=\$?
date +%s.%N > "$PWD/ended.\$1"
exit \$status
HEAD
for pipeline in 1 2 3; do
    sbatch -p heads -J head -o "$LOGS/head.%j" head.sh $pipeline > said || check "sbatch"
done
cat > watch.py <<'PY'
import os, subprocess, sys, time
most, reasons = 0, set()
while heads := subprocess.check_output(["squeue", "-h", "-n", "head", "-o", "%t %r"], text=True).splitlines():
    reasons.update(line.split()[1] for line in heads if line.startswith("PD"))
    for _ in range(4):
        used = 0
        for folder, _, files in os.walk("volume"):
            for name in files:
                try:
                    used += os.stat(os.path.join(folder, name)).st_size
                except FileNotFoundError:
                    pass
        most = max(most, used)
        time.sleep(0.05)
print(f"at most {most / 2**20:.1f} of 26 MiB in use; one waited for: {' '.join(sorted(reasons))}")
sys.exit(most > 26 << 20 or "Licenses" not in reasons)
PY
python3 watch.py || check "there was not room for all, or none waited"
for pipeline in 1 2 3; do [ -s "volume/$pipeline/result" ] || check "pipeline $pipeline has no result"; done
# Some order of the three: the last to begin did so when one had ended.
last=$(cat began.* | sort -n | tail -1) first=$(cat ended.* | sort -n | head -1)
[ "$(printf '%s\n' "$first" "$last" | sort -n | head -1)" = "$first" ] || check "three ran at once"
stop
