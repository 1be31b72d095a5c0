"""CSV that programs and spreadsheets read alike."""

import csv
import io

import pytest

from benchmarks.comparing.table import comparison_table
from dashboard.exports.records import FIELDS, FORMULAS, csv_text, harmless, records


def lines(table):
    return list(csv.DictReader(io.StringIO(csv_text(FIELDS, records(table)))))


def test_a_cell_is_a_line_with_value_runs_baseline_ratio_and_verdict(rows, measured):
    native, _ = rows
    first, second = lines(comparison_table([native, measured]))

    assert (first["state"], first["ratio"], first["kind"]) == ("native", "", "")
    assert (second["value"], second["unit"], second["n"]) == ("13.08", "MB/s", "6")
    assert (second["baseline_value"], second["baseline_n"]) == ("52.97", "5")
    assert (second["kind"], second["ratio"]) == ("efficiency", "0.96")
    assert (second["low"], second["high"]) == ("0.94", "0.98")
    assert second["verdict"] == "slower"
    assert second["parameters"] == "operation=write; target=iSCSI"


def test_numbers_keep_all_their_digits(rows):
    _, second = lines(comparison_table(rows))

    assert float(second["ratio"]) == 13.08 / 52.97


def test_it_follows_the_rfc(hostile):
    text = csv_text(FIELDS, records(hostile))

    assert not text.startswith("\ufeff")
    assert text.count("\r\n") == text.count("\n") == len(lines(hostile)) + 1


def test_no_cell_is_a_formula_and_no_name_is_lost(hostile):
    found = lines(hostile)

    assert not [
        text
        for line in found
        for text in line.values()
        if text[:1] in FORMULAS and text and not is_number(text)
    ]
    assert {line["document"].removeprefix("'") for line in found} == {
        each["document"] for each in records(hostile)
    }


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1"])
def test_a_text_that_would_be_computed_gets_an_apostrophe(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "Xen 3.3", "(=1)"])
def test_other_texts_are_left_as_they_are(text):
    assert harmless(text) == text


def test_a_negative_number_stays_a_number():
    assert csv_text(["x"], [{"x": -1.5}]) == "x\r\n-1.5\r\n"
