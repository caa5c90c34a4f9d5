#!/usr/bin/env python3
"""What a client of NFS 4.1 would ask its server, by a record of what programs asked the kernel.

    nfs_requests.py DIRECTORY TRACES [--own-changes-drop-names]

DIRECTORY is what would be on the server, and nobody else changes it. TRACES are the files of
`strace -ff -y -ttt` (count.sh). Requests are printed by kind, those of Trinity's partitions apart
from those before them and around them. The rules are those of nfs(5) and of Linux (fs/nfs), for a
server that delegates nothing, as EFS says of itself:

- A name, or that there is none, is believed as long as the directory's attributes: 30 s, twice as
  long each time that they are found unchanged, 60 s at most. The answer to a change of the client's
  own says whether anybody else changed the directory; if it does not, names are forgotten
  (`--own-changes-drop-names`). Who asks for the times of a directory after that asks the server.
- Attributes of a file are believed for 3 s, up to 60 s in the same way, permissions (ACCESS) as
  long as attributes.
- OPEN finds or creates a file, brings its attributes, and is asked each time (close-to-open). Each
  is closed by a request of its own. A file with bytes that an open empties takes a SETATTR.
- What was written is sent when a descriptor is closed, when somebody asks for the file's attributes
  and at the end of a program: a WRITE for each MiB. Reads are not counted: the client still has
  what it wrote.
- A directory is read with one READDIR, and again when it has changed.
"""
import argparse
import collections
import os
import re
from pathlib import Path

LINE = re.compile(r"(\d+\.\d+) (\w+)\((.*)\) += (-?\d+|\?)(?:<.*>)?(?: (E\w+))?")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
PLACE = re.compile(r"(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>")
PARTITION = re.compile(r"Fb_\d+/CBin_\d+/c\d+")
KEPT = re.compile(r"[\d.]+ (chdir|execve)\(")
MIB = 1 << 20
FILE, DIRECTORY = 3.0, 30.0  # seconds that attributes are believed at first
LONGEST = 60.0


