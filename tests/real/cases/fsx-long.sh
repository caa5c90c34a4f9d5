#!/bin/bash
# The same loss as fsx.sh, looked for with a million operations.
# ring: long
# as: root,traced,user,ruled,packed
# bare: no
# needs: fsx
# limit: 1800
LONG=yes
. "$REAL/cases/fsx.sh"
