"""Three processes have N files each open at once: each says how many it could open, and whether they
held what was written to them."""
import os
import sys

most = int(sys.argv[1])


def work(name, ready, go):
    files = []
    try:
        for i in range(most):
            file = os.open(f"{name}.{i}", os.O_RDWR | os.O_CREAT, 0o644)
            os.write(file, b"%d" % i)
            files.append(file)
    except OSError as error:
        print(name, "at", len(files), error, flush=True)
    os.write(ready, b"x")
    os.read(go, 1)
    right = all(os.pread(file, 20, 0) == b"%d" % i for i, file in enumerate(files))
    os._exit(0 if right and len(files) == most else 1)


ready, told = os.pipe()
go, start = os.pipe()
children = []
for name in "abc":
    child = os.fork()
    if child == 0:
        work(name, told, go)
    children.append(child)
for _ in children:
    os.read(ready, 1)
os.write(start, b"xxx")
sys.exit(max(os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children))
