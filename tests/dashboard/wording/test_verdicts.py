"""What the shades of the comparison mean, in the numbers that its cells have."""

import pytest

from dashboard.kit import figures
from dashboard.wording import verdicts

PLAIN = str.maketrans("\N{NO-BREAK SPACE}\N{MINUS SIGN}", " -")


@pytest.mark.parametrize(
    ("show", "ends"),
    [
        ("efficiency", ("≤ 0.25", "≤ 0.98", "1", "≥ 1.02", "≥ 4")),
        ("overhead", ("≥ 75 %", "≥ 2 %", "0 %", "≤ -2 %", "≤ -300 %")),
        ("energy", ("≥ 4", "≥ 1.02", "1", "≤ 0.98", "≤ 0.25")),
    ],
)
def test_the_legend_speaks_the_language_of_the_cells(show, ends):
    steps = dict(verdicts.legend(show))

    said = [steps[it] for it in ("slow-5", "slow-1", "even", "fast-1", "fast-5")]
    assert [text.translate(PLAIN) for text in said] == list(ends)


def test_a_tenth_of_the_energy_stands_on_the_side_of_less():
    steps = dict(verdicts.legend("energy"))

    assert steps[figures.heat(1 / 0.1)] == "≤ 0.25"
