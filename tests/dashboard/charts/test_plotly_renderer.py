"""Imports of web processes: matplotlib would take seconds and 40 MiB."""

import subprocess
import sys

CODE = """
import django, sys
django.setup()
import dashboard.urls, dashboard.templatetags.virtlab
found = {name.partition(".")[0] for name in sys.modules} & {"matplotlib", "typst"}
sys.exit(", ".join(found) or 0)
"""


def test_web_processes_do_not_import_matplotlib_or_typst():
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)

    assert (found.returncode, found.stderr) == (0, "")
