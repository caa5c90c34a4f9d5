#!/bin/bash
# The same loss as coherence.sh, with the second that docs/semantics promises: it needs a machine that
# has nothing else to do.
# ring: timing
# as: root,traced,user,cached,cached-user
# alone: yes
# bare: self
export WITHIN=1
. "$REAL/cases/coherence.sh"
