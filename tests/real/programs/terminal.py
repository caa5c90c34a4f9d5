"""terminal.py COVER...: a person at a terminal; keys are sent, the screen and statuses are read.

Prints `ok NAME` or `FAIL NAME: why`. COVER is the command prefix of the run (may be empty).
"""
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import sys
import termios
import time

COVER = " ".join(shlex.quote(a) for a in sys.argv[1:])
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Terminal:
    """An interactive shell on its own pseudo-terminal."""

    def __init__(self, command=("bash", "--norc", "--noprofile", "-i")):
        self.screen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["PS1"] = "$ "
            os.environ.pop("PROMPT_COMMAND", None)
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, seconds=160):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.screen)):
            ready = select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]
            try:
                data = os.read(self.fd, 65536) if ready else b""
            except OSError:
                data = b""
            if not data:
                raise AssertionError(f"no {pattern!r} on the screen: {self.screen[-300:]!r}")
            self.screen += data.decode(errors="replace")
        self.screen = self.screen[found.end():]
        return found

    def end(self):
        os.kill(self.pid, signal.SIGHUP)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def run(script):
    """The command line a person types: SCRIPT under bash, covered."""
    with open("script.sh", "w") as f:
        f.write(script)
    return f"{COVER} bash script.sh\n"


@test
def interrupt_reaches_the_trap_which_can_read(t):
    t.type(run("trap 'cat data > caught; echo trapped $(cat data); exit 33' INT\n"
               "echo rea''dy\nwhile :; do sleep 0.2; done\n"))
    t.expect("ready")
    t.type("\x03")
    t.expect("trapped precious")
    t.type("echo status=$?\n")
    t.expect("status=33")
    assert open("caught").read() == "precious\n"


@test
def interrupt_without_a_trap(t):
    t.type(run("echo rea''dy; sleep 30; echo not''reached\n"))
    t.expect("ready")
    t.type("\x03")
    t.type("echo status=$?\n")
    t.expect("status=130")
    assert "notreached" not in t.screen


@test
def interrupt_ends_the_shell_script_around_it(t):
    """bash goes on with its script unless the program died *by* SIGINT."""
    with open("around.sh", "w") as f:
        f.write(f"{COVER} sh -c 'echo rea\"\"dy; exec sleep 30'\necho went''on\n")
    t.type("bash around.sh\n")
    t.expect("ready")
    t.type("\x03")
    t.type("echo status=$?\n")
    t.expect("status=130")
    assert "wenton" not in t.screen


@test
def quit_key(t):
    t.type(run("ulimit -c 0; trap 'cat data; exit 34' QUIT; echo rea''dy\n"
               "while :; do sleep 0.2; done\n"))
    t.expect("ready")
    t.type("\x1c")
    t.expect("precious")
    t.type("echo status=$?\n")
    t.expect("status=34")


@test
def stop_and_continue(t):
    t.type(run("i=0; while [ ! -e go ]; do i=$((i+1)); echo tick$i; sleep 0.2; done\n"
               "cat data; echo fin''ished; exit 35\n"))
    t.expect("tick2")
    t.type("\x1a")
    t.expect("Stopped")
    t.expect(r"\$ ")
    t.type("echo at''prompt; ls data\n")             # outside works while the run is stopped
    t.expect("atprompt")
    time.sleep(0.5)
    t.screen = ""
    time.sleep(0.5)
    t.type("echo qui''et\n")
    t.expect("quiet")
    assert "tick" not in t.screen, "it ticks while stopped"
    t.type("fg\n")
    t.expect("tick")
    open("go", "w").close()
    t.expect("precious\r\nfinished")
    t.type("echo status=$?\n")
    t.expect("status=35")


@test
def background_and_foreground(t):
    t.type(run("read line; echo got $line $(cat data); exit 36\n").replace("\n", " &\n"))
    t.expect("Stopped|\\[1\\]")
    time.sleep(0.7)
    t.type("jobs\n")
    t.expect("Stopped")                              # it wants the terminal: SIGTTIN
    t.type("fg\n")
    t.type("typed\n")
    t.expect("got typed precious")
    t.type("echo status=$?\n")
    t.expect("status=36")


@test
def the_terminal_is_the_same(t):
    t.type("tty > tty.outside; stty size > size.outside\n")
    t.type(run("tty > tty.inside; stty size > size.inside; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] &&"
               " echo all''tty; ps -o sid= $$ > /dev/null; echo direct > /dev/tty\n"))
    t.expect("alltty")
    t.expect("direct")
    t.expect(r"\$ ")
    time.sleep(0.2)
    for what in ("tty", "size"):
        assert open(f"{what}.inside").read() == open(f"{what}.outside").read(), what


@test
def window_change_is_told(t):
    t.type(run("trap 'stty size; exit' WINCH; echo rea''dy; while :; do sleep 0.1; done\n"))
    t.expect("ready")
    fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 155, 0, 0))
    t.expect("44 155")


@test
def end_of_input(t):
    t.type(f"{COVER} cat > typed\n")
    time.sleep(0.5)
    t.type("one\ntwo\n\x04")
    t.type("echo status=$?\n")
    t.expect("status=0")
    assert open("typed").read() == "one\ntwo\n"


@test
def hang_up(t):
    t.type(run("trap 'cat data > hung; exit' HUP; echo rea''dy; while :; do sleep 0.1; done\n"))
    t.expect("ready")
    os.close(t.fd)
    t.fd = os.open("/dev/null", os.O_RDONLY)
    end = time.monotonic() + 160
    while not (os.path.exists("hung") and open("hung").read()):
        assert time.monotonic() < end, "the trap did not run"
        time.sleep(0.05)


home = os.getcwd()
for function in TESTS:
    os.chdir(home)
    os.mkdir(function.__name__)
    os.chdir(function.__name__)
    with open("data", "w") as f:
        f.write("precious\n")
    terminal = Terminal()
    try:
        terminal.expect(r"\$ ")
        function(terminal)
        print("ok", function.__name__, flush=True)
    except Exception as e:                           # noqa: BLE001 - every failure is a result
        print(f"FAIL {function.__name__}: {str(e) or repr(e)}", flush=True)
    terminal.end()
