"""What one side does to files, the other side sees within a second; in both directions.

usage: coherence.py COVER...  where COVER is the command prefix of the inside (may be empty).
Not here: locks (locks.py), appends at full speed (append.sh).
"""
import time

import sides

TESTS = []


def test(function):
    TESTS.append(function)
    return function


@test
def create_after_failed_lookup(w, r):
    r.now("r = [os.path.exists('new') for _ in range(3)]", [False] * 3)
    w("put('new', b'data')")
    r.until("r = os.path.exists('new') and get('new')", "data")


@test
def create_in_listed_directory(w, r):
    w("[put(f'a{i}') for i in range(50)]")
    r.until("r = len(os.listdir())", 50)
    w("[put(f'b{i}') for i in range(50)]; [os.unlink(f'a{i}') for i in range(20)]")
    r.until("r = len(os.listdir())", 80)


@test
def create_exclusively(w, r):
    r.now("r = os.path.exists('lock')", False)
    w("os.close(os.open('lock', os.O_CREAT | os.O_EXCL))")
    r.now("r = code(os.open, 'lock', os.O_CREAT | os.O_EXCL)", "EEXIST")     # at once
    r("r = code(os.unlink, 'lock')")
    w.now("r = code(os.open, 'lock', os.O_CREAT | os.O_EXCL)", "ok")
    r.now("r = code(os.mkdir, 'lock')", "EEXIST")


@test
def append_seen(w, r):
    w("put('f', b'one ')")
    r.until("r = get('f')", "one ")
    r("held = open('f', 'rb'); held.read(); r = 0")
    w("f = open('f', 'ab'); f.write(b'two'); f.close()")
    r.until("r = (get('f'), os.stat('f').st_size)", ["one two", 7])
    r.until("held.seek(0); r = held.read().decode()", "one two")


@test
def append_after_append(w, r):
    """The prototype lost an outsider's appended line: write at the kernel's offset."""
    w("put('log', b'')")
    r.until("r = os.path.exists('log')", True)
    r("log = open('log', 'ab', buffering=0); r = 0")
    w("log = open('log', 'ab', buffering=0); r = 0")
    for i in range(20):
        w(f"log.write(b'w{i}\\n')")
        r(f"log.write(b'r{i}\\n')")
    wanted = "".join(f"w{i}\nr{i}\n" for i in range(20))
    r.until("r = get('log')", wanted)
    w.until("r = get('log')", wanted)


@test
def overwrite_in_place(w, r):
    w("put('f', b'a' * 10000)")
    r.until("r = get('f') == 'a' * 10000", True)
    r("held = open('f', 'rb'); r = os.pread(held.fileno(), 3, 5000).decode()")
    w("f = open('f', 'r+b'); f.seek(5000); f.write(b'bbb'); f.flush()")
    r.until("r = get('f')[5000:5003]", "bbb")
    r.until("r = os.pread(held.fileno(), 3, 5000).decode()", "bbb")


@test
def replace_by_rename(w, r):
    w("put('f', b'old')")
    r.until("r = get('f')", "old")
    r("held = open('f', 'rb'); r = 0")
    w("put('f.new', b'new!'); os.rename('f.new', 'f')")
    r.until("r = (get('f'), os.stat('f').st_size, sorted(os.listdir()))", ["new!", 4, ["f"]])
    r.now("r = held.read().decode()", "old")
    assert w("r = os.stat('f').st_ino") == r("r = os.stat('f').st_ino")


@test
def unlink_seen(w, r):
    w("put('f', b'here')")
    r.until("r = get('f')", "here")
    r("held = open('f', 'rb'); r = 0")
    w("os.unlink('f')")
    r.until("r = (os.path.exists('f'), os.listdir(), code(open, 'f'))", [False, [], "ENOENT"])
    r.now("r = held.read().decode()", "here")


@test
def truncate_seen(w, r):
    w("put('f', b'x' * 5000)")
    r.until("r = len(get('f'))", 5000)
    w("os.truncate('f', 10)")
    r.until("r = (len(get('f')), os.stat('f').st_size)", [10, 10])
    w("os.truncate('f', 20)")
    r.until("r = get('f')", "x" * 10 + "\0" * 10)


