"""`manage.py check --deploy` finds nothing to change behind an HTTPS proxy."""

import os
import secrets
import subprocess
import sys

from running.processes import ROOT


def test_the_deployment_checks_of_django_are_clean():
    variables = {
        **os.environ,
        "HTTPS": "on",
        "SECRET_KEY": secrets.token_hex(32),
    }
    # Browser tests of the same process set it.
    variables.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)

    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
