"""The pure core is pure: it imports without Django and without our other packages."""

import subprocess
import sys
from pathlib import Path

import pytest

PURE = [
    "benchmarks.errors",
    "benchmarks.text",
    "benchmarks.units",
    "benchmarks.platforms",
    "benchmarks.fingerprints",
    "benchmarks.tools",
    "benchmarks.parsing.reading",
    "benchmarks.parsing.cases",
    "benchmarks.parsing.contract",
    "benchmarks.analysis.baselines",
    "benchmarks.analysis.summary",
    "benchmarks.reference.documents",
]
ROOT = Path(__file__).parents[2]
LOOK = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(sorted(foreign - {"benchmarks", "__main__", "sitecustomize"}))
"""


def imported(*names):
    command = [sys.executable, "-S", "-c", LOOK, *names]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_pure_modules_need_the_standard_library_only():
    assert imported(*PURE).stdout == "[]\n"


@pytest.mark.parametrize("name", ["benchmarks.models", "benchmarks.uploads.intake"])
def test_this_test_would_notice_another_package(name):
    assert "ModuleNotFoundError" in imported(name).stderr
