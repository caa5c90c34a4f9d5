"""Random work on files while they move between tiers and home, against what they should be.

Lost if it failed: a file's bytes, or its number, change under a program because rules move it.
What it is not: a test of what programs do bare; fsx and pjdfstest do that.
"""
import mmap
import os
import random
import sys
import time

dice = random.Random(int(sys.argv[1]))
NAMES = [f"{number}.{rule}" for number in range(6) for rule in ("bam", "sam", "near", "txt")]
content, number, held = {}, {}, {}

# Half of the tier is taken, so that nothing waits to settle.
ballast = open("ballast.sam", "wb")
ballast.write(bytes(9 << 20))
ballast.flush()


def check(name):
    there = os.path.exists(name)
    assert there == (name in content), f"{name} is {'' if there else 'not '}there"
    if not there:
        return
    with open(name, "rb") as file:
        assert file.read() == content[name], f"{name} has other bytes"
        if dice.random() < 0.3 and content[name]:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
                assert pages[:] == content[name], f"{name} has other bytes when mapped"
    stat = os.stat(name)
    assert stat.st_size == len(content[name])
    # Its number is its own as long as the kernel knows it: a descriptor sees to that.
    if name in held:
        assert os.fstat(held[name]).st_ino == number[name] == stat.st_ino, f"{name}: number"


def keep(name):
    if dice.random() < 0.5:
        held[name] = os.open(name, os.O_PATH)
        number[name] = os.fstat(held[name]).st_ino


def drop(name):
    content.pop(name, None)
    if name in held:
        os.close(held.pop(name))
        number.pop(name)


end = time.monotonic() + 20
steps = 0
while time.monotonic() < end:
    steps += 1
    name, other = dice.choice(NAMES), dice.choice(NAMES)
    what = dice.randrange(8)
    if what == 0:
        drop(name)
        if os.path.exists(name):
            os.unlink(name)
        content[name] = dice.randbytes(dice.choice([0, 1, 5000, 200_000]))
        with open(name, "wb") as out:
            out.write(content[name])
        keep(name)
    elif what == 1 and name in content:
        more = dice.randbytes(3000)
        with open(name, "ab") as out:
            out.write(more)
        content[name] += more
    elif what == 2 and content.get(name):
        at = dice.randrange(len(content[name]))
        with open(name, "r+b") as out, mmap.mmap(out.fileno(), 0) as pages:
            pages[at:at + 1] = b"X"
        content[name] = content[name][:at] + b"X" + content[name][at + 1:]
    elif what == 3 and name in content and dice.random() < 0.3:
        os.unlink(name)
        drop(name)
    elif what in (4, 5) and name in content and name != other:
        os.rename(name, other)
        drop(other)
        content[other] = content.pop(name)
        if name in held:
            held[other], number[other] = held.pop(name), number.pop(name)
    elif what == 6:
        time.sleep(dice.random() / 20)
    check(dice.choice(NAMES))
for name in NAMES:
    check(name)
ballast.close()
os.unlink("ballast.sam")
assert len({os.stat(name).st_ino for name in content}) == len(content), "two with one number"
print(f"{steps} steps")
