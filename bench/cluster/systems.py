"""What can be mounted on several nodes at once: Forebay's shared volume, JuiceFS, MooseFS; and for one
node Forebay's volume with one writer, and the bare ext4."""
import os
import shutil
import subprocess
from pathlib import Path

from nodes import HEAD, run, until

TOOLS = Path(__file__).resolve().parents[2] / "target/tools"


def clean_environment(server, work):
    kept = {key: value for key, value in os.environ.items()
            if not key.upper().startswith("AWS") and not key.lower().endswith("_proxy")}
    return {**kept, **server.settings, "HOME": str(work), "XDG_STATE_HOME": str(work / "states")}


def login(book):
    """User and password of a private PostgreSQL."""
    return next(book.rglob("passfile")).read_text().splitlines()[0].split(":")[3:5]


def ask(book, port, environment, *questions):
    user, password = login(book)
    words = ["-h", HEAD, "-p", port, "-U", user, "-d", "forebay", "-v", "ON_ERROR_STOP=1", "-qAt"]
    asked = [word for question in questions for word in ("-c", question)]
    return run("psql", *words, *asked, env={**environment, "PGPASSWORD": password})


class System:
    """Services are on the head; they start once, and wait while others are measured."""
    most_nodes = 4
    has_bucket = True

    def __init__(self, scene):
        self.scene, self.work, self.volume = scene, scene.local / type(self).__name__, 0
        self.work.mkdir()
        self.environment = clean_environment(scene.server, self.work)
        self.services()

    def services(self):
        """Starts what it needs beside the bucket."""

    def start(self, *words, log="log", **more):
        with open(self.work / log, "a", encoding="utf-8") as out:
            return subprocess.Popen([str(word) for word in words], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                    env=self.environment, **more)

    def fresh(self):
        """The next mounts are of an empty volume."""
        self.volume += 1

    def own(self, node):
        """A folder of the node's, for what it caches."""
        return self.work / f"own-{self.volume}-{node.number}"

    def point(self, node):
        point = self.work / f"node{node.number}"
        point.mkdir(exist_ok=True)
        return point

    def mount(self, node):
        """Mounts on a node; the folder."""
        raise NotImplementedError

    def unmount(self, node):
        node.run("umount", self.point(node))
        shutil.rmtree(self.own(node), ignore_errors=True)


class Ext4(System):
    most_nodes = 1

    def mount(self, node):
        point = self.point(node) / str(self.volume)
        point.mkdir()
        return point

    def unmount(self, node):
        shutil.rmtree(self.point(node) / str(self.volume))


class ForebayAlone(System):
    """`forebay mount s3://…`: one writer."""
    most_nodes = 1

    def options(self, _node):
        return []

    def mount(self, node):
        node.run(self.scene.forebay, "mount", *self.options(node), "--state", self.own(node),
                 f"s3://ours/{type(self).__name__}-{self.volume}", self.point(node), env=self.environment)
        return self.point(node)

    def unmount(self, node):
        node.run(self.scene.forebay, "unmount", self.point(node), env=self.environment)
        shutil.rmtree(self.own(node), ignore_errors=True)


class Forebay(ForebayAlone):
    """`forebay mount --book …`: every node writes."""
    most_nodes = 4

    def services(self):
        self.book = self.work / "book"
        self.url = run(self.scene.forebay, "book", "start", "--listen", f"{HEAD}:5432", self.book,
                       env=self.environment).strip().splitlines()[-1]

    def options(self, node):
        return ["--book", self.url, "--listen", node.address]

    def asked(self, *questions):
        """The database's answers."""
        return ask(self.book, 5432, self.environment, *questions)


