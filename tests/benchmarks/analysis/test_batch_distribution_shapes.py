"""Batch shapes equal the shapes of single cells."""

import numpy as np
import pytest

from benchmarks.analysis import batch_distribution_shapes
from benchmarks.analysis.batch_distribution_shapes import CellReadings, find_shapes
from benchmarks.analysis.distribution_shape import find_shape


def cells_of(n, *, seed=1, count=400):
    """Cells: steady, coarse, with an outlier, bimodal, zero."""
    rng = np.random.default_rng([seed, n])
    for number in range(count):
        values = 100 * (1 + 0.02 * rng.standard_normal(n))
        match number % 8:
            case 1:
                values[rng.integers(n)] *= rng.choice([0.5, 1.2, 3.0])
            case 2:
                values[: n // 2] *= 2
            case 3:
                values = values.round(0)
            case 4:
                values[:] = rng.choice([0.0, 7.5])
            case 5:
                values[0] *= 1.3
            case 6:
                values *= rng.choice([1e-200, 1e-6, 1e12, 1e300])
        yield CellReadings(
            values.tolist(),
            [None] * n if number % 3 else [1] * max(n - 2, 0) + [2] * min(n, 2),
            None if number % 11 == 0 else float(rng.choice([1e-3, 0.1, 1.0])),
            is_ordered=bool(number % 5),
        )


@pytest.mark.parametrize("n", [1, 4, 5, 6, 7, 8, 12, 31])
def test_batch_shapes_equal_single_shapes(n):
    cells = list(cells_of(n))

    found = find_shapes(cells, band=0.02)

    alone = [
        find_shape(
            cell.values,
            sessions=cell.sessions,
            band=0.02,
            resolution=cell.resolution,
            is_ordered=cell.is_ordered,
        )
        for cell in cells
    ]
    assert found == alone
    assert [repr(shape) for shape in found] == [repr(shape) for shape in alone]


def test_plain_cells_are_computed_in_batch(monkeypatch):
    rng = np.random.default_rng(3)
    rows = 100 * (1 + 0.01 * rng.standard_normal((500, 5)))
    looked_at = []

    def counted(*given, **named):
        looked_at.append(given)
        return find_shape(*given, **named)

    monkeypatch.setattr(batch_distribution_shapes, "find_shape", counted)
    cells = [CellReadings(row.tolist(), [None] * 5, 0.01, True) for row in rows]

    find_shapes(cells, band=0.02)

    assert len(looked_at) < 25


def test_a_non_finite_number_among_others_raises():
    steady = CellReadings([1.0, 1.1, 1.0, 1.1, 1.0], [None] * 5, 0.1, True)
    with pytest.raises(ValueError, match="finite"):
        find_shapes([steady, steady._replace(values=[1.0] * 4 + [np.inf])], band=0.02)
