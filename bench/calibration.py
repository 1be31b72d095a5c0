"""`make calibrate`: how often the intervals and verdicts of this code are right.

Cells with a known truth are simulated and judged by the code that judges real ones.
Another table is a function ``(generator, repetitions) -> Table``, added at the end of
TABLES: each has random numbers of its own, so that a new one changes no other.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator

from bench.coverage_tables import (
    coverage,
    identical_readings,
    no_interval,
    quiet_baseline,
    unequal_coverage,
)
from bench.flag_calibration import flags
from bench.table import Table
from bench.verdict_tables import (
    false_verdicts,
    false_verdicts_on_a_quiet_host,
    many_cells,
    margin_edge,
    power,
)

SEED: Final = 20_100_521

TABLES: Final[tuple[Callable[[Generator, int], Table], ...]] = (
    coverage,
    unequal_coverage,
    quiet_baseline,
    no_interval,
    identical_readings,
    false_verdicts,
    margin_edge,
    power,
    many_cells,
    false_verdicts_on_a_quiet_host,
    flags,
)


def current_commit() -> str:
    """Return the checked-out commit, marked if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def report(repetitions: int, commit: str) -> str:
    """Return the whole page, as Markdown; ``commit`` is the code that was measured."""
    tables = (
        make(np.random.default_rng([SEED, place]), repetitions)
        for place, make in enumerate(TABLES)
    )
    error = 196 * (0.95 * 0.05 / repetitions) ** 0.5
    head = (
        "# How often the statistics are right\n\n"
        "Written by `make calibrate`, which simulates cells whose truth is known and "
        "has them judged by the code that judges real ones.\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, seed {SEED}, "
        f"{repetitions:,} repetitions: a coverage of 95 % is known to "
        f"+-{error:.1f} points.\n"
    )
    return head + "".join(f"\n{table.markdown()}\n" for table in tables)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--write", type=Path, help="write the page here")
    options = parser.parse_args(arguments)
    page = report(options.repetitions, current_commit())
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
