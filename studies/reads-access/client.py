"""A client of an object store that counts, and says what failed; and the server that it talks to."""
import concurrent.futures
import http.client
import json
import subprocess
import threading
import time
from typing import NamedTuple
from urllib.parse import urlsplit

# As often, and after so many seconds at first, as `forebay` asks at least.
TRIES, PAUSE = 5, 0.05


class Part(NamedTuple):
    """Bytes of an object: all of them, if `size` is None."""
    key: str
    offset: int = 0
    size: int | None = None


class Failed(Exception):
    """A request that was not answered in full, as often as it was asked."""


class Server:
    """The example s3_memory: what it holds is in memory, and it counts what it is asked for."""

    def __init__(self, program, **options):
        said = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self.process = subprocess.Popen([program, *said], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.environment = json.loads(self.process.stdout.readline())
        self.url = self.environment["AWS_ENDPOINT_URL"]

    def counted(self):
        """Requests and bytes that it sent, so far."""
        self.process.stdin.write("counts\n")
        self.process.stdin.flush()
        kinds = json.loads(self.process.stdout.readline()).values()
        return sum(kind[0] for kind in kinds), sum(kind[2] for kind in kinds)

    def put(self, key, path):
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc)
        with open(path, "rb") as body:
            connection.request("PUT", f"/runs/{key}", body=body.read())
        if connection.getresponse().status != 200:
            raise Failed(f"PUT {key}")

    def put_all(self, prefix, folder):
        for path in sorted(folder.iterdir()):
            self.put(f"{prefix}/{path.name}", path)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Client:
    """A connection for each thread that asks."""

    def __init__(self, url, tries=TRIES):
        self.netloc, self.tries, self.here = urlsplit(url).netloc, tries, threading.local()

    def get(self, part):
        for nth in range(self.tries):
            try:
                return self.ask(part)
            except (OSError, http.client.HTTPException, Failed) as error:
                self.here.connection = None
                if nth + 1 == self.tries:
                    raise Failed(f"{part}: {error}") from error
                time.sleep(PAUSE * 2**nth)

    def ask(self, part):
        connection = getattr(self.here, "connection", None)
        if connection is None:
            connection = self.here.connection = http.client.HTTPConnection(self.netloc, timeout=30)
        last = "" if part.size is None else part.offset + part.size - 1
        wanted = {} if part.size is None else {"Range": f"bytes={part.offset}-{last}"}
        connection.request("GET", f"/runs/{part.key}", headers=wanted)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status not in (200, 206) or part.size not in (None, len(body)):
            raise Failed(f"status {answer.status}, {len(body)} bytes")
        return body

    def fetch(self, parts, connections=1):
        """All parts, kept in memory: so many at a time."""
        if connections == 1:
            return [self.get(part) for part in parts]
        with concurrent.futures.ThreadPoolExecutor(connections) as pool:
            return list(pool.map(self.get, parts))
