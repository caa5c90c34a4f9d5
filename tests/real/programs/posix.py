"""POSIX bits that pipelines use, in the current directory; run bare and covered by the case."""
import checks
import posix_data       # noqa: F401 - fills the table
import posix_names      # noqa: F401 - fills the table

checks.run_all()
