"""The configuration of gunicorn, which the supervisor starts early."""

import os
import runpy
from pathlib import Path
from threading import Thread

CONFIGURATION = Path(__file__).parents[2] / "config" / "gunicorn.py"


def test_web_process_waits_until_the_database_is_prepared(monkeypatch):
    waits_for, prepared = os.pipe()
    monkeypatch.setenv("WAIT_FOR_FD", str(waits_for))
    starting = Thread(target=runpy.run_path, args=[str(CONFIGURATION)])
    starting.start()
    starting.join(0.2)
    is_waiting = starting.is_alive()
    os.close(prepared)
    starting.join(60)

    assert is_waiting
    assert not starting.is_alive()
    # Processes that gunicorn starts need not wait.
    assert "WAIT_FOR_FD" not in os.environ


def test_web_process_without_supervisor_starts_at_once(monkeypatch):
    monkeypatch.delenv("WAIT_FOR_FD", raising=False)

    assert runpy.run_path(str(CONFIGURATION))["preload_app"]
