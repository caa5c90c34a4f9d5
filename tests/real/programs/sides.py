"""Two processes on one directory, one of them perhaps covered: sides.py is both ends.

As a program it is the agent: it executes the Python it reads, line by line, and answers.
As a module: `Side(command)` starts an agent; `side(code)` runs code there and returns its `r`.
Not here: the tests (coherence.py, locks.py).
"""
import json
import os
import subprocess
import sys
import time
import traceback

PRELUDE = """
import errno, fcntl, mmap, os, shutil, stat, struct, sys, time
def put(path, data=b'x'):
    with open(path, 'wb') as f: f.write(data)
def get(path):
    with open(path, 'rb') as f: return f.read().decode('latin-1')
def code(call, *a):
    try: call(*a); return 'ok'
    except OSError as e: return errno.errorcode[e.errno]
"""


class Side:
    def __init__(self, name, command):
        self.name = name
        self.child = subprocess.Popen(command + [sys.executable, os.path.abspath(__file__)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, code):
        self.child.stdin.write(json.dumps(code) + "\n")
        self.child.stdin.flush()

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"the process {self.name} has gone")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer["r"]

    def __call__(self, code):
        self.send(code)
        return self.answer()

    def until(self, code, wanted, seconds=float(os.environ.get("WITHIN", "60"))):
        """The value must come to be right; within a second, where a clock is what judges."""
        end = time.monotonic() + seconds
        while True:
            last = self(code)
            if last == wanted:
                return
            if time.monotonic() > end:
                raise AssertionError(f"{self.name}: `{code.strip()}` is {last!r}, not {wanted!r}, "
                                     f"after {seconds} s")
            time.sleep(0.02)

    def now(self, code, wanted):
        got = self(code)
        assert got == wanted, f"{self.name}: `{code.strip()}` is {got!r}, not {wanted!r}"

    def end(self):
        self.child.stdin.close()
        return self.child.wait(10)


def run_all(tests):
    """usage: PROGRAM COVER...; each test in both directions, results as `ok` and `FAIL` lines."""
    outside, inside = Side("outside", []), Side("inside", sys.argv[1:])
    home = os.getcwd()
    for test in tests:
        for a, b in ((outside, inside), (inside, outside)):
            name = f"{test.__name__}:{a.name}-to-{b.name}"
            os.mkdir(name)
            try:
                for side in (a, b):
                    side(f"os.chdir({home!r}); os.chdir({name!r}); r = 0")
                test(a, b)
                print("ok", name, flush=True)
            except Exception as e:               # noqa: BLE001 - every failure is a result
                print(f"FAIL {name}: {e}", flush=True)
    print(f"{'ok' if outside.end() == 0 and inside.end() == 0 else 'FAIL'} both-sides-end")


def agent():
    names = {}
    exec(PRELUDE, names)
    for line in sys.stdin:
        names["r"] = None
        try:
            exec(json.loads(line), names)
            answer = {"r": names["r"]}
        except Exception as e:                   # noqa: BLE001 - told to the other end
            where = traceback.extract_tb(e.__traceback__)[-1]
            answer = {"error": f"{e!r} ({where.line or where.name})"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    agent()
