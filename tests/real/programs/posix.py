"""POSIX bits that pipelines use, one function each, in the current directory.

Prints `ok NAME` or `FAIL NAME: why` for each; the case compares the bare list with the covered one.
Not here: locks and everything that needs a second process outside (coherence.py, locks.py).
"""
import ctypes
import errno
import fcntl
import mmap
import os
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

libc = ctypes.CDLL(None, use_errno=True)
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def put(path, data=b"x"):
    with open(path, "wb") as f:
        f.write(data)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def refused(code, call, *arguments):
    try:
        call(*arguments)
    except OSError as e:
        assert e.errno == code, f"{errno.errorcode[e.errno]}, not {errno.errorcode[code]}"
        return
    raise AssertionError(f"allowed, not {errno.errorcode[code]}")


@test
def hard_links():
    put("a", b"one")
    os.link("a", "b")
    a, b = os.stat("a"), os.stat("b")
    assert a.st_ino == b.st_ino and a.st_nlink == 2, (a, b)
    with open("b", "ab") as f:
        f.write(b"two")
    assert get("a") == b"onetwo"
    os.unlink("a")
    assert os.stat("b").st_nlink == 1 and get("b") == b"onetwo"


@test
def symbolic_links():
    put("target", b"t")
    os.symlink("target", "relative")
    os.symlink(os.path.abspath("target"), "absolute")
    os.symlink("nowhere", "dangling")
    assert get("relative") == get("absolute") == b"t"
    assert os.readlink("absolute") == os.path.abspath("target")
    refused(errno.ENOENT, os.stat, "dangling")
    long = "x/" * 2000 + "y"
    os.symlink(long, "long")
    assert os.readlink("long") == long and os.lstat("long").st_size == len(long)
    os.symlink("loop", "loop")
    refused(errno.ELOOP, os.stat, "loop")


@test
def fifo_inside():
    os.mkfifo("f")
    assert stat.S_ISFIFO(os.stat("f").st_mode)
    reader = subprocess.Popen(["cat", "f"], stdout=subprocess.PIPE)
    put("f", b"through")
    assert reader.communicate(timeout=10)[0] == b"through"


@test
def unix_socket_inside():
    server = socket.socket(socket.AF_UNIX)
    server.bind("s")
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect("s")
    client.sendall(b"hi")
    assert server.accept()[0].recv(2) == b"hi"


@test
def rename_over_file():
    put("old", b"old")
    put("new", b"new")
    held = open("old", "rb")
    os.rename("new", "old")
    assert get("old") == b"new" and held.read() == b"old" and not os.path.exists("new")
    held.close()


@test
def rename_directories():
    os.makedirs("from/deep/er")
    put("from/deep/er/file", b"f")
    os.mkdir("empty")
    os.rename("from", "empty")                       # over an empty directory
    assert get("empty/deep/er/file") == b"f"
    os.mkdir("full")
    put("full/x")
    refused(errno.ENOTEMPTY, os.rename, "empty", "full")
    refused(errno.EINVAL, os.rename, "empty", "empty/deep/inside")
    os.chdir("empty/deep")
    os.rename("../../empty", "../../moved")          # from below itself
    assert get("er/file") == b"f"
    os.chdir("../..")
    refused(errno.EISDIR, os.rename, "full/x", "moved")
    refused(errno.ENOTDIR, os.rename, "moved", "full/x")


@test
def rename_exchange_and_noreplace():
    put("a", b"a")
    put("b", b"b")
    at, here = libc.renameat2, -100
    assert at(here, b"a", here, b"b", 2) == 0, os.strerror(ctypes.get_errno())
    assert get("a") == b"b" and get("b") == b"a"
    assert at(here, b"a", here, b"b", 1) == -1 and ctypes.get_errno() == errno.EEXIST


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
def rmdir_while_inside():
    os.mkdir("d")
    os.chdir("d")
    os.rmdir("../d")
    refused(errno.ENOENT, put, "x")
    os.chdir(HOME)


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
def extended_attributes():
    put("x")
    os.setxattr("x", "user.a", b"1")
    os.setxattr("x", "user.b", bytes(1000))
    assert sorted(a for a in os.listxattr("x") if a.startswith("user.")) == ["user.a", "user.b"]
    assert os.getxattr("x", "user.a") == b"1" and os.getxattr("x", "user.b") == bytes(1000)
    refused(errno.EEXIST, os.setxattr, "x", "user.a", b"2", os.XATTR_CREATE)
    refused(errno.ENODATA, os.setxattr, "x", "user.c", b"2", os.XATTR_REPLACE)
    refused(errno.ENODATA, os.getxattr, "x", "user.none")
    os.removexattr("x", "user.a")
    refused(errno.ENODATA, os.getxattr, "x", "user.a")
    os.mkdir("xd")
    os.setxattr("xd", "user.dir", b"d")
    assert os.getxattr("xd", "user.dir") == b"d"
    if os.geteuid() == 0:
        os.setxattr("x", "trusted.t", b"t")
        assert os.getxattr("x", "trusted.t") == b"t"


