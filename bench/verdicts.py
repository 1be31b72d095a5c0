"""How long it takes to judge a study of 20,000 cells, the database included.

Run by `python -m bench.verdicts STUDY` beside a product; prints milliseconds.
"""

import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agents.client import Client

STUDY: Final = "bench-verdicts"
HOST: Final = "bench-verdicts-host"
SYSTEMS: Final = 40
CASES: Final = 500
RUNS: Final = 5
REPEATS: Final = 15


def upload(client: Client) -> None:
    """Fill a study with 20,000 cells of five runs each, and wait for them."""
    client.create_study({"slug": STUDY, "title": "20,000 cells"})
    client.register_host({"slug": HOST})
    runs = (_run(at, run) for run in range(RUNS) for at in range(SYSTEMS))
    for _ in client.upload(runs):
        pass
    while client.get("health/")["outbox"]["waiting"]:
        time.sleep(0.1)


def service_ms(var: Path) -> float:
    """Return how long the service takes, measured in a process of its own."""
    command = [sys.executable, "-m", "running.command", sys.executable]
    answer = subprocess.run(
        [*command, "-m", "bench.verdicts", STUDY],
        env={**os.environ, "VAR": str(var)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(answer.stdout.split()[-1])


def _run(at: int, run: int) -> dict[str, Any]:
    native = {"hypervisor": "native"}
    guest = {"hypervisor": "KVM", "options": {"variant": str(at)}}
    return {
        "key": str(uuid.uuid4()),
        "study": STUDY,
        "system": {
            "host": HOST,
            "guest_os": "Debian 12",
            "guest_bits": 64,
            **(guest if at else native),
        },
        "tool": "ramspeed",
        "samples": list(_samples(at, run)),
    }


def _samples(at: int, run: int) -> Iterator[dict[str, Any]]:
    for case in range(CASES):
        value = 1000.0 + case - at + (7 * run + 3 * case + at) % 11 / 2
        yield {
            "metric": "bandwidth",
            "parameters": {"operation": "read", "block_size": f"{case + 1} KiB"},
            "value": value,
            "unit": "MB/s",
        }


def _measure(slug: str) -> float:
    import django

    django.setup()
    from benchmarks.comparing.verdicts import study_verdicts
    from benchmarks.models import Study

    study = Study.objects.get(slug=slug)
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        found = study_verdicts(study)
        times.append(time.perf_counter() - begun)
    assert len(found.rows) == SYSTEMS * CASES
    return statistics.median(times) * 1000


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    print(f"{_measure(sys.argv[1]):.1f}")
