"""Puts the workflow's scripts on the import path; imported first by every test file here."""

import os
import sys

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts")
sys.path.insert(0, SCRIPTS)