@test
def attributes_seen(w, r):
    w("put('f')")
    r.until("r = os.path.exists('f')", True)
    w("os.chmod('f', 0o751); os.utime('f', ns=(5, 10**18 + 7)); os.setxattr('f', 'user.k', b'v')")
    r.until("s = os.stat('f'); r = (s.st_mode & 0o7777, s.st_mtime_ns)", [0o751, 10**18 + 7])
    r.until("r = os.getxattr('f', 'user.k').decode()", "v")
    w("os.link('f', 'g')")
    r.until("r = os.stat('f').st_nlink", 2)


@test
def directories_renamed_and_removed(w, r):
    w("os.makedirs('a/b'); put('a/b/f', b'deep')")
    r.until("r = get('a/b/f')", "deep")
    w("os.rename('a', 'z')")
    r.until("r = (os.path.exists('a/b/f'), get('z/b/f'))", [False, "deep"])
    r("os.chdir('z/b'); r = 0")
    w("os.rename('z', 'y')")
    r.now("r = get('f')", "deep")                   # a working directory is an inode
    r("os.chdir('../..'); r = 0")
    w("shutil.rmtree('y')")
    r.until("r = os.listdir()", [])


@test
def type_changes(w, r):
    w("put('n', b'file')")
    r.until("r = get('n')", "file")
    w("os.unlink('n'); os.mkdir('n'); put('n/in', b'dir')")
    r.until("r = os.path.isdir('n') and get('n/in')", "dir")
    w("shutil.rmtree('n'); os.symlink('to', 'n')")
    r.until("r = os.path.islink('n') and os.readlink('n')", "to")
    w("os.unlink('n'); os.symlink('elsewhere', 'n')")
    r.until("r = os.readlink('n')", "elsewhere")


@test
def mapped_write_is_read(w, r):
    w("put('m', bytes(8192))")
    r.until("r = len(get('m'))", 8192)
    w("f = open('m', 'r+b'); m = mmap.mmap(f.fileno(), 8192); m[5000:5005] = b'mmap!'; r = 0")
    r.until("r = get('m')[5000:5005]", "mmap!")
    r("f = open('m', 'r+b'); m = mmap.mmap(f.fileno(), 8192); r = m[5000:5005].decode()")
    w("m[100:103] = b'two'; r = 0")
    r.until("r = m[100:103].decode()", "two")       # both mapped: shared memory
    r("m[200:205] = b'three'; r = 0")
    w.until("r = m[200:205].decode()", "three")


@test
def write_is_seen_in_map(w, r):
    w("put('m', bytes(8192))")
    r.until("r = len(get('m'))", 8192)
    r("f = open('m', 'rb'); m = mmap.mmap(f.fileno(), 8192, prot=mmap.PROT_READ); r = m[0]")
    w("f = open('m', 'r+b'); f.seek(7000); f.write(b'now'); f.flush()")
    r.until("r = m[7000:7003].decode()", "now")


@test
def follow_a_growing_file(w, r):
    w("log = open('log', 'ab', buffering=0); r = 0")
    r.until("r = os.path.exists('log')", True)
    r("tail = open('log', 'rb'); r = tail.read().decode()")
    for i in range(10):
        w(f"log.write(b'line {i}\\n')")
        r.until("r = tail.read().decode()", f"line {i}\n")
        time.sleep(0.03)


@test
def inode_numbers_agree(w, r):
    w("[put(f'f{i}') for i in range(20)]; os.mkdir('d')")
    r.until("r = len(os.listdir())", 21)
    look = ("r = sorted([e.name, e.inode(), e.stat().st_ino, e.stat().st_nlink]"
            " for e in os.scandir())")
    assert w(look) == r(look)


@test
def descriptor_of_a_replaced_directory(w, r):
    w("os.mkdir('d'); put('d/old')")
    r.until("r = os.path.exists('d/old')", True)
    r("d = os.open('d', os.O_RDONLY); r = 0")
    w("os.rename('d', 'e'); os.mkdir('d'); put('d/fresh')")
    r.until("r = os.listdir('d')", ["fresh"])
    r.now("r = os.listdir(d)", ["old"])
    r.now("r = code(os.stat, 'old')", "ENOENT")


sides.run_all(TESTS)
