"""Names of verdicts, and the legend of the shades in a comparison."""

from types import SimpleNamespace

import pytest

from dashboard.kit import formatting
from dashboard.wording import verdicts

PLAIN = str.maketrans("\N{NO-BREAK SPACE}\N{MINUS SIGN}", " -")


@pytest.mark.parametrize(
    ("show", "ends"),
    [
        ("efficiency", ("≤ 0.25", "≤ 0.98", "1", "≥ 1.02", "≥ 4")),
        ("overhead", ("≥ 75%", "≥ 2%", "0%", "≤ -2%", "≤ -300%")),
        ("energy", ("≥ 4", "≥ 1.02", "1", "≤ 0.98", "≤ 0.25")),
    ],
)
def test_the_legend_uses_the_quantity_of_the_cells(show, ends):
    steps = dict(verdicts.shade_legend(show))

    said = [steps[item] for item in ("slow-5", "slow-1", "even", "fast-1", "fast-5")]
    assert [text.translate(PLAIN) for text in said] == list(ends)


def test_a_tenth_of_the_energy_is_shaded_as_less():
    steps = dict(verdicts.shade_legend("energy"))

    assert steps[formatting.ratio_shade(1 / 0.1)] == "≤ 0.25"


@pytest.mark.parametrize(
    ("code", "name"), [("being_checked", "pending"), ("flagged", "not assessed")]
)
def test_a_verdict_is_pending_during_the_check(code, name):
    assessment = SimpleNamespace(
        reason_codes=(code,), label="not_assessed", verdict="not_assessed"
    )

    assert verdicts.verdict_text(assessment) == name
