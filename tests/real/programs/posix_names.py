"""Names and attributes: links, renames, directories, modes, times, xattrs.

Not here: what is in a file (posix_data.py).
"""
import ctypes
import errno
import os
import select
import shutil
import socket
import stat
import subprocess
import time

from checks import get, libc, put, refused, test


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
def rmdir_while_inside():
    home = os.getcwd()
    os.mkdir("d")
    os.chdir("d")
    os.rmdir("../d")
    refused(errno.ENOENT, put, "x")
    os.chdir(home)


@test
def extended_attributes():
    put("x")
    os.setxattr("x", "user.a", b"1")
    os.setxattr("x", "user.b", bytes(1000))
    assert sorted(a for a in os.listxattr("x") if a.startswith("user.")) == ["user.a", "user.b"]
    assert os.getxattr("x", "user.a") == b"1" and os.getxattr("x", "user.b") == bytes(1000)
    assert libc.lgetxattr(b"x", b"user.b", None, 0) == 1000         # rsync asks for the size
    assert libc.llistxattr(b"x", None, 0) >= len("user.a.user.b.")
    small = ctypes.create_string_buffer(10)
    assert libc.lgetxattr(b"x", b"user.b", small, 10) == -1
    assert ctypes.get_errno() == errno.ERANGE
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
    home = os.getcwd()
    for _ in range(40):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    put("leaf", b"l")
    assert get("leaf") == b"l" and len(os.getcwd()) > 8000
    os.chdir(home)


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
def remove_trees():
    for i in range(30):
        os.makedirs(f"t/{i}/sub/sub")
        for j in range(20):
            put(f"t/{i}/sub/{j}")
    shutil.rmtree("t")
    assert not os.path.exists("t")