class Client:
    """A client of NFS. Paths are absolute; `errno` is what the call ended with, or None."""

    def __init__(self, root, own_changes_drop_names):
        self.root, self.drop = root, own_changes_drop_names
        self.now, self.group = 0.0, ""
        self.asked = collections.Counter()
        self.bytes = collections.Counter()
        # What there is. Directories that are there now are taken to have been there.
        self.directories = {root, *(folder for folder, _, _ in os.walk(root))}
        self.files = {}                 # path: bytes
        self.unsent = {}                # path: bytes
        self.writers = collections.defaultdict(set)  # process: paths
        # What is believed.
        self.names = collections.defaultdict(dict)   # directory: {path: it is there}
        self.attributes = {}            # path: (until when, for how long)
        self.allowed = {}               # path: until when
        self.listed, self.changed_times = set(), set()

    def ask(self, kind, count=1):
        self.asked[self.group, kind] += count

    def first_span(self, path):
        return DIRECTORY if path in self.directories else FILE

    def told(self, path, unchanged=False):
        """The server has told the attributes."""
        _, span = self.attributes.get(path, (0, 0))
        span = min(2 * span, LONGEST) if unchanged and span else self.first_span(path)
        self.attributes[path] = (self.now + span, span)

    def want_attributes(self, path):
        if self.attributes.get(path, (0, 0))[0] < self.now:
            self.ask("getattr")
            self.told(path, unchanged=True)

    def want_access(self, path):
        if self.allowed.get(path, -1) < self.now:
            self.ask("access")
            self.allowed[path] = self.now + self.attributes.get(path, (0, self.first_span(path)))[1]

    def walk_to(self, path):
        """Through all directories above."""
        parent = os.path.dirname(path)
        if len(parent) >= len(self.root):
            self.look_up(parent)
            self.want_access(parent)

    def look_up(self, path, there=True):
        if len(path) <= len(self.root):
            return
        self.walk_to(path)
        parent = os.path.dirname(path)
        self.want_attributes(parent)
        if self.names[parent].get(path) != there:
            self.ask("lookup" if there else "lookup_failed")
            self.names[parent][path] = there
            if there:
                self.told(path)

    def look_up_in_vain(self, path):
        """The walk ends at the first name that is not there."""
        parent = os.path.dirname(path)
        while len(parent) > len(self.root) and parent not in self.directories:
            path, parent = parent, os.path.dirname(parent)
        self.look_up(path, there=False)

    def change(self, kind, path, there):
        """Makes or removes a name."""
        parent = os.path.dirname(path)
        self.walk_to(path)
        self.ask(kind)
        if self.drop:
            self.names.pop(parent, None)
        self.believe_change(path, there)

    def believe_change(self, path, there):
        parent = os.path.dirname(path)
        self.names[parent][path] = there
        self.told(parent)
        self.listed.discard(parent)
        self.changed_times.add(parent)
        if there:
            self.told(path)

    def send(self, path):
        count = self.unsent.pop(path, None)
        if count is not None:
            self.ask("write", max(1, -(-count // MIB)))
            self.bytes[self.group] += count
            self.told(path)

    # What programs do.

    def stat(self, path, errno):
        if errno:
            return self.look_up_in_vain(path)
        self.look_up(path)
        self.send(path)
        if path in self.changed_times:
            self.changed_times.discard(path)
            self.attributes.pop(path, None)
        self.want_attributes(path)

    def access(self, path, errno):
        if errno:
            return self.look_up_in_vain(path)
        self.look_up(path)
        self.want_access(path)

    def open(self, path, flags, errno):
        if errno:
            return self.look_up_in_vain(path)
        if path in self.directories:
            return self.look_up(path)
        if "O_CREAT" in flags and path not in self.files:
            self.change("create", path, there=True)
            self.files[path] = 0
        else:
            self.walk_to(path)
            self.want_attributes(os.path.dirname(path))
            self.ask("open")
            self.names[os.path.dirname(path)][path] = True
            self.told(path)
        if "O_TRUNC" in flags and self.files.get(path):
            self.unsent.pop(path, None)
            self.files[path] = 0
            self.ask("setattr")
        self.ask("close")

    def write(self, path, count, process):
        self.files[path] = self.files.get(path, 0) + count
        self.unsent[path] = self.unsent.get(path, 0) + count
        self.writers[process].add(path)

    def end(self, process):
        for path in self.writers.pop(process, ()):
            self.send(path)

    def list(self, path):
        if path not in self.listed:
            self.ask("readdir")
            self.listed.add(path)

    def make(self, kind, path, errno):
        if errno == "EEXIST":
            # What is to be made is not looked up before, but a name that is believed is enough.
            self.walk_to(path)
            if not self.names[os.path.dirname(path)].get(path) and path != self.root:
                self.ask(kind)
        elif errno:
            self.look_up_in_vain(path)
        else:
            if kind == "mkdir":
                self.directories.add(path)
            else:
                self.files[path] = 0
            self.change(kind, path, there=True)

    def remove(self, kind, path, errno):
        if errno:
            return self.look_up_in_vain(path) if errno == "ENOENT" else self.look_up(path)
        self.look_up(path)
        self.change(kind, path, there=False)
        self.directories.discard(path)
        for table in (self.files, self.unsent, self.attributes, self.allowed):
            table.pop(path, None)

    def rename(self, old, new, errno):
        if errno:
            return self.look_up_in_vain(old)
        self.look_up(old)
        self.look_up(new, there=new in self.files)
        self.change("rename", old, there=False)
        below = {old} if old not in self.directories else {
            path for path in self.directories | self.files.keys() if is_below(old, path)}
        for path in below:
            moved = new + path[len(old):]
            if path in self.directories:
                self.directories.remove(path)
                self.directories.add(moved)
            for table in (self.files, self.unsent, self.attributes, self.allowed):
                if path in table:
                    table[moved] = table.pop(path)
        self.believe_change(new, there=True)


def records(traces, root):
    """All calls that may be about it, by their beginnings: seconds, process, line."""
    found = []
    for trace in traces.iterdir():
        process, last = int(trace.suffix[1:]), 0.0
        with open(trace, encoding="latin-1") as lines:
            for line in lines:
                # Most are about absolute paths elsewhere.
                if '"/' in line and root not in line and not KEPT.match(line):
                    continue
                last = float(line.split(" ", 1)[0])
                found.append((last, process, line))
        found.append((last, process, f"{last:.6f} exit_group(0) = ?"))
    return sorted(found)


def replay(client, traces):
    """Asks the client all that programs asked. Gives how many partitions there were."""
    root = client.root
    working, partition_of = {}, {}
    for now, process, line in records(traces, root):
        match = LINE.match(line)
        if not match:
            continue
        _, name, words, result, errno = match.groups()
        client.now = now
        client.group = ("partitions" if process in partition_of else
                        "around" if partition_of else "before")
        texts, places = TEXT.findall(words), PLACE.findall(words)
        begins_with_place = bool(places) and words.startswith(("AT_FDCWD<", *"0123456789"))
        if begins_with_place and words.startswith("AT_FDCWD<"):
            working[process] = places[0]
        here = places[0] if begins_with_place else working.get(process, root)
        paths = [os.path.normpath(os.path.join(here, text)) for text in texts]
        path = paths[0] if paths and not texts[0] == "" else here

        if name in ("clone", "clone3", "fork", "vfork"):
            if result.isdigit():
                working[int(result)] = working.get(process, root)
                if process in partition_of:
                    partition_of[int(result)] = partition_of[process]
        elif name == "exit_group":
            client.end(process)
        elif name == "execve":
            if not errno and (partition := PARTITION.search(words)):
                partition_of[process] = partition[0]
            if is_below(root, path):
                client.open(path, "", errno)
        elif name in ("write", "writev", "pwrite64", "copy_file_range"):
            written = places[-1] if name == "copy_file_range" else here
            if result.isdigit() and is_below(root, written):
                client.write(written, int(result), process)
        elif name in ("close", "fsync", "fdatasync"):
            client.send(here)
        elif name in ("dup2", "dup3"):
            if len(places) > 1:
                client.send(places[1])  # what was there is closed
        elif name in ("rename", "renameat", "renameat2"):
            other = os.path.normpath(os.path.join(places[-1] if places else here, texts[1]))
            if is_below(root, path) and is_below(root, other):
                client.rename(path, other, errno)
        elif name in ("symlink", "symlinkat", "link", "linkat"):
            other = os.path.normpath(os.path.join(places[-1] if places else here, texts[1]))
            if is_below(root, other):
                client.make(name.removesuffix("at"), other, errno)
        elif name in ("chdir", "fchdir"):
            if not errno:
                working[process] = path
            if is_below(root, path):
                client.access(path, errno)
        elif not is_below(root, path):
            pass
        elif name in ("open", "openat", "creat"):
            client.open(path, "O_CREAT|O_TRUNC" if name == "creat" else words, errno)
        elif name in ("stat", "lstat", "fstat", "newfstatat", "statx", "readlink", "readlinkat"):
            client.stat(path, None if errno == "EINVAL" else errno)
        elif name in ("access", "faccessat", "faccessat2"):
            client.access(path, errno)
        elif name == "getdents64":
            client.list(path)
        elif name in ("mkdir", "mkdirat"):
            client.make("mkdir", path, errno)
        elif name in ("unlink", "unlinkat", "rmdir"):
            directory = name == "rmdir" or "AT_REMOVEDIR" in words
            client.remove("rmdir" if directory else "unlink", path, errno)
        elif name in ("chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat", "truncate",
                      "ftruncate", "utime", "utimes", "utimensat"):
            client.look_up(path)
            client.ask("setattr")
        elif name == "statfs":
            client.ask("statfs")
    return len(set(partition_of.values()))


def is_below(root, path):
    return path == root or path.startswith(root + "/")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--own-changes-drop-names", action="store_true")
    given = parser.parse_args()
    client = Client(str(given.directory.resolve()), given.own_changes_drop_names)
    print(replay(client, given.traces), "partitions")
    groups = ("before", "partitions", "around")
    print(f"{'':14}" + "".join(f"{group:>12}" for group in groups))
    for kind in sorted({kind for _, kind in client.asked}):
        print(f"{kind:14}" + "".join(f"{client.asked[group, kind]:12}" for group in groups))
    print(f"{'bytes written':14}" + "".join(f"{client.bytes[group]:12}" for group in groups))


if __name__ == "__main__":
    main()
