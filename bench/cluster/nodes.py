"""Nodes of a cluster on one machine: network namespaces behind a bridge, and a head with services."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bucket"))
from ground import run, until  # noqa: E402

HEAD = "10.77.0.254"


class Node:
    """A network of its own with one address; files and processes are those of the machine."""

    def __init__(self, number):
        self.number, self.address = number, f"10.77.0.{number}"
        # The namespace lives as long as somebody is in it.
        self.keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = Path(f"/proc/{self.keeper.pid}/ns/net")
        until(f"network of node {number}", lambda: own.readlink() != Path("/proc/self/ns/net").readlink())
        run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0",
            "netns", self.keeper.pid)
        run("ip", "link", "set", f"port{number}", "master", "bridge0", "up")
        for words in (("addr", "add", f"{self.address}/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
                      ("link", "set", "lo", "up")):
            self.run("ip", *words)

    def inside(self, *words):
        """The command that runs these words on the node."""
        return ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net", *(str(word) for word in words)]

    def run(self, *words, **more):
        return run(*self.inside(*words), **more)


def network(count):
    """The bridge, with the head's address on it, and so many nodes."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge0", "type", "bridge")
    run("ip", "addr", "add", f"{HEAD}/24", "dev", "bridge0")
    run("ip", "link", "set", "bridge0", "up")
    return [Node(number + 1) for number in range(count)]
