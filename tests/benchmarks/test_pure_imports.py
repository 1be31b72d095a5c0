"""Pure modules import neither Django nor other packages of the project."""

import subprocess
import sys
from pathlib import Path

import pytest

PURE = [
    "benchmarks.errors",
    "benchmarks.text_validation",
    "benchmarks.natural_sort",
    "benchmarks.units",
    "benchmarks.host_facts",
    "benchmarks.hypervisor_names",
    "benchmarks.fingerprints",
    "benchmarks.tools",
    "benchmarks.parsing.run_extraction",
    "benchmarks.parsing.case_labels",
    "benchmarks.parsing.cpu_costs",
    "benchmarks.parsing.no_ratio_reasons",
    "benchmarks.parsing.tool",
    "benchmarks.analysis.baselines",
    "benchmarks.analysis.cell_statistics",
    "benchmarks.reference.study_documents",
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


def test_pure_modules_import_only_the_standard_library():
    assert imported(*PURE).stdout == "[]\n"


@pytest.mark.parametrize("name", ["benchmarks.models", "benchmarks.uploads.intake"])
def test_import_of_another_package_is_detected(name):
    assert "ModuleNotFoundError" in imported(name).stderr
