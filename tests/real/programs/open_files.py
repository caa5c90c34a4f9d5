"""What belongs to one open file and not to the others of the same file, and what an open file keeps
when its name goes to another. Each part prints what it found wrong; the status says whether any did.
"""
import collections
import errno
import fcntl
import multiprocessing
import os
import struct
import subprocess
import sys
import time

wrong = []


def check(what, is_right):
    if not is_right:
        wrong.append(what)
        print("wrong:", what, flush=True)


def opened(name, flags=os.O_RDWR):
    return os.open(name, flags | os.O_CREAT, 0o644)


def run(*command, seconds=60):
    try:
        return subprocess.run(command, timeout=seconds, capture_output=True, text=True).stdout
    except subprocess.TimeoutExpired:
        return "never"


def flocks_end_with_their_holder():
    """Each job has the file open itself, so the first one's open file outlives its close."""
    with open("counter", "w") as counter:
        counter.write("0")
    job = 'flock lock sh -c "read n < counter; sleep 0.05; echo \\$((n + 1)) > counter"'
    jobs = [subprocess.Popen(["timeout", "60", "sh", "-c", job]) for _ in range(6)]
    check("jobs that take a lock one after the other", all(job.wait() == 0 for job in jobs))
    with open("counter") as counter:
        check("a counter under a lock", counter.read() == "6\n")
    holder = opened("killed")
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(holder)
        own = opened("killed")
        fcntl.flock(own, fcntl.LOCK_EX)
        os.write(told, b"1")
        time.sleep(600)
    os.read(ready, 1)
    waiter = subprocess.Popen(["flock", "killed", "true"])
    os.kill(child, 9)
    os.waitpid(child, 0)
    try:
        check("the lock of a killed holder", waiter.wait(60) == 0)
    except subprocess.TimeoutExpired:
        waiter.kill()
        check("the lock of a killed holder", False)
    first, second = opened("two"), opened("two")
    fcntl.flock(first, fcntl.LOCK_EX)
    os.close(first)
    check("a lock of a closed file", run("flock", "two", "echo", "free") == "free\n")
    for file in (holder, second):
        os.close(file)


def description_lock(file, kind, start):
    F_OFD_SETLK = 37
    lock = struct.pack("hhqqi4x", kind, os.SEEK_SET, start, 10, 0)
    try:
        fcntl.fcntl(file, F_OFD_SETLK, lock)
        return True
    except OSError as error:
        assert error.errno in (errno.EAGAIN, errno.EACCES), error
        return False


def locks_of_descriptions():
    one, two, three = opened("ranges"), opened("ranges"), opened("ranges")
    check("a lock of one open file", description_lock(one, fcntl.F_WRLCK, 0))
    check("excludes another of the same process", not description_lock(two, fcntl.F_WRLCK, 5))
    os.close(three)
    check("and outlives the close of a third", not description_lock(two, fcntl.F_WRLCK, 5))
    copy = os.dup(one)
    os.close(one)
    check("and that of a copy", not description_lock(two, fcntl.F_WRLCK, 5))
    os.close(copy)
    end = time.monotonic() + 60
    free = False
    while not free and time.monotonic() < end:     # the last close may be told a moment later
        free = description_lock(two, fcntl.F_WRLCK, 5)
    check("and ends with the last", free)
    os.close(two)


def flags_and_offsets():
    plain, appends = opened("flags"), opened("flags", os.O_RDWR | os.O_APPEND)
    os.write(plain, b"0123456789")
    os.write(appends, b"end")
    os.write(plain, b"ab")
    check("places and O_APPEND", os.pread(appends, 20, 0) == b"0123456789abd")
    check("the place of the one", os.lseek(plain, 0, os.SEEK_CUR) == 12)
    check("the place of the other", os.lseek(appends, 0, os.SEEK_CUR) == 13)
    other = opened("flags")
    fcntl.fcntl(other, fcntl.F_SETFL, fcntl.fcntl(other, fcntl.F_GETFL) | os.O_APPEND)
    os.pwrite(plain, b"X", 0)
    check("O_APPEND of another open file", os.pread(plain, 1, 0) == b"X")
    os.close(appends)
    os.close(other)
    os.pwrite(plain, b"Y", 1)
    check("after that is closed", os.pread(plain, 2, 0) == b"XY")
    os.close(plain)


def numbers_of_files_without_names():
    same = links = 0
    for _ in range(60):
        old = opened("lock2")
        os.unlink("lock2")
        new = opened("lock2")
        same += os.fstat(old).st_ino == os.stat("lock2").st_ino
        links += os.fstat(old).st_nlink != 0
        os.close(old)
        os.close(new)
    check(f"number of a removed file given away {same} times", same == 0)
    check(f"links of a removed file: {links} times", links == 0)
    same = links = 0
    for _ in range(60):
        old = opened("doc")
        os.close(opened("doc.new"))
        os.rename("doc.new", "doc")
        new = opened("doc")
        same += os.fstat(old).st_ino == os.fstat(new).st_ino
        links += os.fstat(old).st_nlink != 0
        os.close(old)
        os.close(new)
    check(f"number of a replaced file given away {same} times", same == 0)
    check(f"links of a replaced file: {links} times", links == 0)
    held = []
    for i in range(100):
        held.append(opened(f"gone{i}"))
        os.unlink(f"gone{i}")
    held += [opened(f"new{i}") for i in range(100)]
    numbers = {os.fstat(file).st_ino for file in held}
    check(f"{len(numbers)} numbers of 200 files", len(numbers) == 200)
    for file in held:
        os.close(file)


def replaced(stop, results):
    found = collections.Counter()
    while not stop.is_set():
        for how in (lambda: os.close(os.open("page", os.O_RDONLY)), lambda: os.stat("page")):
            try:
                how()
            except OSError as error:
                found[errno.errorcode[error.errno]] += 1
    results.put(dict(found))


def names_that_are_replaced():
    def save(i):
        with open(".page", "wb") as page:
            page.write(b"%06d" % i * 100)
        os.rename(".page", "page")
    save(0)
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    readers = [multiprocessing.Process(target=replaced, args=(stop, results)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(1500):
        save(i)
    stop.set()
    found = [results.get() for _ in readers]
    for reader in readers:
        reader.join()
    check(f"a name that is replaced: {found}", found == [{}, {}])


flocks_end_with_their_holder()
locks_of_descriptions()
flags_and_offsets()
numbers_of_files_without_names()
names_that_are_replaced()
sys.exit(bool(wrong))
