"""The example for CI builds, run with the client's wheel against a live server."""

import os
import re
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.db import connection

from benchmarks.labs.tokens import issue_token
from benchmarks.models import Agent, Lab
from benchmarks.studies import checking
from benchmarks.uploads import processing
from client import build
from tests.dashboard import served_studies

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "client" / "examples" / "guest_regression.py"
OUTPUT = ROOT / "tests" / "data" / "sysbench" / "cpu-1thread.txt"
# A guest whose speed varies by some tenths of a per cent from run to run.
GUEST = f"""
import pathlib, random, sys
speed = float(sys.argv[1]) * random.gauss(1, 0.003)
text = pathlib.Path({str(OUTPUT)!r}).read_text()
print(text.replace("4811.33", f"{{speed:.2f}}"))
"""


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve an empty lab; return the address and a token."""
    with served_studies.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="ci")
        scopes = ("can_upload", "can_read", "can_manage")
        _, token = issue_token(agent=agent, **dict.fromkeys(scopes, True))
        with served_studies.served() as address:
            yield address, token


def test_workflow_has_the_current_wheel_and_the_options_of_the_script():
    workflow = yaml.safe_load(EXAMPLE.with_name("guest-regression.yml").read_text())

    install, run = (step["run"] for step in workflow["jobs"]["compare"]["steps"][1:])
    assert install.endswith(build.wheel_name((ROOT / "VERSION").read_text().strip()))
    used = set(re.findall(r" --(\w+) [^ ]", run))
    assert used <= set(re.findall(r'"-{0,2}(\w+)"', EXAMPLE.read_text()))
    assert str(EXAMPLE.relative_to(ROOT)) in run


def process_until_ended(program):
    while program.poll() is None:
        processing.process_due_uploads()
        checking.check_due_studies(timedelta(0))
        time.sleep(0.2)
    connection.close()


@pytest.mark.parametrize(
    ("speed", "runs", "code", "words"),
    [
        (4811 * 0.93, 8, 1, "This build is slower."),
        (4811, 8, 0, "No result is slower."),
        (4811, 1, 2, "No result could be judged"),
    ],
)
def test_build_fails_only_if_an_interval_proves_a_slower_guest(
    site, tmp_path, speed, runs, code, words
):
    guest = tmp_path / "guest.py"
    guest.write_text(GUEST)
    url, token = site
    command = [sys.executable, str(EXAMPLE), "--study", f"ci-{code}", "--host", "ci"]
    command += ["--hypervisor", "KVM", "--tool", "sysbench", "--runs", str(runs)]
    command += ["--before", f"{sys.executable} {guest} 4811"]
    command += ["--after", f"{sys.executable} {guest} {speed}"]

    started = subprocess.Popen(
        command,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(build.main(str(tmp_path))),
            "VIRTLAB_SERVER": url,
            "VIRTLAB_TOKEN": token,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # A thread has its own connection, outside the transaction of the test.
    worker = threading.Thread(target=process_until_ended, args=[started])
    worker.start()
    shown = started.communicate()[0]
    worker.join()

    assert (started.returncode, words in shown) == (code, True), shown
    assert "CPU event rate" in shown
