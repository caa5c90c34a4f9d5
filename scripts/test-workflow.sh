#!/usr/bin/env bash
# Unit tests of the demo workflow's own scripts (filters, split, simulation), in the demo's venv.
# It does not run the workflow: scripts/demo.sh does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup-demo.sh
exec .venv/bin/python -B -m unittest discover --start-directory workflows/wgs/tests "$@"
