#!/usr/bin/env bash
# The closed loop for real: workflows are recorded three times each, their wall time on other
# storage and with other numbers of slots is predicted from these runs, then they are run there, and
# both are printed side by side, whatever comes out (studies/closed-loop/measure.py says more).
#
#   scripts/studies-live.sh [--only wgs|rnaseq|assembly] [--most N]    30 to 50 minutes
#   FOREBAY=path             the binary (default target/release/forebay)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup-demo.sh
bash tests/real/setup.sh
exec .venv/bin/python studies/closed-loop/measure.py --forebay "${FOREBAY:-target/release/forebay}" "$@"
