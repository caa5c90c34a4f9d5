"""What studies on a cluster of Slurm's on this machine share: commands that say why they failed, and
namespaces in which all that a cluster starts ends with it. It measures nothing.
"""
import os
import shutil
import subprocess
import sys


def call(*words, **more):
    """What a command printed; ends with its words when it fails."""
    more = {"stderr": subprocess.PIPE, **more}
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE,
                          check=False, **more)
    if done.returncode:
        sys.exit(f"study: {' '.join(map(str, words))[:200]} failed with {done.returncode}\n"
                 f"  next:  its last lines:\n{(done.stdout + (done.stderr or ''))[-2000:]}")
    return done.stdout


def demand(*programs):
    """Ends the study where these programs, or Slurm's and the rights that its daemons want, are missing."""
    path = os.environ["PATH"] + ":/usr/sbin"
    programs = ("slurmctld", "slurmd", "munged", *programs)
    if missing := [one for one in programs if shutil.which(one, path=path) is None]:
        sys.exit(f"study: {' '.join(missing)}: not found\n  next:  bash tests/real/setup.sh")
    if os.geteuid():
        sys.exit("study: Slurm's daemons want root here")


def contained(words, environment, **more):
    """A command in mount and pid namespaces of its own, as a process; what it starts ends with it."""
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin", **environment}
    return subprocess.Popen([*apart, *map(str, words)],
                            env={name: str(value) for name, value in environment.items()}, **more)
