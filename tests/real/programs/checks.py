"""What the two halves of posix.py share: the table of tests, and running it.

Not here: a test. Results are `ok NAME` and `FAIL NAME: why` lines for compare.py.
"""
import ctypes
import errno
import os
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


def run_all():
    """Each test in a fresh directory below the current one."""
    home = os.getcwd()
    os.umask(0o022)
    for function in TESTS:
        box = f"{home}/t-{function.__name__}"
        os.mkdir(box)
        os.chdir(box)
        try:
            function()
            print("ok", function.__name__, flush=True)
        except Exception as e:                       # noqa: BLE001 - every failure is a result
            frames = traceback.extract_tb(e.__traceback__)
            lines = [f.lineno for f in frames if f.filename == function.__code__.co_filename]
            print(f"FAIL {function.__name__}: {e!r} at line {lines[-1]}", flush=True)
        os.chdir(home)
