#!/bin/bash
# If this failed, a plain script would be planned as if all its programs could run at once: what is
# predicted for a storage that costs nothing is the time that the record itself took.
# ring: short
# as: root,user
# bare: no
set -eu
. "$REAL/lib.sh"

cat > "$WORK/site.toml" <<'SITE'
[nodes]
cores = 2
slots = 2
[tier.free]
reach = "shared"
[tier.free.profile]
source = "asked for"
latency = "0 ms"
SITE
cp /bin/sleep nap
cat > script.sh <<'SCRIPT'
cp nap kept
./nap 0.4
./nap 0.4 | cat | ./nap 0.5
seq 6 | xargs -P 2 -I{} ./nap 0.3
(./nap 0.2; ./nap 0.3) & ./nap 0.3 & wait
for turn in 1 2 3 4 5 6 7 8; do ./nap 0.05; done
./nap 0.4
SCRIPT
run=$WORK/script.run
"$FOREBAY" run -q -o "$run" -- bash script.sh
"$FOREBAY" simulate "$run" --site "$WORK/site.toml" --project free --json > "$WORK/told"
/usr/bin/python3 - "$run" "$WORK/told" <<'PY'
import json, sqlite3, sys
run = sqlite3.connect(sys.argv[1])
took = run.execute("SELECT value FROM header WHERE key = 'ended_us'").fetchone()[0] / 1e6
told = json.load(open(sys.argv[2]))["makespan_s"]
print(f"{took:.2f} s, predicted {told:.2f} s")
# Without order it is a third or four times of that. How exact it is, is no question for a machine
# that may be so busy that programs end before anybody has seen them.
if not 0.7 * took <= told <= 1.4 * took:
    for task in run.execute("SELECT task, kind, name, started_us, ended_us FROM tasks ORDER BY started_us"):
        print(task)
    sys.exit("the order of a script is not learnt")
PY
