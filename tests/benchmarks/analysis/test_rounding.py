import pytest

from benchmarks.analysis.rounding import last_place


@pytest.mark.parametrize(
    ("value", "step"),
    [(12.34, 0.01), (12.5, 0.1), (7.0, 1.0), (1200.0, 1.0), (1e-7, 1e-7), (0.0, 1.0)],
)
def test_it_finds_the_last_decimal_place(value, step):
    assert last_place(value) == pytest.approx(step)
