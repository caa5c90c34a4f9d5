#!/usr/bin/env bash
# The closed loop for real: workflows are recorded three times each, their wall time on other
# storage and with other numbers of slots is predicted from these runs, then they are run there, and
# both are printed side by side, whatever comes out (studies/closed-loop/measure.py says more). Then
# published comparisons of storages in small: published, predicted, measured (studies/storages-live),
# and s3fs and rclone over an S3 server on this machine (studies/neighbours-live).
#
#   scripts/studies-live.sh [--only wgs|rnaseq|assembly] [--most N]    40 to 70 minutes
#   scripts/studies-live.sh --storages [--only trinity|nextflow]       the second part alone
#   scripts/studies-live.sh --neighbours [--only links|copies|small]   the third part alone, 10 minutes
#   FOREBAY=path             the binary (default target/release/forebay)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup-demo.sh
bash tests/real/setup.sh
forebay=${FOREBAY:-target/release/forebay}
if [ "${1:-}" = --storages ]; then
    shift
    exec .venv/bin/python studies/storages-live/measure.py --forebay "$forebay" "$@"
fi
if [ "${1:-}" = --neighbours ]; then
    shift
    scripts/setup-neighbours.sh
    exec .venv/bin/python studies/neighbours-live/measure.py --forebay "$forebay" "$@"
fi
.venv/bin/python studies/closed-loop/measure.py --forebay "$forebay" "$@"
.venv/bin/python studies/storages-live/measure.py --forebay "$forebay"
scripts/setup-neighbours.sh
exec .venv/bin/python studies/neighbours-live/measure.py --forebay "$forebay"
