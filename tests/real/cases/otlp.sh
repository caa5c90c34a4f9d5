#!/bin/bash
# If this failed, collectors of OpenTelemetry would refuse the traces that `forebay export` writes, or
# read other ids, times and attributes than the run file has.
# ring: short
# as: root
# needs: python3 curl
# bare: no
set -eu
. "$REAL/lib.sh"

messages=$TOOLS/python-otlp
[ -d "$messages" ] || skip "tests/real/setup.sh installs OpenTelemetry's messages for Python"

for name in one two; do
    "$FOREBAY" run -q -o "$WORK/$name.run" -- sh -c '
        for i in $(seq 20); do echo "$i" > "$1.$i"; done
        head -c 3000000 /dev/zero > "large.$1"; cp "large.$1" "copy.$1"; sort "$1.1" > /dev/null; exit 3' \
        sh "$name" > /dev/null || [ $? = 3 ] || fail "the run"
done
"$FOREBAY" export "$WORK/one.run" "$WORK/two.run" --format otlp -o traces.jsonl
[ "$(wc -l < traces.jsonl)" = 1 ] || fail "one request"

# A collector as far as its door: it takes what the real messages take, by the rules of OTLP in JSON.
cat > collector.py <<'PY'
import base64
import http.server
import json
import os
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

KINDS = {"string_value", "bool_value", "int_value", "double_value", "array_value"}


def read_request(text):
    """All spans of a request; what the messages do not know is an error."""
    request = json_format.Parse(text, ExportTraceServiceRequest(), ignore_unknown_fields=False)
    spans = []
    for part in request.resource_spans:
        resource = {one.key: one.value.string_value for one in part.resource.attributes}
        assert resource["service.name"] == "forebay" and resource["host.name"], resource
        for scope in part.scope_spans:
            spans += scope.spans
    return spans


def hex_of(field):
    """Ids are hex in OTLP, where the messages' own JSON has base64: undone, the digits are there."""
    return base64.b64encode(field).decode()


def check_spans(spans):
    ids = {}
    for span in spans:
        trace, own = hex_of(span.trace_id), hex_of(span.span_id)
        assert len(bytes.fromhex(trace)) == 16 and trace == trace.lower(), trace
        assert len(bytes.fromhex(own)) == 8 and own == own.lower(), own
        assert ids.setdefault((trace, own), span) is span, "an id twice"
        assert span.name and span.kind == Span.SPAN_KIND_INTERNAL
        assert 10**18 < span.start_time_unix_nano <= span.end_time_unix_nano
        keys = [one.key for one in span.attributes]
        assert len(keys) == len(set(keys)), keys
        assert all(one.value.WhichOneof("value") in KINDS for one in span.attributes)
    roots = [span for span in spans if not span.parent_span_id]
    assert all((hex_of(s.trace_id), hex_of(s.parent_span_id)) in ids for s in spans if s not in roots)
    for root in roots:
        said = {one.key: one.value for one in root.attributes}
        assert said["process.exit.code"].int_value == 3
        assert root.status.code == Status.STATUS_CODE_ERROR
        assert list(v.string_value for v in said["process.command_args"].array_value.values)[0] == "sh"
    copies = [span for span in spans if span.name == "cp"]
    written = [one.value.int_value for span in copies for one in span.attributes
               if one.key == "forebay.written.at_least_bytes"]
    assert written == [3000000] * 2, written
    print(len(roots), "traces,", len(spans), "spans")


class Door(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
        self.server.spans += read_request(text)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"partialSuccess": {}}).encode())

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Door)
server.spans = []
with open(sys.argv[1] + ".new", "w") as port:
    port.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.handle_request()
check_spans(server.spans)
PY

say "a collector takes it from curl"
PYTHONPATH=$messages python3 collector.py port > seen.txt 2> collector.log &
collector=$!
wait_for 20 test -e port || { cat collector.log; fail "the collector does not listen"; }
curl -sS --fail -H 'Content-Type: application/json' --data-binary @traces.jsonl \
    "http://127.0.0.1:$(cat port)/v1/traces" > /dev/null || { cat collector.log; fail "curl"; }
wait $collector || { cat collector.log; fail "it was not taken as it is"; }
grep -q '^2 traces, ' seen.txt || fail "two traces: $(cat seen.txt)"

say "the same run has the same ids"
"$FOREBAY" export "$WORK/one.run" --format otlp > again.jsonl
"$FOREBAY" export "$WORK/two.run" --format otlp > other.jsonl
span_ids() { grep -o '"spanId":"[0-9a-f]*"' "$1" | sort; }
[ -z "$(comm -13 <(span_ids traces.jsonl) <(span_ids again.jsonl))" ] || fail "ids changed"
[ -z "$(comm -12 <(span_ids again.jsonl) <(span_ids other.jsonl))" ] || fail "two runs share an id"
