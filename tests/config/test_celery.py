"""Processes of the worker's pool."""

import os
import signal
import subprocess
import sys

from tests.running.process_checks import is_alive, wait_until_gone

POOL = r"""
import os, time
from celery import signals
import config.celery

for _ in range(2):
    if not os.fork():
        signals.worker_process_init.send(sender=None)
        os.write(1, b"%d\n" % os.getpid())
        time.sleep(120)
time.sleep(120)
"""


def test_pool_without_processes_keeps_the_main_process():
    code = (
        "import config.celery\n"
        "config.celery.signals.worker_process_init.send(sender=None)\n"
        "print('alive')"
    )
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.stdout == "alive\n"


def test_pool_processes_end_when_the_main_process_is_killed():
    command = [sys.executable, "-c", POOL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as main:
        pool = [int(main.stdout.readline()) for _ in range(2)]
        os.kill(main.pid, signal.SIGKILL)

        wait_until_gone(*pool, timeout_s=30)

    assert not any(map(is_alive, pool))
