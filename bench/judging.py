"""How long it takes to judge 20,000 cells: alone, and of a study in the database.

python -m bench.judging STUDY    in the environment of a running product
"""

import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.client import Client
from bench.simulation import cells_of
from benchmarks.analysis.shape import shape_of
from benchmarks.analysis.verdicts import judge
from running.product import wait_until_processed

CELLS: Final = 20_000
SHAPED_RUNS: Final = 50
REPEATS: Final = 15
STUDY: Final = "bench-verdicts"
HOST: Final = "bench-verdicts-host"
SYSTEMS: Final = 40
CASES: Final = 500
RUNS: Final = 5


def bench_judging() -> Iterator[tuple[str, str, str, str]]:
    """Yield rows of `make bench`: what, speed, limit, ratio.

    The limit is one plain pass of numpy over the same arrays: the logs of the means and
    the exponential of their difference.
    """
    generator = np.random.default_rng(20_000)
    truth = generator.choice([0.7, 0.95, 1.0, 1.1], (CELLS, 1))
    cell = cells_of(generator, "lognormal", CELLS, 8, noise=0.02, truth=truth)
    native = cells_of(generator, "normal", CELLS, 8, noise=0.01)
    judged = judge(cell, native, True)
    plain_ms = _best_ms(lambda: np.exp(np.log(cell.mean) - np.log(native.mean)))
    for what, work in (
        ("judging", lambda: judge(cell, native, True)),
        ("their p values", judged.p_values),
    ):
        best_ms = _best_ms(work)
        limit = f"numpy pass {plain_ms:.2f} ms"
        ratio = f"{best_ms / plain_ms:.0f} x"
        yield f"{what}, {CELLS:,} cells", f"{best_ms:.1f} ms", limit, ratio
    # The limit of a cell's shape is Python's own sorting of its runs.
    values = generator.normal(100, 1, SHAPED_RUNS).tolist()
    best_ms = _best_ms(lambda: shape_of(values))
    plain_ms = _best_ms(lambda: sorted(values))
    limit, ratio = f"sorting {plain_ms:.4f} ms", f"{best_ms / plain_ms:.0f} x"
    yield f"shape of a cell of {SHAPED_RUNS} runs", f"{best_ms:.2f} ms", limit, ratio


def _best_ms(work: Callable[[], object]) -> float:
    """Return the shortest of several times: other programs can only lengthen one."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times) * 1000


def upload(client: Client) -> None:
    """Fill a study with 20,000 cells of five runs each, and wait for them."""
    client.create_study({"slug": STUDY, "title": "20,000 cells"})
    client.register_host({"slug": HOST})
    runs = (_run(number, run) for run in range(RUNS) for number in range(SYSTEMS))
    for _ in client.upload(runs):
        pass
    wait_until_processed(client)


def service_ms(var: Path) -> float:
    """Return how long the service takes, measured in a process of its own."""
    command = [sys.executable, "-m", "running.command", sys.executable]
    answer = subprocess.run(
        [*command, "-m", "bench.judging", STUDY],
        env={**os.environ, "VAR": str(var)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(answer.stdout.split()[-1])


def _run(number: int, run: int) -> dict[str, Any]:
    """Return a run of a system, the first of which is native."""
    # Noise without chance: every installation is given the same numbers.
    values = [
        1000.0 + case - number + (7 * run + 3 * case + number) % 11 / 2
        for case in range(CASES)
    ]
    platform = {"hypervisor": "KVM", "options": {"variant": str(number)}}
    return {
        "key": str(uuid.uuid4()),
        "study": STUDY,
        "system": {
            "host": HOST,
            "guest_os": "Debian 12",
            "guest_bits": 64,
            **(platform if number else {"hypervisor": "native"}),
        },
        "tool": "ramspeed",
        "samples": [
            {
                "metric": "bandwidth",
                "parameters": {"operation": "read", "block_size": f"{case + 1} KiB"},
                "value": value,
                "unit": "MB/s",
            }
            for case, value in enumerate(values)
        ],
    }


def _measure(slug: str) -> float:
    import django

    django.setup()
    # Models can be imported only now.
    from benchmarks.comparing.verdicts import study_verdicts
    from benchmarks.models import Study

    study = Study.objects.get(slug=slug)
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        verdicts = study_verdicts(study)
        times.append(time.perf_counter() - begun)
    assert len(verdicts.rows) == SYSTEMS * CASES
    return statistics.median(times) * 1000


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    print(f"{_measure(sys.argv[1]):.1f}")
