#!/usr/bin/env python3
"""Runs a command, waits until rclone has uploaded all of it, and tells what that took.

    until_stored.py SERVER QUEUE COMMAND...

s3fs has uploaded a file when its close returns. rclone begins five seconds later and a command ends
before: what it left in a cache of one machine is no result yet. On other storages there is nothing
to wait for. If all went well, the last line on standard output is JSON: seconds, and requests by
bucket and kind.
"""
import json
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import mounts


def main():
    server, queue, *command = sys.argv[1:]
    before, began = mounts.requests(server), time.monotonic()
    status = subprocess.run(command, check=False).returncode
    command_s = time.monotonic() - began
    while mounts.queued(queue):
        time.sleep(0.05)
    stored_s = time.monotonic() - began
    sent = {bucket: {kind: count - before[bucket].get(kind, 0) for kind, count in kinds.items()}
            for bucket, kinds in mounts.requests(server).items()}
    if status == 0:
        print(json.dumps({"command_s": command_s, "stored_s": stored_s, "requests": sent}), flush=True)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
