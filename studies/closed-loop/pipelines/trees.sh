#!/usr/bin/env bash
# Trees of gene families by make: alignments by MAFFT, which works in a temporary directory of its
# own, trees by FastTree, and one table of all.
#   trees.sh inputs DIR | trees.sh run DIR SLOTS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
step=$1 inputs=$2
if [ "$step" = inputs ]; then
    cd "$inputs"
    python3 -B "$here/families.py" 20 8 300
    exit
fi
slots=$3
mkdir -p scratch
export TMPDIR=$PWD/scratch
exec make --silent --jobs "$slots" --makefile "$here/trees.mk" "INPUTS=$inputs"
