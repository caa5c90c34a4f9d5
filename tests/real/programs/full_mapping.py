"""Writes through a mapping of a locked file on a full file system. Whatever succeeds, the bytes are
there; if they are not, something has failed: a signal, or an error of unlock, msync, fsync or close.
"""
import errno
import fcntl
import mmap
import os
import signal
import sys

SIZE = 8192


def write_mapped():
    file = os.open("mapped", os.O_RDWR)
    fcntl.lockf(file, fcntl.LOCK_EX)
    pages = mmap.mmap(file, SIZE)
    pages[0:SIZE]
    pages[0:4] = b"head"
    steps = [lambda: fcntl.lockf(file, fcntl.LOCK_UN), pages.flush, lambda: os.fsync(file),
             lambda: os.close(file)]
    failed = []
    for step in steps:
        try:
            step()
        except OSError as error:
            failed.append(errno.errorcode[error.errno])
    with open("mapped", "rb") as again:
        is_there = again.read(4) == b"head"
    print("failed:", failed, "there:", is_there, flush=True)
    return 0 if failed or is_there else 1


with open("mapped", "wb") as made:
    made.truncate(SIZE)
try:
    with open("fill", "wb", buffering=0) as fill:
        while True:
            fill.write(b"F" * 4096)
except OSError as full:
    assert full.errno == errno.ENOSPC, full
child = os.fork()
if child == 0:
    os._exit(write_mapped())
status = os.waitpid(child, 0)[1]
os.unlink("fill")
if os.WIFSIGNALED(status):
    sys.exit(os.WTERMSIG(status) != signal.SIGBUS)
sys.exit(os.WEXITSTATUS(status))
