#!/usr/bin/env bash
# Counts again what workload.toml says that Trinity asks a server of NFS for: records system calls,
# and lets nfs_requests.py say which of them would be requests. Then the same run on a mount of
# Forebay that costs nothing and believes names for 3 s, as a second count of what both can see
# (creates, opens, closes, removals). 5 minutes for Trinity's sample on two cores.
#
#   studies/trinity-storages/count.sh OUT LEFT.fq.gz RIGHT.fq.gz
#
#   PARTITIONS=60         traces so many partitions, chosen by chance, and no more (default: all)
#   FOREBAY=path          the binary (default target/release/forebay)
#   LD_LIBRARY_PATH=...   as Trinity shall find it (default: as in its image under Apptainer; set it
#                         to nothing to see what an empty entry costs)
#
# NEEDS Trinity 2.15 on the PATH, which this script does not install: Debian 12 has no package of it.
# Its sources have the sample: sample_data/test_Trinity_Assembly/reads.{left,right}.fq.gz. strace,
# sqlite3 and the programs that Trinity calls are installed where they are missing, by apt-get as root.
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
command -v Trinity >/dev/null ||
    { echo "count: there is no Trinity on the PATH, and this script does not install it" >&2; exit 1; }
packages=()
while read -r program package; do
    command -v "$program" >/dev/null || packages+=("$package")
done <<< "strace strace
sqlite3 sqlite3
jellyfish jellyfish
salmon salmon
samtools samtools
bowtie2 bowtie2
java default-jre-headless"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || packages+=(python3-numpy)
[ ${#packages[@]} -eq 0 ] || apt-get install -y -q "${packages[@]}" >&2

here=$(cd "$(dirname "$0")" && pwd)
forebay=$(realpath -m "${FOREBAY:-$here/../../target/release/forebay}")
left=$(realpath "$2") right=$(realpath "$3")
mkdir -p "$1"; out=$(cd "$1" && pwd)
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH-/usr/local/lib:/.singularity.d/libs}
# What is empty is not set: Trinity then makes a list that begins with an empty entry.
[ -n "$LD_LIBRARY_PATH" ] || unset LD_LIBRARY_PATH

trinity=(Trinity --no_version_check --seqType fq --left "$left" --right "$right" --CPU 2 --max_memory 4G
    --output trinity_out)

calls=%file,clone,clone3,fork,vfork,exit_group,close,dup2,dup3,write,writev,pwrite64,copy_file_range
calls+=,getdents64,fchdir,ftruncate,fsync,fdatasync,fstat,fchmod,fchown
traced() {
    rm -rf "$out/traces"; mkdir "$out/traces"
    strace -ff --seccomp-bpf -qq -y -ttt -s 256 -e trace=$calls -o "$out/traces/s" "$@" >"$out/log" 2>&1
}
rm -rf "$out/dir"; mkdir "$out/dir"; cd "$out/dir"
if [ -n "${PARTITIONS:-}" ]; then
    "${trinity[@]}" --no_distributed_trinity_exec >"$out/log" 2>&1
    cd trinity_out
    shuf -n "$PARTITIONS" --random-source=<(yes) recursive_trinity.cmds >../some.cmds
    traced "$(dirname "$(realpath "$(command -v Trinity)")")/trinity-plugins/BIN/ParaFly" -c ../some.cmds -CPU 2
else
    traced "${trinity[@]}"
fi
"$here/nfs_requests.py" "$out/dir" "$out/traces"
echo "the same, if the server's answers do not say that nobody else changed a directory:"
"$here/nfs_requests.py" "$out/dir" "$out/traces" --own-changes-drop-names

[ -z "${PARTITIONS:-}" ] && [ -x "$forebay" ] || exit 0
cat >"$out/free.toml" <<'TOML'
about = "costs nothing"
reach = "shared"

[profile]
source = "to count requests with"
attributes_for = "3 s"
TOML
cd "$out"; rm -rf dir server.run; mkdir dir
"$forebay" mount --emulate free.toml --trace every-read -o server.run dir dir
trap '"$forebay" unmount "$out/dir"' EXIT
(cd dir; "${trinity[@]}" >"$out/log" 2>&1)
trap - EXIT
"$forebay" unmount dir
echo "on a mount:"
sqlite3 -column server.run "SELECT CASE engine WHEN 'trinity' THEN 'partitions' ELSE 'rest' END AS what, op,
    sum(count) AS n FROM ops LEFT JOIN tasks USING (task) WHERE op IN ('create', 'open', 'close', 'unlink', 'rename',
    'mkdir', 'rmdir') GROUP BY 1, 2"