class JuiceFs(System):
    """JuiceFS with its defaults."""

    def meta(self):
        """The address of an empty database for the volume."""
        raise NotImplementedError

    def fresh(self):
        super().fresh()
        self.address = self.meta()
        bucket = f"{self.scene.server.settings['AWS_ENDPOINT_URL']}/juice{self.volume}{type(self).__name__.lower()}"
        run(TOOLS / "juicefs/bin/juicefs", "format", "--storage", "s3", "--bucket", bucket, "--access-key", "here",
            "--secret-key", "here", self.address, "bench", env=self.environment)

    def mount(self, node):
        point = self.point(node)
        log = f"node{node.number}.log"
        child = self.start(*node.inside(TOOLS / "juicefs/bin/juicefs", "mount", "--no-usage-report", "--cache-dir",
                                        self.own(node), self.address, point), log=log)
        until(f"the mount of {self.address}", lambda: point.is_mount() or child.poll() is not None)
        if not point.is_mount():
            raise RuntimeError(f"juicefs mount: {(self.work / log).read_text()[-500:]}")
        return point


class JuiceFsRedis(JuiceFs):
    def services(self):
        self.start("redis-server", "--bind", HEAD, "--protected-mode", "no", "--save", "", "--appendonly", "yes",
                   "--appendfsync", "everysec", "--dir", self.work, log="redis.log")
        until("Redis", lambda: "Ready to accept" in (self.work / "redis.log").read_text())

    def meta(self):
        return f"redis://{HEAD}:6379/{self.volume}"


class JuiceFsPostgres(JuiceFs):
    def services(self):
        # The same private PostgreSQL that Forebay starts for itself, with the same settings.
        self.book = self.work / "database"
        run(self.scene.forebay, "book", "start", "--listen", f"{HEAD}:5433", self.book, env=self.environment)
        self.user, self.environment["META_PASSWORD"] = login(self.book)

    def meta(self):
        ask(self.book, 5433, self.environment, f"CREATE SCHEMA juice{self.volume}")
        return f"postgres://{self.user}@{HEAD}:5433/forebay?sslmode=disable&search_path=juice{self.volume}"


class MooseFs(System):
    """MooseFS 3 with one chunk server, whose disk is the same ext4."""
    has_bucket = False

    def services(self):
        for name in ("master", "chunks", "space"):
            (self.work / name).mkdir()
        (self.work / "exports").write_text("* / rw,alldirs,admin,maproot=0:0\n")
        (self.work / "disks").write_text(f"{self.work}/space\n")
        (self.work / "master/metadata.mfs").write_bytes(b"MFSM NEW")
        (self.work / "mfsmaster.cfg").write_text(
            f"WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = {self.work}/master\n"
            f"EXPORTS_FILENAME = {self.work}/exports\nMATOCL_LISTEN_HOST = {HEAD}\n"
            f"MATOCS_LISTEN_HOST = {HEAD}\nMATOML_LISTEN_HOST = {HEAD}\n")
        (self.work / "mfschunkserver.cfg").write_text(
            f"WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = {self.work}/chunks\n"
            f"HDD_CONF_FILENAME = {self.work}/disks\nMASTER_HOST = {HEAD}\nCSSERV_LISTEN_HOST = {HEAD}\n"
            "HDD_LEAVE_SPACE_DEFAULT = 64MiB\n")
        for program in ("mfsmaster", "mfschunkserver"):
            run(program, "-c", self.work / f"{program}.cfg", "start", env=self.environment)

    def mount(self, node):
        self.own(node).mkdir()
        node.run("mfsmount", "-H", HEAD, self.point(node), env=self.environment)
        until("the mount of MooseFS", self.point(node).is_mount)
        folder = self.point(node) / str(self.volume)
        if not folder.exists():
            folder.mkdir()
            node.run("mfssetgoal", "1", folder)
        return folder


SYSTEMS = {"ext4": Ext4, "forebay-alone": ForebayAlone, "forebay": Forebay, "juicefs-redis": JuiceFsRedis,
           "juicefs-postgres": JuiceFsPostgres, "moosefs": MooseFs}
