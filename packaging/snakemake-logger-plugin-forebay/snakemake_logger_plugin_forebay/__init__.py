"""Tells Forebay the rule of each job before it begins, by a file in `.snakemake/forebay`.

Snakemake gives records to its plugins through a queue, so that a job may have begun when a plugin hears
of it. A filter on Snakemake's own logger is asked at once: what it writes is there when the job begins.
What it is not: it prints nothing, and what it can't do never ends a workflow.
"""

import json
import logging
import os
import shutil

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

FOLDER = os.path.join(".snakemake", "forebay")
# Forebay reads so many bytes of such a file, and a little less is put into one.
BYTES_MAX = 48 << 10
LOGGER = "snakemake.logging"


def texts_of_job(rule, outputs, failed):
    """The files of one job: JSON texts of at most BYTES_MAX bytes, if no name alone is longer."""
    part, size = [], 0
    more = {"failed": True} if failed else {}
    for output in outputs:
        length = len(json.dumps(output)) + 2
        if part and size + length > BYTES_MAX:
            yield json.dumps({"rule": rule, "outputs": part, **more})
            part, size = [], 0
        part.append(output)
        size += length
    yield json.dumps({"rule": rule, "outputs": part, **more})


def plain_names(outputs, directory):
    """Outputs as they are below the working directory; names that are no text are left out."""
    for output in outputs or ():
        name = os.path.normpath(str(output))
        try:
            name.encode()
        except UnicodeEncodeError:
            continue
        if name.startswith(directory + os.sep):
            name = os.path.relpath(name, directory)
        yield name


class BegunJobs(logging.Filter):
    """Writes down each job that Snakemake is about to start, or that failed; lets every record pass."""

    def __init__(self):
        super().__init__()
        self.folders = set()

    def filter(self, record):
        if getattr(record, "event", None) in (LogEvent.JOB_INFO, LogEvent.JOB_ERROR):
            try:
                self.write_job(record)
            except Exception:  # A workflow never ends for want of a name.
                logging.getLogger(__name__).debug("forebay: no file for a job", exc_info=True)
        return True

    def write_job(self, record):
        directory = os.getcwd()
        outputs = list(plain_names(record.output, directory))
        if not outputs:
            return
        folder = os.path.join(directory, FOLDER)
        if folder not in self.folders:
            os.makedirs(folder, exist_ok=True)
            self.folders.add(folder)
        failed = record.event == LogEvent.JOB_ERROR
        what = "failed" if failed else "begun"
        for number, text in enumerate(texts_of_job(record.rule_name, outputs, failed)):
            name = os.path.join(folder, f"{os.getpid()}.{record.jobid}.{what}.{number}")
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)

    def remove(self):
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        self.folders.clear()


class LogHandler(LogHandlerBase):
    """Snakemake's handler: all is done by the filter."""

    def __post_init__(self):
        self.begun = BegunJobs()
        if not getattr(self.common_settings, "dryrun", False):
            logging.getLogger(LOGGER).addFilter(self.begun)

    def emit(self, record):
        """Nothing: by now the job may have begun."""

    def close(self):
        logging.getLogger(LOGGER).removeFilter(self.begun)
        self.begun.remove()
        super().close()

    @property
    def writes_to_stream(self):
        return False

    @property
    def writes_to_file(self):
        return False

    @property
    def has_filter(self):
        return True

    @property
    def has_formatter(self):
        return True

    @property
    def needs_rulegraph(self):
        return False
