#!/usr/bin/env bash
# Fetches real programs to try `forebay bench` on: assemblers, archives, aligners, counters, two
# neighbours that show object stores as directories, and what the pipelines of studies/closed-loop
# call. Idempotent: when all is there it ends at once and touches no network. Nothing of Forebay
# needs them but studies/closed-loop, studies/storages-live and studies/nodes-live.
#
# A distribution that lacks one of them is told, and the rest installed; it is a failure only if
# none of the programs is there in the end. Trinity is installed where apt has it; else one that
# you have is used if it is on the PATH.
#
#   scripts/setup-programs.sh            installs what is missing (Debian, Ubuntu; as root or by sudo)
#   scripts/setup-programs.sh --check    says what is there, and installs nothing
set -euo pipefail

say() { echo "setup-programs: $*" >&2; }

fail() {  # cause, where, next step
    printf 'setup-programs: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

# Debian package, a command (or file) that shows it is there, and what for.
apt_table() {
    cat <<'TABLE'
spades           rnaspades.py  assembly of transcripts (rnaSPAdes)
sra-toolkit      fastq-dump    reads from archives (also fasterq-dump, latf-load, kar)
bowtie           bowtie        alignment of short reads
bowtie-examples  /usr/share/doc/bowtie/examples/genomes/NC_008253.fna  a genome for it, E. coli 536
seqprep-data     /usr/share/doc/seqprep/examples/data/multiplex_bad_contam_1.fq  reads of a HiSeq 2000
salmon           salmon        counts of transcripts
s3fs             s3fs          an object store as a directory
rclone           rclone        an object store as a directory, and copies
trinityrnaseq    Trinity       assembly of transcripts (Trinity)
samtools         wgsim         simulated reads, and alignments (samtools)
minimap2         minimap2      alignment of long sequences
bowtie2          bowtie2       alignment of short reads
hisat2           hisat2        alignment of spliced reads
fastp            fastp         trimmed reads
subread          featureCounts counts of genes
bedtools         bedtools      intervals
kraken2          kraken2       classes of reads
mash             mash          distances of genomes
jellyfish        jellyfish     counts of k-mers
seqtk            seqtk         samples of reads
megahit          megahit       assembly of metagenomes
ncbi-blast+      blastn        search in databases
mafft            mafft         alignment of families
fasttree         fasttree      trees of families
TABLE
}

has() {
    case $1 in
        /*) [ -e "$1" ] || [ -e "$1.gz" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

missing() {  # packages whose witness is not there
    while read -r package witness _; do
        has "$witness" || echo "$package"
    done < <(apt_table)
}

as_root() {  # env keeps the setting through sudo, which drops exported variables
    if [ "$(id -u)" -eq 0 ]; then env DEBIAN_FRONTEND=noninteractive "$@"
    else sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

apt() { as_root apt-get -qq -o DPkg::Lock::Timeout=600 "$@"; }

# A package without a candidate is none that this distribution has.
offered() {
    local policy; policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)
    [[ $policy == *"Candidate: "* && $policy != *"Candidate: (none)"* ]]
}

install() {  # package...
    command -v apt-get >/dev/null || fail "no apt-get here (this script knows Debian and Ubuntu)" \
        "packages: $*" "install these programs by other means (conda, spack), on the PATH"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || fail \
        "packages are missing and this user may not install them (no sudo)" \
        "packages: $*" "as root: apt-get install --no-install-recommends $*"
    local package wanted=() log
    log=$(mktemp)
    apt update >"$log" 2>&1 || say "apt-get update failed; the lists that are there are used"
    for package; do
        if offered "$package"; then wanted+=("$package")
        else say "$package: this distribution has no such package"
        fi
    done
    if [ ${#wanted[@]} -gt 0 ]; then
        say "apt: ${wanted[*]}"
        # One that can't be installed must not keep the others away.
        apt install -y --no-install-recommends "${wanted[@]}" >>"$log" 2>&1 ||
            for package in "${wanted[@]}"; do
                apt install -y --no-install-recommends "$package" >>"$log" 2>&1 ||
                    say "$package: could not be installed ($(tail -n 1 "$log"))"
            done
    fi
    rm -f "$log"
}

hint() {  # witness
    case $1 in
        Trinity) echo "have your own Trinity on the PATH (a script that starts its container will do)" ;;
        *) echo "install it by other means, on the PATH, or do without" ;;
    esac
}

[ $# -eq 0 ] || [ "$*" = --check ] ||
    fail "$*: what is that?" "options" "$0, or $0 --check"
mapfile -t packages < <(missing)
# Most releases have no Trinity: that alone is no reason to ask the network each time.
if [ "${packages[*]}" = trinityrnaseq ] && ! offered trinityrnaseq; then packages=(); fi
if [ ${#packages[@]} -gt 0 ] && [ $# -eq 0 ]; then
    install "${packages[@]}"
fi

there=0
while read -r package witness what; do
    if has "$witness"; then
        there=$((there + 1))
        printf '  %-14s %s\n' "${witness##*/}" "$what"
    else
        printf '  %-14s %s: MISSING\n                 next: %s\n' "${witness##*/}" "$what" \
            "$(hint "$witness")"
    fi
done < <(apt_table)
[ $there -gt 0 ] || fail "none of the programs is there" "apt and the PATH" \
    "look at what apt says: apt-get install spades; on Ubuntu they are in 'universe'"
