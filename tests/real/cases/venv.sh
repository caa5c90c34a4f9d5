#!/bin/bash
# If this failed, a Python environment made in the project under forebay would not start.
# ring: short
# as: user
# as-long: root
# needs: python3 gcc
set -eu
unset PYTHONDONTWRITEBYTECODE
. "$REAL/lib.sh"

covered /usr/bin/python3 -m venv env
[ -x env/bin/pip ] || fail "no pip in the environment"
mkdir -p pack
cat > pack/__init__.py <<'PY'
NAME = "pack"
PY
cat > pack/work.py <<'PY'
import ctypes, multiprocessing, os, sqlite3, sys, tempfile, zipfile
from . import NAME

def square(n):
    with open(f"square.{n}", "w") as f:
        f.write(str(n * n))
    return n * n

if __name__ == "__main__":
    assert sys.prefix == os.path.abspath("env"), sys.prefix
    with multiprocessing.Pool(2) as pool:
        assert pool.map(square, range(40)) == [n * n for n in range(40)]
    assert ctypes.CDLL(os.path.abspath("libx.so")).answer() == 42
    with zipfile.ZipFile("mod.zip", "w") as z:
        z.writestr("zipped.py", "X = 7\n")
    sys.path.insert(0, "mod.zip")
    import zipped
    assert zipped.X == 7
    assert os.path.isdir(os.path.join(os.path.dirname(__file__), "__pycache__"))
    print(NAME, "done")
PY
echo 'int answer(void) { return 42; }' > x.c
covered gcc -shared -fPIC -o libx.so x.c
[ "$(covered env/bin/python -m pack.work)" = "pack done" ] || fail "made and run inside"
[ "$(env/bin/python -m pack.work)" = "pack done" ] || fail "made inside, run outside"
[ "$(cat square.9)" = 81 ] || fail square
[ "$(covered env/bin/pip --version)" = "$(env/bin/pip --version)" ] || fail pip
env/bin/python -m compileall -q pack
before=$(stat -c %Y.%i pack/__pycache__/*)
covered env/bin/python -m pack.work > "$WORK/out"
[ "$(stat -c %Y.%i pack/__pycache__/*)" = "$before" ] ||
    fail "bytecode compiled outside is stale inside"
