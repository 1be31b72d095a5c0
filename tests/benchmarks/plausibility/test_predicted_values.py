import warnings

import numpy as np
import pytest

from benchmarks.plausibility.predicted_values import (
    leave_one_out_spread,
    nanmedian,
    parse_size,
    sibling_residuals,
    sibling_tables,
)
from tests.benchmarks.plausibility.small_studies import cell

NAN = float("nan")


def additive(rows, columns, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(5, 2, (rows, 1)) + rng.normal(0, 1, (1, columns))


def test_a_table_has_a_row_per_case_and_nan_for_missing_cells():
    cells = [
        cell(10.0, case="a"),
        cell(20.0, case="b"),
        cell(5.0, case="a", system="x"),
    ]

    [table] = sibling_tables(cells)

    assert table.rows == ("a", "b")
    assert table.logs == pytest.approx(np.log([[10, 5], [20, NAN]]), nan_ok=True)


def test_each_tool_and_metric_has_a_table_without_zeros():
    cells = [cell(10.0), cell(10.0, tool="fio"), cell(9.0, metric="x"), cell(0.0)]

    assert [len(table.rows) for table in sibling_tables(cells)] == [1, 1, 1]


@pytest.mark.parametrize("rows", [2, 3, 8, 20])
def test_rows_and_systems_explain_a_clean_table(rows):
    assert sibling_residuals(additive(rows, 4)) == pytest.approx(
        np.zeros((rows, 4)), abs=1e-9
    )


@pytest.mark.parametrize("rows", [4, 8, 20])
def test_a_wrong_cell_changes_only_its_own_prediction(rows):
    logs = additive(rows, 4)
    logs[1, 2] += 7

    residuals = sibling_residuals(logs)

    assert residuals[1, 2] == pytest.approx(7)
    residuals[1, 2] = 0
    assert np.abs(residuals).max() < 1e-9


def test_without_the_wrong_cell_the_table_is_clean():
    logs = additive(3, 4)
    logs[1, 2] += 7

    assert (
        leave_one_out_spread(logs, sibling_residuals(logs), (1, 2), 0.01).deviation
        == 0.01
    )
    assert (
        leave_one_out_spread(logs, sibling_residuals(logs), (0, 0), 0.01).deviation > 1
    )


def test_rows_that_no_other_column_shares_cannot_be_predicted():
    residuals = sibling_residuals(np.array([[1.0, NAN], [NAN, 2.0]]))

    assert np.isnan(residuals).all()


def test_the_median_of_no_values_is_nan_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        medians = nanmedian(np.array([[NAN, 1.0], [NAN, 3.0]]), axis=0)
        nothing = nanmedian(np.empty((0, 2)), axis=0)

    assert medians == pytest.approx([NAN, 2.0], nan_ok=True)
    assert np.isnan(nothing).all()


@pytest.mark.parametrize(
    ("text", "value"),
    [("4k", 4096), ("65536 B", 65536), ("1M", 2**20), ("16", 16), ("seq", None)],
)
def test_sizes_are_read_as_numbers(text, value):
    assert parse_size(text) == value
