"""One job: what it reads, and the real program, as fast as it is or on a core that is slower."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from programs import PROGRAMS, ROOT, call
from calls import environment
from scale import requests

OUT = ROOT / "target/studies/nodes-live"
# Seconds that a job computes here.
JOB = 6.0
# Seconds that a slow core computes before it stands still.
TURN = 2e-2


class Job:
    """A program with its inputs and its record."""

    def __init__(self, forebay, name):
        self.forebay, self.name, self.program = forebay, name, PROGRAMS[name]
        self.out = OUT / name
        self.home = {"HOME": str(self.out / "home")}
        self.inputs, self.trace = self.out / "inputs", self.out / "job.run"
        self.quick = self.out / "quick.run"
        self.aligned = []

    def record(self):
        """One job, on this machine's storage as a client with a page cache asks it: what programs
        call beside that differs, since the kernel reads ahead. The first run brings programs into
        memory."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.inputs.mkdir(parents=True)
        self.program.inputs(self.inputs, self.program.pairs)
        self.command = [str(word) for word in self.program.command(self.inputs)]
        self.slower = 1.0
        how = "--trace", self.program.trace, "--emulate", "0ms"
        for _ in range(2):
            self.quick.unlink(missing_ok=True)
            self.alone = self.real(1, "-o", self.quick, *how)
        self.slower = JOB / self.alone
        # A record has no moment for each call: replays spread them over the time that a file was
        # open, if that is long enough. So what is recorded is slow, too.
        records = [self.out / f"job-{number}.run" for number in range(3)]
        for record in records:
            self.real(1, "-o", record, *how)
        # Of one that is stopped the kernel reads in more pieces.
        min(records, key=lambda record: requests(record)[1]).rename(self.trace)

    def volume(self, jobs):
        """A directory with what each job reads, in a directory of its own."""
        volume = self.out / "volume"
        shutil.rmtree(volume, ignore_errors=True)
        folders = [volume / f"job-{number}" for number in range(jobs)]
        for folder in folders:
            shutil.copytree(self.inputs, folder)
        return folders

    def real(self, jobs, *how):
        """Seconds of the real command, so often at once, on a volume that is mounted like that."""
        folders = self.volume(jobs)
        volume = folders[0].parent
        call(OUT, self.out, self.forebay, "mount", *how, volume, volume)
        each = []
        try:
            began = time.monotonic()
            each = [subprocess.Popen(self.command, cwd=folder, env=environment(OUT, self.home),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     start_new_session=True) for folder in folders]
            self.slowly(each)
            took = time.monotonic() - began
            words = [one.communicate()[1].decode() for one in each]
        finally:
            for one in each:
                if one.poll() is None:
                    os.killpg(one.pid, signal.SIGKILL)
                    one.wait()
            call(OUT, self.out, self.forebay, "unmount", volume)
        if any(one.returncode for one in each):
            sys.exit(f"nodes-live: {self.name} failed\n  where: {volume}\n"
                     f"  next:  its last lines:\n{words[0][-2000:]}")
        self.aligned = re.findall(r"at least one.*alignment: .*\((.*?)\)", words[0])
        return took

    def slowly(self, each):
        """Until all have ended, each is on a core so many times slower."""
        while running := [one for one in each if one.poll() is None]:
            if self.slower <= 1.0:
                running[0].wait()
                continue
            for sent, pause in ((signal.SIGCONT, TURN), (signal.SIGSTOP, TURN * (self.slower - 1))):
                for one in running:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(one.pid, sent)
                time.sleep(pause)
