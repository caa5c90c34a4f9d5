#!/bin/bash
# A pipeline in the shape of Genomon DNA, in small: pipeline.sh FOLDER. It sends its jobs by Slurm, each
# stage when those before it are done, and waits until the last one has published the result. It is the
# head of the pipeline, as the master of Virtual Grid Engine is in the source: what a pipeline needs from
# its first to its last job, such as room, its head asks for.
# In the environment, beside what task.sh wants:
#   LOW    the partition of jobs that wait for all others; without it they go where all do
#   LOGS   a folder for what jobs have to say
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
cd "$1"

# STAGE JOBS PARTITION JOB...: sends it; it begins when these jobs have ended well.
send() {
    local stage=$1 jobs=$2 partition=$3 after
    shift 3
    after=$(IFS=:; echo "$*")
    sbatch --parsable -o "$LOGS/%x-%A-%a.log" -J "$stage" --array="1-$jobs" ${partition:+-p "$partition"} \
        ${after:+-d "afterok:$after"} "$here/task.sh" "$stage"
}
split=$(send split 2 "")
map=$(send map 32 "${LOW:-}" "$split")
markdup=$(send markdup 6 "" "$map")
merge=$(send merge 2 "" "$markdup")
mutations=$(send mutations 10 "" "$markdup")
send publish 1 "" "$merge" "$mutations" > /dev/null

# By the shell alone: programs that only wait would be tasks of the run.
exec 9<> <(:)
until [ -e result ] && ! [ -e 1.bam ]; do
    [ ! -e failed ] || exit 1
    read -rt 0.2 -u 9 || true
done
