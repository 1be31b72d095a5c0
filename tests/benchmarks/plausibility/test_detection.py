"""How many mistakes are found, and how many clean cells are flagged.

``make calibrate`` runs the same with more repetitions.
"""

import pytest

from tests.benchmarks.plausibility.clean_settings import CHECKED_RULES, false_flags
from tests.benchmarks.plausibility.detection_rates import detection, false_findings
from tests.benchmarks.plausibility.planted_mistakes import CLASSES

REPETITIONS = 20


@pytest.mark.parametrize("name", CLASSES)
def test_nineteen_of_twenty_mistakes_are_found(name):
    found, tried = detection(name, repetitions=REPETITIONS, seed=7000)

    assert tried >= 5
    assert found >= 0.95 * tried


def test_less_than_one_percent_of_clean_cells_are_flagged():
    counted = false_findings(repetitions=40, seed=8000)

    assert counted.cells > 4000
    assert counted.doubted_cells < 0.01 * counted.cells
    assert counted.doubted_runs < 0.01 * counted.runs


@pytest.mark.parametrize("kind", ["normal", "skewed", "t3"])
def test_clean_studies_of_settings_are_hardly_flagged(kind):
    counted = false_flags(studies=60, seed=100, kind=kind)

    assert counted.cells > 1500
    assert all(counted.by_rule[r] < 0.01 * counted.cells for r in CHECKED_RULES)
    assert counted.by_any < 0.03 * counted.cells
