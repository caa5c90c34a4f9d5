"""Bytes: descriptors, maps, holes, locks and offsets of open files.

Not here: names and attributes (posix_names.py), two sides (coherence.py, locks.py).
"""
import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

from checks import get, libc, put, refused, test


@test
def unlink_while_open():
    f = open("gone", "w+b")
    f.write(b"still here")
    f.flush()
    os.unlink("gone")
    assert not os.path.exists("gone") and "gone" not in os.listdir()
    f.seek(0)
    assert f.read() == b"still here" and os.fstat(f.fileno()).st_nlink == 0
    f.truncate(3)
    os.fchmod(f.fileno(), 0o600)
    assert os.fstat(f.fileno()).st_size == 3
    put("gone", b"another")                          # the name is free again
    f.seek(0)
    assert f.read() == b"sti"
    again = open(f"/proc/self/fd/{f.fileno()}", "rb")
    assert again.read() == b"sti"


@test
def shared_writable_mmap():
    put("m", bytes(3 * 4096))
    fd = os.open("m", os.O_RDWR)
    with mmap.mmap(fd, 3 * 4096) as m:
        m[4096:4101] = b"hello"
        assert os.pread(fd, 5, 4096) == b"hello"     # before any msync
        os.pwrite(fd, b"world", 8192)
        assert m[8192:8197] == b"world"
        m.flush()
    os.close(fd)
    assert get("m")[4096:4101] == b"hello"


@test
def mmap_between_processes():
    put("m", bytes(8192))
    fd = os.open("m", os.O_RDWR)
    with mmap.mmap(fd, 8192) as m:
        child = os.fork()
        if child == 0:
            other = os.open("m", os.O_RDWR)
            view = mmap.mmap(other, 8192)
            view[5000:5003] = b"kid"
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert m[5000:5003] == b"kid"
    os.close(fd)


@test
def private_mmap_and_growth():
    put("m", b"a" * 4096)
    fd = os.open("m", os.O_RDWR)
    with mmap.mmap(fd, 4096, mmap.MAP_PRIVATE) as m:
        m[0:1] = b"z"
    assert get("m")[:1] == b"a"
    os.ftruncate(fd, 10000)
    with mmap.mmap(fd, 10000) as m:
        m[9999:10000] = b"!"
    assert get("m")[9999:] == b"!" and os.fstat(fd).st_size == 10000
    os.close(fd)


@test
def fallocate_and_holes():
    fd = os.open("h", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, 1 << 20)
    assert os.fstat(fd).st_size == 1 << 20
    os.pwrite(fd, b"d" * (1 << 20), 0)
    assert libc.fallocate64(fd, 1 | 2, ctypes.c_long(65536), ctypes.c_long(131072)) == 0, \
        os.strerror(ctypes.get_errno())              # KEEP_SIZE | PUNCH_HOLE
    assert os.pread(fd, 4, 65536) == bytes(4) and os.pread(fd, 1, 65535) == b"d"
    os.fsync(fd)
    assert os.lseek(fd, 0, os.SEEK_HOLE) == 65536
    assert os.lseek(fd, 65536, os.SEEK_DATA) == 196608
    assert os.fstat(fd).st_blocks * 512 < (1 << 20)
    assert libc.fallocate64(fd, 1, ctypes.c_long(2 << 20), ctypes.c_long(4096)) == 0
    assert os.fstat(fd).st_size == 1 << 20           # KEEP_SIZE
    assert libc.fallocate64(fd, 16, ctypes.c_long(0), ctypes.c_long(4096)) == 0   # ZERO_RANGE
    assert os.pread(fd, 4, 0) == bytes(4)
    os.close(fd)


@test
def sparse_beyond_4_gib():
    fd = os.open("big", os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, b"end", 5 << 30)
    assert os.fstat(fd).st_size == (5 << 30) + 3
    assert os.fstat(fd).st_blocks * 512 < 1 << 20
    assert os.lseek(fd, 0, os.SEEK_DATA) == 5 << 30
    assert os.pread(fd, 10, 5 << 30) == b"end" and os.pread(fd, 2, 4 << 30) == b"\0\0"
    os.ftruncate(fd, 1)
    os.ftruncate(fd, 5000)
    assert get("big") == bytes(5000)
    os.close(fd)


@test
def copy_file_range_and_sendfile():
    put("src", bytes(range(256)) * 1024)
    src = os.open("src", os.O_RDONLY)
    dst = os.open("dst", os.O_RDWR | os.O_CREAT)
    done = 0
    while done < 100000:
        done += os.copy_file_range(src, dst, 100000 - done, 1000 + done, 500 + done)
    assert get("dst") == bytes(500) + get("src")[1000:101000]
    os.lseek(dst, 0, os.SEEK_SET)
    os.ftruncate(dst, 0)
    done = 0
    while done < 262144:
        done += os.sendfile(dst, src, done, 262144 - done)
    assert get("dst") == get("src")


@test
def splice_to_pipe():
    put("s", b"q" * 100000)
    r, w = os.pipe()
    fd = os.open("s", os.O_RDONLY)
    n = os.splice(fd, w, 4096)
    assert os.read(r, n) == b"q" * n and n > 0


