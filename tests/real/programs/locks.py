"""A lock held on one side excludes the other side, at once, and is free when it is given back.

usage: locks.py COVER...  flock, fcntl (process) and open-file-description locks, both directions.
"""
import time

import sides

HELP = """
def ofd(f, kind, wait=False):
    fcntl.fcntl(f, 38 if wait else 37, struct.pack('hhqqi4x', kind, 0, 0, 0, 0))
def take(how, f, share=False, wait=False):
    flag = fcntl.LOCK_SH if share else fcntl.LOCK_EX
    if how == 'ofd': ofd(f, fcntl.F_RDLCK if share else fcntl.F_WRLCK, wait)
    else: getattr(fcntl, how)(f, flag if wait else flag | fcntl.LOCK_NB)
def give(how, f):
    ofd(f, fcntl.F_UNLCK) if how == 'ofd' else getattr(fcntl, how)(f, fcntl.LOCK_UN)
"""


def prepare(a, b):
    a("put('lock', b'0' * 100)")
    for side in (a, b):
        side.until("r = os.path.exists('lock')", True)
        side(HELP + "f = open('lock', 'r+b'); r = 0")


def excludes(how):
    def run(a, b):
        prepare(a, b)
        a(f"take('{how}', f)")
        b.now(f"r = code(take, '{how}', f)", "EAGAIN")
        b.now(f"r = code(take, '{how}', f, True)", "EAGAIN")
        a(f"give('{how}', f)")
        b.now(f"r = code(take, '{how}', f)", "ok")
        a.now(f"r = code(take, '{how}', f)", "EAGAIN")
        b("f.close(); r = 0")                                   # close gives it back
        a.until(f"r = code(take, '{how}', f)", "ok")
    run.__name__ = f"{how}_excludes"
    return run


def shares(how):
    def run(a, b):
        prepare(a, b)
        a(f"take('{how}', f, True)")
        b.now(f"r = code(take, '{how}', f, True)", "ok")
        b.now(f"r = code(take, '{how}', f)", "EAGAIN")          # cannot be raised while shared
        a(f"give('{how}', f)")
        b.until(f"r = code(take, '{how}', f)", "ok")
    run.__name__ = f"{how}_shares"
    return run


def waits(how):
    def run(a, b):
        prepare(a, b)
        a(f"take('{how}', f)")
        b.send(f"take('{how}', f, wait=True); r = time.monotonic()")
        time.sleep(0.3)                                         # it is likely to wait by then
        a("r = os.stat('lock').st_size")                        # the other side is not blocked
        given = a("r = time.monotonic()")
        a(f"give('{how}', f)")
        taken = b.answer()
        assert given <= taken, f"taken {given - taken:.3f} s before it was given"
    run.__name__ = f"{how}_waits"
    return run


def byte_ranges(a, b):
    prepare(a, b)
    a("fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)")
    b.now("r = code(fcntl.lockf, f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)", "ok")
    b.now("r = code(fcntl.lockf, f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 9)", "EAGAIN")
    b("q = fcntl.fcntl(f, fcntl.F_GETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 5, 1, 0)); "
      "r = struct.unpack('hhqqi4x', q)[0]")
    b.now("r = struct.unpack('hhqqi4x', q)[0] == fcntl.F_WRLCK", True)


def death_gives_back(a, b):
    """A process that is killed leaves no lock behind (a stale lock stops the next run)."""
    prepare(a, b)
    for how in ("flock", "lockf"):
        a("ready, go = os.pipe(); pid = os.fork()\n"
          "if pid == 0:\n"
          f" g = open('lock', 'r+b'); take('{how}', g); os.write(go, b'x'); time.sleep(60)\n"
          "os.read(ready, 1); r = pid")
        b.now(f"r = code(take, '{how}', f)", "EAGAIN")
        a("os.kill(pid, 9); os.waitpid(pid, 0); r = 0")
        b.until(f"r = code(take, '{how}', f)", "ok")
        b(f"give('{how}', f)")


def posix_close_gives_back(a, b):
    """fcntl locks end when any descriptor of the file is closed: needs FLUSH where forwarded."""
    prepare(a, b)
    a("take('lockf', f)")
    b.now("r = code(take, 'lockf', f)", "EAGAIN")
    a("g = open('lock'); g.close(); r = 0")
    b.until("r = code(take, 'lockf', f)", "ok")


def read_modify_write(a, b):
    """A counter under flock, both sides at once: no update may be lost."""
    a("put('count', b'0')")
    b.until("r = os.path.exists('count')", True)
    loop = ("for _ in range(200):\n"
            " with open('count', 'r+b') as c:\n"
            "  fcntl.{how}(c, fcntl.LOCK_EX)\n"
            "  n = int(c.read()); c.seek(0); c.write(b'%d' % (n + 1))\n"
            "  c.flush(); fcntl.{how}(c, fcntl.LOCK_UN)\n"
            "r = 0")
    for how, wanted in (("flock", "400"), ("lockf", "800")):
        a.send(loop.format(how=how))
        b(loop.format(how=how))
        a.answer()
        a.until("r = get('count')", wanted)
        b.until("r = get('count')", wanted)


KINDS = ("flock", "lockf", "ofd")
sides.run_all([f(how) for how in KINDS for f in (excludes, shares, waits)]
              + [byte_ranges, death_gives_back, posix_close_gives_back, read_modify_write])
