#!/bin/bash
# If this failed, MultiQC would not pick up what `forebay export` writes for it, or show the name of
# a file as markup.
# ring: short
# as: root
# bare: no
set -eu
. "$REAL/lib.sh"

multiqc=$TOOLS/multiqc/bin/multiqc
[ -x "$multiqc" ] || skip "no MultiQC: scripts/setup-multiqc.sh (1 GB)"

mkdir -p bin results
hostile='bin/a<img src=x onerror=alert(1)>'
cp "$(command -v cat)" "$hostile"
for name in one two; do
    "$FOREBAY" run -q -o "$WORK/$name.run" -- sh -c '
        for i in $(seq 40); do echo "$i" > "small.$1.$i"; done
        head -c 3000000 /dev/zero > "large.$1"; "$2" "large.$1" | wc -c; sort "small.$1.1"' \
        sh "$name" "./$hostile" > /dev/null
done
"$FOREBAY" export "$WORK/one.run" "$WORK/two.run" --format multiqc -o results/forebay
[ "$(find results/forebay -name '*_mqc.json' | wc -l)" = 4 ] || fail "four files"

say "MultiQC finds them without configuration"
"$multiqc" --no-ansi --no-version-check -o page results 2> "$WORK/multiqc.log" || {
    cat "$WORK/multiqc.log"
    fail "MultiQC ended with an error"
}
page=page/multiqc_report.html
[ -s "$page" ] || fail "no page"
for title in "Time by task" "Bytes by storage" "Sizes of files"; do
    grep -q "$title" "$page" || fail "no section $title"
done
stats=page/multiqc_data/multiqc_general_stats.txt
for what in one two forebay_wall_min forebay_files_made; do
    grep -q "$what" "$stats" || fail "no $what in the general statistics: $(cat "$stats")"
done
# A name is text in the page, never a tag.
if grep -q '<img src=x' "$page"; then fail "a name became markup"; fi
grep -q 'a&lt;img src=x' page/multiqc_data/multiqc_forebay_time_by_task_plot.txt ||
    fail "the name is not shown at all"
