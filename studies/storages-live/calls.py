"""How the studies on the bench call programs: offline, and with words when one fails."""
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "closed-loop"))
from workflows import NEXTFLOW, ROOT


def environment(out, more):
    words = {"PYTHONDONTWRITEBYTECODE": "1", "NXF_OFFLINE": "true", "XDG_CACHE_HOME": str(out / "cache"),
             "PATH": f"{ROOT / '.venv/bin'}:{NEXTFLOW.parent}:{os.environ['PATH']}"}
    return {**os.environ, **words, **more}


def call(out, folder, *command, fine=(0,), **more):
    """What a command printed; says what it said when it fails: its status is none of `fine`, or it is a
    bench that printed nothing. `more`: variables of its own."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, cwd=folder, env=environment(out, more), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            told, error = child.communicate()
        except BaseException:
            # A bench ends its command and takes its mounts away; killed, it could not.
            child.terminate()
            child.wait()
            raise
    # A bench that can't begin says so with 1, too, but compares nothing.
    bench = "bench" in words[1:2]
    if child.returncode not in fine or child.returncode and bench and not told:
        sys.exit(f"{out.name}: {' '.join(words)[:200]} failed with {child.returncode}\n"
                 f"  where: {folder}\n  next:  its last lines:\n{(told + error)[-2000:]}")
    return told
