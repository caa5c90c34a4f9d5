# Git checks two branches of 1,500 files out in turn, and a C program of 40 files is built in each.
# Words: ready, prepare, run, verify, rules; see ../README.md.
set -euo pipefail

case $1 in
ready)
    for tool in git gcc make; do
        command -v $tool >/dev/null || { echo "no $tool; next: bash tests/real/setup.sh"; exit 1; }
    done
    ;;
prepare)
    git init -q -b one .
    git config user.name bench
    git config user.email bench@localhost
    write() {  # a number that is in each file
        for folder in $(seq 15); do
            mkdir -p "data/$folder"
            for file in $(seq 100); do
                printf 'file %d of folder %d, branch %d\n' "$file" "$folder" "$1" > "data/$folder/$file.txt"
            done
        done
        calls=
        for part in $(seq 40); do
            printf 'int part%d(void) { return %d; }\n' "$part" "$1" > "part$part.c"
            calls+=" + part$part()"
        done
        { for part in $(seq 40); do echo "int part$part(void);"; done
          echo "int main(void) { return (0$calls) == 40 * $1 ? 0 : 1; }"; } > main.c
        printf 'program: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\tgcc -o $@ $^\n' > Makefile
        printf '*.o\nprogram\n' > .gitignore
    }
    write 1
    git add . && git commit -q -m one
    git checkout -q -b two
    write 2
    git add . && git commit -q -m two
    ;;
run)
    for branch in one two; do
        git checkout -q $branch
        make -s -j2 program
        ./program
    done
    git status --short
    ;;
verify)
    [ -z "$(git status --short)" ]
    git fsck --strict --no-dangling
    ./program
    ;;
rules)
    printf '[[rule]]\nmatch = "*.o"\nhome = "fast"\n'
    ;;
*) echo "unknown word $1"; exit 2 ;;
esac
