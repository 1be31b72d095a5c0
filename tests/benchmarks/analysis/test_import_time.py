"""The server must start fast: scipy.stats alone takes seconds to load."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOOK = """
import importlib, pathlib, sys
for path in sorted(pathlib.Path("benchmarks/analysis").glob("*.py")):
    importlib.import_module(f"benchmarks.analysis.{path.stem}")
print(*sorted({"scipy.stats", "pandas", "django"} & set(sys.modules)))
"""


def loaded(program):
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_the_statistics_load_neither_scipy_stats_nor_django():
    assert loaded(LOOK) == "\n"


def test_importing_scipy_stats_is_detected():
    assert loaded(f"import scipy.stats{LOOK}") == "scipy.stats\n"
