"""Tables with `tabular` and siunitx: balanced, escaped, of any width."""

import re
from dataclasses import replace

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from dashboard.exports.latex_tables import Tabular, latex_tables
from dashboard.kit.formatting import significant_digits
from tests.comparison_rows import changed
from tests.dashboard.exports import latex_reader
from tests.dashboard.exports.test_latex_tables import SOURCE


def guests(rows, count):
    return [
        changed(rows[1], id=at, system_id=at, guest_os=f"Linux {at}")
        for at in range(2, 2 + count)
    ]


def test_tables_have_the_numbers_and_notes_of_the_page(rows, measured):
    text = latex_tables(comparison_table([rows[0], measured]), SOURCE, Tabular())

    assert latex_reader.read(text).closed == ["tabular", "table"]
    assert "S[table-format=1.3,table-column-width=" in text
    assert r"write & \itshape 52.97 & 0.960{\rlap{$<$}} \\" in text
    assert r" &  & {{{\virtlabsmall [0.940, 0.980]}}} \\" in text
    assert "tabularray" not in text
    assert SOURCE.title in text.partition(r"\caption{")[2].partition("\n")[0]
    assert "Verdicts:" in text.partition(r"\virtlabnote\raggedright")[2]


@pytest.mark.parametrize(
    ("is_wide", "kind", "count"), [(False, "table", 4), (True, "table*", 3)]
)
def test_many_systems_are_split_by_available_width(rows, is_wide, kind, count):
    text = latex_tables(comparison_table(guests(rows, 11)), SOURCE, Tabular(is_wide))

    assert latex_reader.read(text).closed.count(kind) == count
    assert f"Part {count} of {count}" in text
    for columns in re.findall(r"\\begin\{tabular\}\{(.*)\}\n", text):
        shares = [float(share) for share in re.findall(r"([\d.]+)\\linewidth", columns)]
        assert sum(shares) == pytest.approx(1, abs=0.001)


def test_rows_continue_in_the_next_table(rows):
    cases = [
        changed(rows[1], id=at, case_id=at, case=f"Case {at}")
        for at in range(2, 2 * Tabular.MOST_LINES)
    ]
    text = latex_tables(comparison_table(cases), SOURCE, Tabular())

    closed = latex_reader.read(text).closed
    assert closed.count("table") > 2
    assert all(f"Case {at} &" in text for at in range(2, 2 * Tabular.MOST_LINES))


@pytest.mark.parametrize(("digits", "room"), [(3, 0.21), (4, 0.22), (6, 0.26)])
def test_labels_are_narrower_with_long_intervals(rows, measured, digits, room):
    """In a column of 229 pt, the narrowest of all classes."""
    systems = [
        changed(measured, id=at, system_id=at, guest_os=f"Linux {at}") for at in (2, 3)
    ]
    with significant_digits(digits):
        text = latex_tables(comparison_table([rows[0], *systems]), SOURCE, Tabular())

    columns = re.search(r"\\begin\{tabular\}\{(.*)\}\n", text)[1]
    labels, *shares = map(float, re.findall(r"([\d.]+)\\linewidth", columns))
    assert min(shares) >= room
    assert labels + sum(shares) == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize(("count", "shown"), [(2, "0.96"), (4, "0.9600")])
def test_the_selected_number_of_digits_is_used(rows, measured, count, shown):
    with significant_digits(count):
        text = latex_tables(comparison_table([rows[0], measured]), SOURCE, Tabular())

    assert rf"{shown}{{\rlap{{$<$}}}}" in text


def test_names_are_escaped(hostile):
    text = latex_tables(
        hostile, replace(SOURCE, title="\\end{table} 5 % & more\n\\x"), Tabular()
    )

    assert set(latex_reader.read(text).closed) == {"tabular", "table"}
    assert r"\textbackslash{}input\textbraceleft{}/" in text
