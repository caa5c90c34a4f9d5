#!/bin/bash
# If this failed, rules for the files of a Snakemake rule would miss them, or a job that failed would
# be told as one that succeeded; or the package could not be installed.
# ring: short
# as: root,user
# bare: no
# needs: snakemake python3
# limit: 120
set -u
. "$REAL/lib.sh"

say "the package is built and installed as from an index"
export XDG_CACHE_HOME=$WORK/tmp/cache
pip() { python -m pip --quiet --disable-pip-version-check --no-cache-dir "$@"; }
cp -r "$ROOT/packaging/snakemake-logger-plugin-forebay" "$WORK/source"
PYTHONPATH=$TOOLS/python-build pip wheel --no-deps --no-index --no-build-isolation \
    --wheel-dir "$WORK/wheels" "$WORK/source" || fail "no wheel"
pip install --no-deps --no-index --target "$WORK/plugins" "$WORK"/wheels/*.whl || fail "not installed"
export PYTHONPATH=$WORK/plugins

# What lies on the tier is listed from within jobs: their outputs are open there still.
cat > Snakefile <<'SMK'
rule all:
    input: "made/part", "made/other", "folder/list", "failed"
rule part:
    output: "made/part", directory("folder/deep")
    shell: "mkdir -p folder/deep; seq 9 > folder/deep/x; (seq 9; ls -R $FAR > $SEEN/part) > made/part"
rule other:
    output: "made/other"
    shell: "(seq 9; ls -R $FAR > $SEEN/other) > made/other"
rule folder:
    input: "made/part"
    output: "folder/list"
    shell: "ls folder/deep > folder/list"
rule fails:
    output: "failed"
    shell: "echo half > failed; exit 3"
SMK
cat > "$WORK/task.toml" <<'RULES'
[[rule]]
match = "**"
task = "part"
home = "far"
RULES
export FAR=$WORK/far SEEN=$WORK/seen
mkdir "$SEEN"

say "a rule for the files of a Snakemake rule has them while the job runs, and no others"
"$FOREBAY" run --site "$WORK/site.toml" --rules "$WORK/task.toml" -o "$WORK/runs/logger.run" -- \
    snakemake --logger forebay --cores 1 --keep-going > "$WORK/out" 2>&1 && fail "a rule fails, and nobody says so"
grep -q '/part$\|part' "$SEEN/part" || { cat "$WORK/out" "$SEEN"/*; fail "the rule's output is in place"; }
grep -q other "$SEEN/other" && { cat "$SEEN/other"; fail "another rule's output is on the tier"; }
[ "$(cat folder/list)" = x ] && [ "$(seq 9)" = "$(cat folder/deep/x)" ] || fail "another result"
[ ! -e .snakemake/forebay ] || fail "the plugin's folder is left"

say "a job that failed has its rule's name, and is not told as one that succeeded"
names=$(python3 - "$WORK/runs/logger.run" <<'PY'
import sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = run.execute("""SELECT name, exit_status FROM tasks WHERE engine = 'snakemake' AND name != 'snakemake'
                      ORDER BY name""")
print(*(f"{name}:{status}" for name, status in rows))
PY
)
case $names in fails:0* | '') false ;; fails:*" folder:0 other:0 part:0") ;; *) false ;; esac || { cat "$WORK/out"; fail "tasks are: $names"; }

say "it takes nothing from a Snakemake without Forebay, nor from a dry run"
rm -rf made folder .snakemake
snakemake --logger forebay --cores 1 --dry-run > /dev/null 2>&1 || fail "a dry run"
[ ! -e .snakemake/forebay ] || fail "a dry run writes"
snakemake --logger forebay --cores 1 --quiet all -- made/part made/other || fail "without Forebay"
[ ! -e .snakemake/forebay ] || fail "the folder is left"
