"""Pools compared with the R package metafor (metafor/README.md)."""

import csv
import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.analysis.meta_analysis import heterogeneity, pool_effects

FOLDER = Path(__file__).parent / "metafor"
INTERVALS = ("low", "high", "predicted_low", "predicted_high")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


EFFECTS = rows_of((FOLDER / "effects.csv").read_text())
RESULTS = rows_of((FOLDER / "results.csv").read_text())


def pooled(name):
    """Return Virtlab's numbers by the names of results.csv."""
    rows = [row for row in EFFECTS if row["pool"] == name]
    y, v = ([float(row[key]) for row in rows] for key in ("effect", "variance"))
    labs = [row["lab"] for row in rows]
    lab_index = np.unique(labs, return_inverse=True)[1]
    pools = pool_effects(y, v, [0] * len(y), 1, lab_index=lab_index)
    spread = heterogeneity(y, v, labs=labs)
    names = ("mean", "standard_error", "tau2_lab", "tau2_machine", *INTERVALS)
    numbers = {name: getattr(pools, name)[0] for name in names}
    if pools.is_one_lab[0]:
        # metafor has only one level here, which the script names lab.
        numbers["tau2_lab"], numbers["tau2_machine"] = numbers["tau2_machine"], np.nan
    return {**numbers, "q": spread.q, "robust_error": spread.robust_error}


def assert_equal(expected):
    numbers = pooled(expected["pool"])
    width = float(expected["predicted_high"]) - float(expected["predicted_low"])
    for name, number in numbers.items():
        if not expected[name]:
            assert np.isnan(number), name
        elif name in INTERVALS:
            assert number == pytest.approx(float(expected[name]), abs=0.002 * width)
        else:
            # Printed digits; variances at the boundary are 0.
            assert number == pytest.approx(float(expected[name]), rel=5e-5, abs=2e-9)


def test_there_are_50_subsets_and_published_examples():
    names = [row["pool"] for row in RESULTS]

    assert len(names) == 52
    assert {"schools", "vaccine"} < set(names)
    assert list(dict.fromkeys(row["pool"] for row in EFFECTS)) == names


@pytest.mark.parametrize("expected", RESULTS, ids=lambda row: row["pool"])
def test_pools_equal_the_stored_results_of_metafor(expected):
    assert_equal(expected)


def test_the_schools_equal_the_published_analysis():
    """Konstantopoulos, Research Synthesis Methods 2 (2011), as metafor documents it."""
    numbers = pooled("schools")

    assert numbers["mean"] == pytest.approx(0.1847, abs=5e-5)
    assert numbers["standard_error"] == pytest.approx(0.0846, abs=5e-5)
    assert numbers["tau2_lab"] == pytest.approx(0.0651, abs=5e-5)
    assert numbers["tau2_machine"] == pytest.approx(0.0327, abs=5e-5)


@pytest.mark.metafor
def test_pools_equal_metafor_now():
    rscript = shutil.which("Rscript")
    assert rscript, "Debian: apt-get install r-base-core r-cran-metafor"

    done = subprocess.run(
        [rscript, "--vanilla", FOLDER / "pools.R", FOLDER / "effects.csv"],
        check=True,
        capture_output=True,
        text=True,
    )

    found = rows_of(done.stdout)
    assert [row["pool"] for row in found] == [row["pool"] for row in RESULTS]
    for row in found:
        assert_equal(row)
