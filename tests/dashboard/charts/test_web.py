"""What the web process never imports: matplotlib takes seconds and 40 MiB."""

import subprocess
import sys

CODE = """
import django, sys
django.setup()
import dashboard.urls, dashboard.templatetags.virtlab
found = {name.partition(".")[0] for name in sys.modules} & {"matplotlib", "typst"}
sys.exit(", ".join(found) or 0)
"""


def test_no_page_imports_what_only_a_worker_needs():
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)

    assert (found.returncode, found.stderr) == (0, "")
