"""Plans as text."""

from dashboard.wording import plans


def test_fractions_are_rounded_down_to_whole_percents():
    assert plans.rounded_percent(0.899) == "89%"
