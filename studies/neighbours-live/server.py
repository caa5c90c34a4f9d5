#!/usr/bin/env python3
"""An S3 server for this machine alone: moto's, where each request takes a stated time, and all are
counted by bucket and kind. A server next door would answer at once, and what a mount over S3 costs is
the number of its requests times what each of them takes.

    server.py --latency MS BUCKET...     prints its address, and ends as its standard input does

GET /_requests tells what was counted so far. Connections are closed after each request, which S3
does not do: on this machine a new one takes a fraction of a millisecond.
"""
import argparse
import collections
import json
import sys
import threading
import time

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    # Headers and body are two writes: the second would wait for the reader's delayed
    # acknowledgement, 40 ms that no S3 has.
    disable_nagle_algorithm = True

    def log_request(self, *_arguments):
        """A line for each request would be thousands."""


def kind(environ):
    """What S3's price list calls a request; a copy is a PUT with a source."""
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"].strip("/")
    if method == "PUT" and "HTTP_X_AMZ_COPY_SOURCE" in environ:
        return "COPY"
    return "LIST" if method == "GET" and "/" not in path else method


class Late:
    """The application, whose answers come so many seconds after their questions, or later if it
    needs longer itself; but for what asks for the counts."""

    def __init__(self, inner, seconds):
        self.inner, self.seconds = inner, seconds
        self.counts, self.lock = collections.defaultdict(collections.Counter), threading.Lock()

    def __call__(self, environ, start_response):
        bucket = environ["PATH_INFO"].strip("/").split("/")[0]
        if bucket == "_requests":
            with self.lock:
                told = json.dumps(self.counts).encode()
            start_response("200 OK", [("Content-Length", str(len(told)))])
            return [told]
        with self.lock:
            self.counts[bucket][kind(environ)] += 1
        until = time.monotonic() + self.seconds
        answer = self.inner(environ, start_response)
        time.sleep(max(0, until - time.monotonic()))
        return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--latency", type=float, required=True, help="ms that each request takes")
    parser.add_argument("buckets", nargs="+")
    arguments = parser.parse_args()
    application = Late(DomainDispatcherApplication(create_backend_app), arguments.latency / 1000)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.port}"
    client = boto3.client("s3", endpoint_url=address, region_name="us-east-1",
                          aws_access_key_id="here", aws_secret_access_key="here")
    for bucket in arguments.buckets:
        client.create_bucket(Bucket=bucket)
    print(address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
