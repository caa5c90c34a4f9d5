#!/usr/bin/env bash
# A pipeline of a few seconds in the current directory: many small files, two large ones that are
# sorted and packed, side by side.
set -euo pipefail

mkdir -p small parts
for sample in a b c; do
    (
        seq 200000 | sed "s/^/$sample /" >"parts/$sample.txt"
        sort -r "parts/$sample.txt" -o "parts/$sample.sorted"
        gzip -kf "parts/$sample.sorted"
    ) &
done
for number in $(seq 300); do echo "$number" >"small/$number.txt"; done
cat small/*.txt >all.txt
dd if=/dev/zero of=large.bin bs=64k count=200 conv=fsync status=none
sleep 2.2   # the machine is looked at once a second
wait
sort -m parts/*.sorted >merged.txt
sha256sum merged.txt large.bin >sums.txt