@test
def append_mode():
    a = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    b = os.open("log", os.O_WRONLY | os.O_APPEND)
    for i in range(100):
        os.write(a, b"a%03d\n" % i)
        os.write(b, b"b%03d\n" % i)
    assert len(get("log").splitlines()) == 200
    fcntl.fcntl(b, fcntl.F_SETFL, 0)                 # O_APPEND off on an open file
    os.pwrite(b, b"X", 0)
    assert get("log")[:2] == b"X0" and len(get("log")) == 1000


@test
def unnamed_files():
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
    os.write(fd, b"tmp")
    assert libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"named", 0x400) == 0, \
        os.strerror(ctypes.get_errno())              # AT_FDCWD, AT_SYMLINK_FOLLOW
    assert get("named") == b"tmp"


@test
def direct_io():
    fd = os.open("o", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    page = mmap.mmap(-1, 4096)
    page[:] = b"D" * 4096
    assert os.pwritev(fd, [page], 4096) == 4096
    assert os.preadv(fd, [page], 0) == 4096 and page[:1] == b"\0"
    assert get("o")[4096:] == b"D" * 4096


@test
def open_flags():
    refused(errno.ENOENT, os.open, "none", os.O_RDONLY)
    fd = os.open("e", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)   # written although 0444
    os.write(fd, b"ok")
    os.close(fd)
    refused(errno.EEXIST, os.open, "e", os.O_CREAT | os.O_EXCL)
    refused(errno.ENOTDIR, os.open, "e", os.O_DIRECTORY)
    refused(errno.EISDIR, os.open, ".", os.O_WRONLY)
    os.symlink("e", "l")
    refused(errno.ELOOP, os.open, "l", os.O_NOFOLLOW)
    put("t", b"long")
    os.close(os.open("t", os.O_WRONLY | os.O_TRUNC))
    assert os.stat("t").st_size == 0
    fd = os.open("t", os.O_PATH)
    assert os.fstat(fd).st_size == 0
    fd = os.open("t", os.O_RDONLY)
    refused(errno.EBADF, os.write, fd, b"x")
    fd = os.open("t", os.O_WRONLY | os.O_SYNC)
    os.write(fd, b"synced")


@test
def run_a_program_made_here():
    with open("script", "w") as f:
        f.write("#!/bin/sh\necho ran $0\n")
    os.chmod("script", 0o755)
    assert subprocess.check_output(["./script"]) == b"ran ./script\n"
    shutil.copy("/bin/true", "true")
    subprocess.check_call(["./true"])
    shutil.copy("/bin/sleep", "sleep")
    child = subprocess.Popen(["./sleep", "60"])
    time.sleep(0.1)
    try:
        size = os.stat("sleep").st_size
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_TRUNC):
            refused(errno.ETXTBSY, os.open, "sleep", flags)
        refused(errno.ETXTBSY, os.truncate, "sleep", 0)
        assert os.stat("sleep").st_size == size, "refused, but truncated"
        os.unlink("sleep")                           # allowed, also while it runs
        put("sleep", b"new")
    finally:
        child.kill()
        child.wait()


@test
def many_open_files():
    files = [open(f"f{i}", "w+b") for i in range(800)]
    for i, f in enumerate(files):
        f.write(b"%d" % i)
    for i, f in enumerate(files):
        f.seek(0)
        assert f.read() == b"%d" % i
        f.close()


@test
def threads_on_one_file():
    fd = os.open("t", os.O_RDWR | os.O_CREAT)

    def work(n):
        for i in range(200):
            os.pwrite(fd, bytes([n]) * 1000, (i * 8 + n) * 1000)
    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    data = get("t")
    assert all(data[k * 1000:(k + 1) * 1000] == bytes([k % 8]) * 1000 for k in range(1600))


@test
def lease_of_descriptors():
    """One descriptor inherited by children shares its offset (`.command.log`)."""
    fd = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for i in range(20):
        subprocess.check_call(["echo", str(i)], stdout=fd)
    assert get("log").split() == [b"%d" % i for i in range(20)]


@test
def locks_inside():
    put("lock")
    for how in (fcntl.flock, fcntl.lockf):
        first = open("lock", "r+")
        how(first, fcntl.LOCK_EX)
        code = ("import fcntl, sys\nf = open('lock', 'r+')\n"
                f"try: fcntl.{how.__name__}(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
                "except OSError: sys.exit(9)\n")
        assert subprocess.call([sys.executable, "-c", code]) == 9, f"{how.__name__} given twice"
        first.close()
        assert subprocess.call([sys.executable, "-c", code]) == 0, f"{how.__name__} not released"
    with open("lock", "r+") as f:                    # open-file-description locks
        record = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(f, 37, record)
        with open("lock", "r+") as g:
            refused(errno.EAGAIN, fcntl.fcntl, g, 37, record)


@test
def temporary_files():
    with tempfile.NamedTemporaryFile(dir=".") as f:
        f.write(b"x")
        f.flush()
        assert get(f.name) == b"x"
    with tempfile.TemporaryDirectory(dir=".") as d:
        put(d + "/x")
    with tempfile.TemporaryFile(dir=".") as f:
        f.write(b"x")


@test
def sync_calls():
    fd = os.open("s", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"x")
    os.fsync(fd)
    os.fdatasync(fd)
    d = os.open(".", os.O_RDONLY)
    os.fsync(d)
    assert libc.syncfs(fd) == 0
    assert libc.sync_file_range(fd, ctypes.c_long(0), ctypes.c_long(1), 2) == 0
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
