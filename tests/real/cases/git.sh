#!/bin/bash
# If this failed, people would find their repositories dirty or broken after a covered run.
# ring: short
# as: root,mounted-user
# as-long: user,mounted
# needs: git
set -eu
. "$REAL/lib.sh"

export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git config --global init.defaultBranch main
git config --global safe.directory '*'
git config --global gc.auto 0

clean() {  # WHERE: no refresh of the index is needed, so no stat data differ
    [ -z "$(git -C "$1" diff-files)" ] || fail "index of $1 is dirty: $(git -C "$1" diff-files)"
}
inodes_agree() {  # REPOSITORY, seen from outside: the index holds the backing inode numbers
    local ino file
    git -C "$1" ls-files --debug | awk '/^[^ ]/ {f = $0} / ino: / {print $4, f}' |
        while read -r ino file; do
            [ "$ino" = "$(stat -c %i "$1/$file")" ] || { echo "$file: index says $ino"; exit 1; }
        done || fail "inode numbers in the index are not those of the directory"
}

say "a source repository, made outside"
git init -q "$WORK/source"
for i in $(seq 300); do
    mkdir -p "$WORK/source/dir$((i % 17))"
    seq "$i" $((i + 200)) > "$WORK/source/dir$((i % 17))/file$i"
done
git -C "$WORK/source" add -A
git -C "$WORK/source" commit -qm one

say "clone, commit, branch, merge, gc, fsck inside"
cat > "$WORK/inside.sh" <<'INSIDE'
set -eu
git clone -q "$WORK/source" repo
cd repo
git switch -qc work
for i in 1 2 3 4 5; do
    echo "change $i" >> dir9/file9
    git mv "dir$i/file$i" "moved$i"
    git commit -qam "change $i"
done
git switch -q main
echo other > other && git add other && git commit -qm other
git merge -q --no-edit work
git tag -a v1 -m v1
git stash list
echo scratch > untracked && git stash -qu && git stash pop -q && rm untracked
git worktree add -q ../tree v1
git rebase -q --onto main main work
git switch -q main
git repack -qad && git gc -q --prune=now
git fsck --strict --full
[ -z "$(git diff-files)" ]
[ -z "$(git status --porcelain)" ]
git archive v1 | tar -t > /dev/null
git clone -q --bare . ../bare.git
git push -q ../bare.git main:pushed
INSIDE
covered bash "$WORK/inside.sh"

say "outside: clean without a refresh, sound"
clean repo
clean tree
inodes_agree repo
[ -z "$(git -C repo status --porcelain)" ] || fail "status is not clean outside"
git -C repo fsck --strict --full
git -C bare.git fsck

say "made outside, clean inside without a refresh"
git clone -q "$WORK/source" second
sleep 1.1                                # so that no entry is racily clean
git -C second update-index --refresh
covered sh -c '[ -z "$(git -C second diff-files)" ]' || fail "index made outside is dirty inside"
covered sh -c 'cd second && echo in >> dir1/file1 && git commit -qam inside' || fail "commit"
clean second
[ "$(git -C second log -1 --format=%s)" = inside ] || fail "the commit is not seen outside"
echo out >> second/dir2/file2
covered sh -c '[ "$(git -C second status --porcelain)" = " M dir2/file2" ]' ||
    fail "the outside change is not seen inside"
