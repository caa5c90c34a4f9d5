"""tree.py make DIR | list DIR: an awkward tree, and everything about a tree that may be compared.

`list` prints one line for each entry: path, mode, owner, mtime (ns), size, links, xattrs,
ACLs (as xattrs), holes and content hash. Trees are the same when their lists are.
Not listed: inode numbers, atime, ctime, and the mtime of directories with --no-dir-times.
"""
import hashlib
import os
import random
import stat
import subprocess
import sys


def make(top):
    rng = random.Random(7)
    os.makedirs(top)
    os.chdir(top)
    for i in range(40):
        d = f"d{i % 7}/s{i % 3}"
        os.makedirs(d, exist_ok=True)
        with open(f"{d}/f{i}", "wb") as f:
            f.write(rng.randbytes(rng.choice((0, 1, 300, 4096, 70000, 1 << 20))))
        os.chmod(f"{d}/f{i}", rng.choice((0o644, 0o600, 0o755, 0o444, 0o2755, 0o4755)))
        os.utime(f"{d}/f{i}", ns=(10**18 + i, 1_500_000_000_000_000_000 + i * 1_000_000_007))
    os.link("d0/s0/f0", "d1/hard-a")
    os.link("d0/s0/f0", "hard-b")
    os.symlink("d0/s0/f0", "soft")
    os.symlink("/nonexistent/absolute", "dangling")
    os.utime("dangling", ns=(10**18, 10**18 + 5), follow_symlinks=False)
    os.mkfifo("fifo", 0o640)
    with open("sparse", "wb") as f:
        f.seek(8 << 20)
        f.write(b"middle")
        f.truncate(32 << 20)
    for name in ("é" * 100, "x" * 255, "with space", "new\nline", "-dash", ".hidden"):
        with open(name, "w") as f:
            f.write(name)
    os.mkdir("empty")
    os.mkdir("sticky")
    os.chmod("sticky", 0o3777)
    os.setxattr("d0/s0/f0", "user.origin", b"lane 3")
    os.setxattr("d2", "user.dir", bytes(range(256)))
    if os.environ.get("VARIANT") != "user":  # no ACL can be read in a user namespace: docs/semantics
        subprocess.check_call(["setfacl", "-m", "u:nobody:rw,g:forebay-lab:r", "d0/s0/f21"])
        subprocess.check_call(["setfacl", "-d", "-m", "u:nobody:rwx", "d3"])
    if os.geteuid() == 0:
        os.chown("d1/s1/f1", 12345, 23456)
        os.chown("soft", 12345, 23456, follow_symlinks=False)
        os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for name in ("soft", "fifo", "null"):            # rsync leaves a difference below 1 s
        if os.path.lexists(name):
            os.utime(name, ns=(10**18, 10**18 + 9), follow_symlinks=False)
    for path, _, _ in os.walk(".", topdown=False):
        os.utime(path, ns=(10**18, 1_400_000_000_123_456_789))


def holes(path, size):
    """Data ranges in 64 KiB units: tools may round, so only large holes are compared."""
    with open(path, "rb") as f:
        at, ranges = 0, []
        while at < size:
            try:
                data = os.lseek(f.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(f.fileno(), data, os.SEEK_HOLE)
            ranges.append(f"{data >> 16}-{(at + 65535) >> 16}")
    return ",".join(ranges)


def describe(path, names, dir_times):
    s = os.lstat(path)
    mode = s.st_mode
    out = [repr(path), oct(mode), f"{s.st_uid}:{s.st_gid}"]
    if dir_times or not stat.S_ISDIR(mode):
        out.append(str(s.st_mtime_ns))
    if stat.S_ISREG(mode):
        out += [str(s.st_size), f"links {s.st_nlink}"]
        with open(path, "rb") as f:
            out.append(hashlib.file_digest(f, "sha256").hexdigest()[:16])
        if s.st_size >= 1 << 20:
            out.append(f"data {holes(path, s.st_size)}")
        if s.st_nlink > 1:
            out.append("same as " + repr(names.setdefault((s.st_dev, s.st_ino), path)))
    elif stat.S_ISLNK(mode):
        out.append("-> " + os.readlink(path))
    elif stat.S_ISCHR(mode):
        out.append(str(s.st_rdev))
    if not stat.S_ISLNK(mode):
        for a in sorted(os.listxattr(path)):
            if a.startswith("user.") or a.startswith("system.posix_acl"):
                out.append(f"{a}={os.getxattr(path, a).hex()}")
    return " ".join(out)


def show(top, dir_times):
    os.chdir(top)
    names, paths = {}, ["."]
    for path, dirs, files in os.walk("."):
        paths += [os.path.join(path, x) for x in dirs + files]
    for path in sorted(paths):
        print(describe(path, names, dir_times))


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    show(sys.argv[2], "--no-dir-times" not in sys.argv)
