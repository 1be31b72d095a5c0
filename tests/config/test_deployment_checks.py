"""`manage.py check --deploy` finds nothing to change behind an HTTPS proxy."""

import os
import secrets
import subprocess
import sys

from running.processes import ROOT


def test_the_deployment_checks_of_django_are_clean():
    variables = {"HTTPS": "on", "SECRET_KEY": secrets.token_hex(32)}

    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
