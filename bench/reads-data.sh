#!/usr/bin/env bash
# Fetches real reads for bench/reads.py: what packages of Debian have, larger than the cuts that fit
# beside sources, so that tables and start-up do not count for much.
#
#     bench/reads-data.sh [FOLDER]          default: target/bench/reads
#     bench/reads.py target/bench/reads/sets
#
# It downloads packages (250 MB, once), unpacks them below FOLDER and installs nothing. Needed are
# apt-get, dpkg-deb and samtools. What is there already is kept. FOLDER/sets has then, as .fq.gz:
#
#   hiseq2000      pairs  100 bp  Phred+64, 37 levels        seqprep-data        MIT
#   hiseqx         pairs  151 bp  33 levels, human chr22     drop-seq-testdata   MIT
#   nextseq550     single  60 bp  6 levels, cells            drop-seq-testdata   MIT
#   nextseq550pe   pairs   80 bp  6 levels, cells            drop-seq-testdata   MIT
#   amplicon       single  98 bp  6 levels, one amplicon     drop-seq-testdata   MIT
#   gaiix_sra      single  72 bp  names of SRA               gasic-examples      BSD-like
#   nanopore       single  long   Oxford Nanopore cDNA       seqkit-examples     MIT
set -euo pipefail

folder=${1:-$(dirname "${BASH_SOURCE[0]}")/../target/bench/reads}
mkdir -p "$folder"/{packages,unpacked,sets}
cd "$folder"

fail() {  # cause, where, next step
    printf 'reads-data: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

for tool in apt-get dpkg-deb samtools; do
    command -v $tool >/dev/null || fail "$tool is missing" PATH "use a machine with Debian or Ubuntu, and apt-get install samtools"
done

for package in seqprep-data drop-seq-testdata gasic-examples seqkit-examples; do
    [ -d unpacked/$package ] && continue
    (cd packages && apt-get -q download $package 2>/dev/null) \
        || fail "apt-get download $package failed" "$folder/packages" "apt-get update, or a source with Debian's main"
    dpkg-deb -x packages/${package}_*.deb unpacked/$package.part
    mv unpacked/$package.part unpacked/$package
done

# One file of a package by its end, wherever the package keeps its examples.
file() {
    local found
    found=$(find "unpacked/$1" -path "*$2" | sort | head -n 1)
    [ -n "$found" ] || fail "no $2" "package $1" "look with: find $PWD/unpacked/$1; the package may have changed"
    printf '%s\n' "$found"
}

# Alignments come as .bam.gz. Reads by lane, tile and place, as the instrument wrote them, where the
# order of alignments is not theirs.
alignments() {
    gzip -dc "$(file drop-seq-testdata "$1")"
}

as_instrument() {  # which field of the name is the lane; FASTQ on standard input
    paste - - - - | LC_ALL=C sort -t : -S 512M -k "$1,${1}n" -k "$(($1 + 1)),$(($1 + 1))n" \
        -k "$(($1 + 2)),$(($1 + 2))n" -k "$(($1 + 3)),$(($1 + 3))n" | tr '\t' '\n'
}

single() {  # name, command
    [ -e "sets/$1.fq.gz" ] && return
    "${@:2}" | gzip -1 >"sets/$1.part"
    mv "sets/$1.part" "sets/$1.fq.gz"
}

pairs() {  # name, alignments: pairs of which both reads are there, in the order of names
    [ -e "sets/$1_R2.fq.gz" ] && return
    alignments "$2" | samtools view -u -f 1 -F 0x900 - | samtools sort -n -u -T "sets/$1.sort" - \
        | samtools fastq -n -1 "sets/$1.1.part" -2 "sets/$1.2.part" -s /dev/null -0 /dev/null - 2>/dev/null
    for mate in 1 2; do
        gzip -1 <"sets/$1.$mate.part" >"sets/$1.$mate.gz.part"
        rm "sets/$1.$mate.part"
        mv "sets/$1.$mate.gz.part" "sets/$1_R$mate.fq.gz"
    done
}

reads_of() {  # alignments, field of the lane
    alignments "$1" | samtools fastq -n -F 0x900 - 2>/dev/null | as_instrument "$2"
}

for mate in 1 2; do
    single "hiseq2000_R$mate" gzip -dc "$(file seqprep-data "/data/multiplex_bad_contam_$mate.fq.gz")"
done
pairs hiseqx /censusseq/10_donors_chr22.selected_sites.bam.gz
single nextseq550 reads_of /utils/human_mouse_smaller.bam.gz 2
pairs nextseq550pe /utils/d0GRIA3_A.multi_organism.MOUSE.census.paired.bam.gz
single amplicon reads_of /sbarro/10_cells.bam.gz 4
single gaiix_sra gzip -dc "$(file gasic-examples /SRR059298_subset.fastq.gz)"
single nanopore gzip -dc "$(file seqkit-examples /pcs109_5k.fq.gz)"
ls -l sets