@test
def nanosecond_times():
    put("t")
    os.utime("t", ns=(1_000_000_000_123_456_789, 1_600_000_000_987_654_321))
    s = os.stat("t")
    assert s.st_atime_ns == 1_000_000_000_123_456_789, s.st_atime_ns
    assert s.st_mtime_ns == 1_600_000_000_987_654_321, s.st_mtime_ns
    os.symlink("t", "l")
    os.utime("l", ns=(5_000_000_001, 6_000_000_002), follow_symlinks=False)
    assert os.lstat("l").st_mtime_ns == 6_000_000_002 and os.stat("t").st_mtime_ns == s.st_mtime_ns


@test
def times_move_as_they_should():
    put("t")
    os.utime("t", (1e9, 1e9))
    before = os.stat("t")
    with open("t", "ab") as f:
        f.write(b"more")
    after = os.stat("t")
    assert after.st_mtime > before.st_mtime and after.st_ctime_ns >= before.st_ctime_ns
    os.utime(".", (1e9, 1e9))
    put("another")
    assert os.stat(".").st_mtime > 1e9
    order = []
    for i in range(50):
        put(f"seq{i}")
        order.append(os.stat(f"seq{i}").st_mtime_ns)
    assert order == sorted(order), "a later file is older"
    assert abs(os.stat("seq49").st_mtime - time.time()) < 2


@test
def times_survive_close():
    """`touch -d` before close, as tar and cp -p do on an open descriptor."""
    fd = os.open("t", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"data")
    os.utime(fd, ns=(10**18, 10**18 + 7))
    os.close(fd)
    time.sleep(0.05)
    assert os.stat("t").st_mtime_ns == 10**18 + 7


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
def names():
    for name in ("x" * 255, "é" * 127, "a b", "new\nline", "-dash", "\\", "\x01", "*", "…"):
        put(name, name.encode())
        assert name in os.listdir() and get(name) == name.encode()
    put(b"\xff\xfe")
    assert b"\xff\xfe" in os.listdir(b".")
    refused(errno.ENAMETOOLONG, put, "x" * 256)
    for name in ("Case", "case"):
        put(name, name.encode())
    assert get("Case") == b"Case"


@test
def deep_paths():
    for _ in range(40):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    put("leaf", b"l")
    assert get("leaf") == b"l" and len(os.getcwd()) > 8000
    os.chdir(HOME)


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
def modes_and_access():
    put("m")
    for mode in (0o000, 0o400, 0o755, 0o6755, 0o1777):
        os.chmod("m", mode)
        assert stat.S_IMODE(os.stat("m").st_mode) == mode, oct(os.stat("m").st_mode)
    os.chmod("m", 0)
    assert os.access("m", os.R_OK) == (os.geteuid() == 0)
    if os.geteuid() != 0:
        refused(errno.EACCES, get, "m")
    os.chmod("m", 0o4755)
    os.chown("m", os.getuid(), os.getgid())
    put("m2")
    os.chmod("m2", 0o4777)
    if os.geteuid() != 0:
        put("m2", b"w")                              # a write drops setuid
        assert not os.stat("m2").st_mode & stat.S_ISUID
    os.mkdir("locked", 0o500)
    if os.geteuid() != 0:
        refused(errno.EACCES, put, "locked/x")


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
        refused(errno.ETXTBSY, put, "sleep")
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
def readdir_while_changing():
    for i in range(2000):
        put(f"k{i}")
    seen = set()
    for entry in os.scandir("."):
        seen.add(entry.name)
        if len(seen) % 7 == 0:
            os.unlink(entry.name)
            put(f"new{len(seen)}")
    kept = {f"k{i}" for i in range(2000)}
    assert kept <= seen, f"{len(kept - seen)} entries never listed"
    assert len(os.listdir()) == 2000


@test
def directory_entries_agree():
    os.mkdir("d")
    put("f")
    os.symlink("f", "l")
    os.mkfifo("p")
    for e in os.scandir("."):
        s = e.stat(follow_symlinks=False)
        assert e.inode() == s.st_ino, f"{e.name}: d_ino {e.inode()}, st_ino {s.st_ino}"
        assert e.is_dir(follow_symlinks=False) == stat.S_ISDIR(s.st_mode)
    assert os.stat(".").st_nlink == 3 and os.stat("d/..").st_ino == os.stat(".").st_ino


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
def inotify_inside():
    fd = libc.inotify_init1(0)
    assert libc.inotify_add_watch(fd, b".", 0x100) >= 0      # IN_CREATE
    put("seen")
    assert select.select([fd], [], [], 5)[0] and b"seen" in os.read(fd, 4096)
    os.close(fd)


@test
def file_system_size():
    s = os.statvfs(".")
    assert s.f_blocks > 0 and s.f_bavail > 0 and s.f_namemax == 255, s


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
def remove_trees():
    for i in range(30):
        os.makedirs(f"t/{i}/sub/sub")
        for j in range(20):
            put(f"t/{i}/sub/{j}")
    shutil.rmtree("t")
    assert not os.path.exists("t")


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


HOME = os.getcwd()
os.umask(0o022)
for function in TESTS:
    os.chdir(HOME)
    box = f"t-{function.__name__}"
    os.mkdir(box)
    os.chdir(box)
    HOME, top = os.getcwd(), HOME
    try:
        function()
        print("ok", function.__name__, flush=True)
    except Exception as e:                           # noqa: BLE001 - every failure is a result
        at = traceback.extract_tb(e.__traceback__)
        line = [f.lineno for f in at if f.filename == __file__][-1]
        print(f"FAIL {function.__name__}: {e!r} at line {line}", flush=True)
    HOME = top
