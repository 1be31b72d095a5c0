"""What the agent's one file costs the machine that it measures, beside its limits.

    python -m bench.agents [SECONDS]

Its daemons are watched at rest for so long, all at once. Memory is the most that each
process itself ever held, less what a bare Python holds; time at rest is what the kernel
counted on its processors.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agents.__main__ import COMMANDS
from bench.stage import (
    AWAY,
    LIMIT_BYTES,
    SYSTEM,
    Stage,
    bare_bytes,
    cost_of,
    staged,
)
from running.product import free_port

SIZE_BYTES, START_MS, REST_PERCENT = 200_000, 150, 0.1
STARTS = 21
SETTLED_S = 10.0
REST_S = 120.0

Row = tuple[str, str, str, str]


def bench_agents(seconds: float = REST_S) -> Iterator[Row]:
    """Return the rows of the table: size, start, memory, time at rest."""
    with (
        tempfile.TemporaryDirectory(prefix="virtlab-bench-") as folder,
        staged(Path(folder)) as stage,
    ):
        size_bytes = stage.agent.stat().st_size
        yield _row("size of the file", size_bytes / 1e3, SIZE_BYTES / 1e3, "kB")
        # `list` loads what all commands do.
        argv = [sys.executable, "-I", str(stage.agent), "list"]
        silent, times_ms = subprocess.DEVNULL, []
        for _ in range(STARTS):
            begun = time.perf_counter()
            subprocess.run(argv, env=stage.environment(), stdout=silent, check=True)
            times_ms.append((time.perf_counter() - begun) * 1000)
        what = f"start, median of {STARTS}, at a load of {os.getloadavg()[0]:.1f}"
        yield _row(what, statistics.median(times_ms), START_MS, "ms")
        bare = bare_bytes()
        for command, _ in COMMANDS:
            own = stage.own_cost(command).resident_bytes - bare
            what = f"most memory of {command}, above a bare Python's {bare / 1e6:.1f}"
            yield _row(what, own / 1e6, LIMIT_BYTES / 1e6, "MB")
        # Watch all daemons at once, after they have begun.
        programs = dict(_daemons(stage))
        # Starting is no part of being at rest.
        time.sleep(SETTLED_S)
        before = {name: _cpu_s(each) for name, each in programs.items()}
        time.sleep(seconds)
        after = {name: _cpu_s(each) for name, each in programs.items()}
        for name, program in programs.items():
            program.terminate()
            assert cost_of(program).exit_code in (0, 5), name
            share = 100 * (after[name] - before[name]) / seconds
            yield _row(f"{name}, {seconds:.0f} s", share, REST_PERCENT, "%")


def _row(what: str, value: float, limit: float, unit: str) -> Row:
    decimals = 3 if unit == "%" else 1
    shown, ratio = f"{value:.{decimals}f} {unit}", f"{value / limit:.2f}"
    return f"agent: {what}", shown, f"{limit:g} {unit}", ratio


def _daemons(stage: Stage) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    # Each in a home of its own: what waits in one, another would send.
    full = stage.folder / "full"
    stage.home = full
    stage.cost("push", __file__, "--later", "--study", "study", *SYSTEM)
    yield "watch, server away", stage.begin("watch", server=AWAY)
    stage.home = stage.folder / "empty"
    yield "watch, nothing waits", stage.begin("watch")
    yield "timeserver at rest", stage.begin("timeserver", "--port", str(free_port()))
    meter = ("power", "rapl", str(stage.powercap.folder), "--host", "alpha")
    yield "power, a reading a second", stage.begin(*meter)


def _cpu_s(program: "subprocess.Popen[str]") -> float:
    """Return what all threads of a process had of the processors."""
    # Nanoseconds; the usual counters of a process count whole ticks.
    tasks = Path(f"/proc/{program.pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in tasks) / 1e9


def main() -> None:
    table = Table("what", "value", "limit", "ratio", title="The agent on this machine")
    for row in bench_agents(*map(float, sys.argv[1:2])):
        table.add_row(*row)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
