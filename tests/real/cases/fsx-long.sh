#!/bin/bash
# The same loss as fsx.sh, looked for with a million operations a seed.
# ring: long
# as: root,traced,user,ruled
# needs: fsx
# limit: 1800
LONG=yes
. "$REAL/cases/fsx.sh"
