import warnings

import numpy as np
import pytest

from benchmarks.plausibility.tables import (
    nanmedian,
    number_of,
    residuals,
    spread_without,
    tables,
)
from tests.benchmarks.plausibility.cast import cell

NAN = float("nan")


def additive(rows, columns, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(5, 2, (rows, 1)) + rng.normal(0, 1, (1, columns))


def test_a_table_has_a_row_for_each_case_and_nan_where_a_system_lacks_it():
    cells = [
        cell(10.0, case="a"),
        cell(20.0, case="b"),
        cell(5.0, case="a", system="x"),
    ]

    [table] = tables(cells)

    assert table.rows == ("a", "b")
    assert table.logs == pytest.approx(np.log([[10, 5], [20, NAN]]), nan_ok=True)


def test_tools_and_metrics_have_tables_of_their_own_and_zeros_none():
    cells = [cell(10.0), cell(10.0, tool="fio"), cell(9.0, metric="x"), cell(0.0)]

    assert [len(table.rows) for table in tables(cells)] == [1, 1, 1]


@pytest.mark.parametrize("rows", [2, 3, 8, 20])
def test_rows_and_systems_explain_a_clean_table(rows):
    assert residuals(additive(rows, 4)) == pytest.approx(np.zeros((rows, 4)), abs=1e-9)


@pytest.mark.parametrize("rows", [4, 8, 20])
def test_one_wrong_cell_moves_no_prediction_but_its_own(rows):
    logs = additive(rows, 4)
    logs[1, 2] += 7

    off = residuals(logs)

    assert off[1, 2] == pytest.approx(7)
    off[1, 2] = 0
    assert np.abs(off).max() < 1e-9


def test_without_the_cell_the_table_is_clean():
    logs = additive(3, 4)
    logs[1, 2] += 7

    assert spread_without(logs, residuals(logs), (1, 2), 0.01).deviation == 0.01
    assert spread_without(logs, residuals(logs), (0, 0), 0.01).deviation > 1


def test_what_no_other_column_shares_cannot_be_predicted():
    off = residuals(np.array([[1.0, NAN], [NAN, 2.0]]))

    assert np.isnan(off).all()


def test_the_median_of_nothing_is_unknown_and_no_warning():
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
    assert number_of(text) == value
