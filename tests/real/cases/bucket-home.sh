#!/bin/bash
# If this failed, a team whose projects or results are in a bucket would find results there that
# other tools can't read, that are not what the workflow made, or none.
# ring: long
# as: root
# as-long: user
# bare: no
# s3: yes
# needs: fusermount3 rclone snakemake bwa samtools bcftools bamsort bgzip
# limit: 400
set -eu
. "$REAL/lib.sh"
. "$REAL/wgs.sh"

here=$PWD wgs=$ROOT/workflows/wgs
smk+=(--cores 2)
all=("${smk[@]}" --quiet all --config "inputs=$here/inputs/data")

# A plain S3 client. A name that ends in / is a directory to it: it asks for no object there.
bucket=ours/$VARIANT-${WORK##*/}
s3=(--s3-provider Other --s3-endpoint "$AWS_ENDPOINT_URL" --s3-env-auth --config /dev/null)
s3+=(--disable ListR)       # which sends an empty delimiter: this server does not take it for none
objects() { rclone lsf -R --files-only "${s3[@]}" ":s3:$bucket/$1/" | LC_ALL=C sort; }
fetch() { rclone copy "${s3[@]}" ":s3:$bucket/$1/" "$2"; }

say "the workflow bare"
mkdir inputs bare
(cd inputs && "${smk[@]}" --quiet all -- inputs)
(cd bare && "${all[@]}")

cat > site.toml <<TOML
[tier.fast]
path = "$WORK/far"
reach = "node"
[tier.lab]
path = "s3://$bucket/published"
reach = "world"
TOML
# The demo's rules, for what dies young; before them, the one for what stays.
rules() {
    printf '[[rule]]\nmatch = "results/**"\nhome = "in-place"\n%s\n' "$1"
    cat "$wgs/tiers.toml"
}
rules 'publish = "lab"' > publish.toml
rules '' > here.toml
ruled() {  # RULES
    "$FOREBAY" run -q --site ../site.toml --rules "../$1" -o "$WORK/runs/$1.run" -- "${all[@]}"
}

say "a project on this machine, and results that are published to the bucket"
mkdir project
(cd project && ruled publish.toml)
objects published > there
(cd bare && find results -type f | LC_ALL=C sort) | diff - there || fail "other objects"
fetch published fetched
diff -r bare/results fetched/results || fail "other bytes in the bucket"
diff -r bare/results project/results || fail "other bytes in place"

say "a project that is itself in the bucket, each result as an object of its own"
printf '[[rule]]\nmatch = "results/**"\nhome = "in-place"\nlayout = "plain"\n' > plain.toml
mkdir at elsewhere
"$FOREBAY" mount --rules plain.toml "s3://$bucket/project" at
(cd at && ruled here.toml)
diff -r bare/results at/results || fail "other bytes while it is mounted"
list() { (cd "$1" && find . -type f -exec md5sum {} + | LC_ALL=C sort -k 2); }
list at > before
"$FOREBAY" unmount at
[ -z "$(find "$WORK/far" -type f)" ] || fail "files are left on the tier"
"$FOREBAY" check "s3://$bucket/project"
objects project > there
(cd bare && find results -type f | LC_ALL=C sort) > results
grep '^results/' there | diff - results || fail "other objects than results"
for name in panel/control1.bam reference/reference.fa; do
    grep -qxF "$name" there || { cat there; fail "$name is no object"; }
done
grep -v '^\.forebay/' there > plain
while read -r name; do
    case $name in results/*) continue ;; esac
    [ "$(stat -c %s "bare/$name")" -gt 131072 ] || fail "$name is small, and an object"
done < plain
grep -E '^(split|map|sort|scatter|gather|markdup|call)/' there && fail "what died is in the bucket"
fetch project objects
while read -r name; do
    same "objects/$name" "bare/$name"
done < plain

say "another machine finds all of it, and has nothing to do"
"$FOREBAY" mount --state "$WORK/another" --rules plain.toml "s3://$bucket/project" elsewhere
list elsewhere | diff before - || fail "other files on another machine"
(cd elsewhere && "${smk[@]}" --config "inputs=$here/inputs/data" --dry-run) > dry 2>&1
grep -q 'Nothing to be done' dry || { cat dry; fail "Snakemake would run steps again"; }
rm elsewhere/results/report.txt
(cd elsewhere && ruled here.toml)
"$FOREBAY" unmount elsewhere
"$FOREBAY" check "s3://$bucket/project"
objects project | grep '^results/' | diff - results || fail "other objects after that"

say "and the first one what was done there"
"$FOREBAY" mount "s3://$bucket/project" at
diff -r bare/results at/results || fail "other results here"
"$FOREBAY" unmount at
