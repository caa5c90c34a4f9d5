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


def call(out, folder, *command, **more):
    """What a command printed; says what it said when it fails. `more`: variables of its own."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment(out, more), check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{out.name}: {' '.join(words)[:200]} failed with {done.returncode}\n"
                 f"  where: {folder}\n  next:  its last lines:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout
