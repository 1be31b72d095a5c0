"""CSV for programs and spreadsheets."""

import csv
import io

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from dashboard.exports.comparison_records import (
    FORMULA_STARTS,
    SPEED_COLUMNS,
    comparison_records,
    csv_text,
    escape_formula,
)


def lines(table):
    return list(
        csv.DictReader(io.StringIO(csv_text(SPEED_COLUMNS, comparison_records(table))))
    )


def test_each_cell_is_a_line_with_ratio_and_verdict(rows, measured):
    native, _ = rows
    first, second = lines(comparison_table([native, measured]))

    assert (first["state"], first["ratio"], first["kind"]) == ("native", "", "")
    assert (second["value"], second["unit"], second["n"]) == ("13.08", "MB/s", "6")
    assert (second["baseline_value"], second["baseline_n"]) == ("52.97", "5")
    assert (second["kind"], second["ratio"]) == ("relative_performance", "0.96")
    assert (second["low"], second["high"]) == ("0.94", "0.98")
    assert second["verdict"] == "slower"
    assert second["parameters"] == "operation=write; target=iSCSI"


def test_numbers_keep_all_digits(rows):
    _, second = lines(comparison_table(rows))

    assert float(second["ratio"]) == 13.08 / 52.97


def test_csv_follows_rfc_4180(hostile):
    text = csv_text(SPEED_COLUMNS, comparison_records(hostile))

    assert not text.startswith("\ufeff")
    assert text.count("\r\n") == text.count("\n") == len(lines(hostile)) + 1


def test_formulas_are_escaped_and_names_are_complete(hostile):
    found = lines(hostile)

    assert not [
        text
        for line in found
        for text in line.values()
        if text[:1] in FORMULA_STARTS and text and not is_number(text)
    ]
    assert {line["document"].removeprefix("'") for line in found} == {
        record["document"] for record in comparison_records(hostile)
    }


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1"])
def test_formulas_get_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "Xen 3.3", "(=1)"])
def test_other_texts_are_unchanged(text):
    assert escape_formula(text) == text


def test_negative_numbers_are_unchanged():
    assert csv_text(["x"], [{"x": -1.5}]) == "x\r\n-1.5\r\n"
