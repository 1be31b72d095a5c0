"""The tables of a paper: `tabular` with siunitx, balanced, escaped, of any width."""

import re
from dataclasses import replace

import pytest

from benchmarks.comparing.table import comparison_table
from dashboard.exports.latex import Tabular, latex
from dashboard.kit.figures import with_digits
from tests.comparison_rows import changed
from tests.dashboard.exports import tex
from tests.dashboard.exports.test_latex import SOURCE


def guests(rows, count):
    return [
        changed(rows[1], id=at, system_id=at, guest_os=f"Linux {at}")
        for at in range(2, 2 + count)
    ]


def test_it_is_a_tabular_with_the_numbers_and_notes_of_the_page(rows, measured):
    text = latex(comparison_table([rows[0], measured]), SOURCE, Tabular())

    assert tex.read(text).closed == ["tabular", "table"]
    assert "S[table-format=1.3,table-column-width=" in text
    assert r"write & \itshape 52.97 & 0.960{\rlap{$<$}} \\" in text
    assert r" &  & {{{\virtlabsmall [0.940, 0.980]}}} \\" in text
    assert "tabularray" not in text
    assert SOURCE.title in text.partition(r"\caption{")[2].partition("\n")[0]
    assert "Verdicts:" in text.partition(r"\virtlabnote\raggedright")[2]


@pytest.mark.parametrize(
    ("is_wide", "kind", "count"), [(False, "table", 4), (True, "table*", 3)]
)
def test_many_systems_are_parted_by_the_room_there_is(rows, is_wide, kind, count):
    text = latex(comparison_table(guests(rows, 11)), SOURCE, Tabular(is_wide))

    assert tex.read(text).closed.count(kind) == count
    assert f"Part {count} of {count}" in text
    for columns in re.findall(r"\\begin\{tabular\}\{(.*)\}\n", text):
        shares = [float(share) for share in re.findall(r"([\d.]+)\\linewidth", columns)]
        assert sum(shares) == pytest.approx(1, abs=0.001)


def test_rows_that_one_table_has_no_room_for_stand_in_the_next(rows):
    cases = [
        changed(rows[1], id=at, case_id=at, case=f"Case {at}")
        for at in range(2, 2 * Tabular.MOST_LINES)
    ]
    text = latex(comparison_table(cases), SOURCE, Tabular())

    closed = tex.read(text).closed
    assert closed.count("table") > 2
    assert all(f"Case {at} &" in text for at in range(2, 2 * Tabular.MOST_LINES))


@pytest.mark.parametrize(("digits", "room"), [(3, 0.21), (4, 0.22), (6, 0.26)])
def test_labels_give_way_to_intervals_of_many_digits(rows, measured, digits, room):
    """Of a column of 229 pt, the narrowest of the classes."""
    systems = [
        changed(measured, id=at, system_id=at, guest_os=f"Linux {at}") for at in (2, 3)
    ]
    with with_digits(digits):
        text = latex(comparison_table([rows[0], *systems]), SOURCE, Tabular())

    columns = re.search(r"\\begin\{tabular\}\{(.*)\}\n", text)[1]
    labels, *shares = map(float, re.findall(r"([\d.]+)\\linewidth", columns))
    assert min(shares) >= room
    assert labels + sum(shares) == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize(("count", "shown"), [(2, "0.96"), (4, "0.9600")])
def test_digits_are_those_that_were_chosen(rows, measured, count, shown):
    with with_digits(count):
        text = latex(comparison_table([rows[0], measured]), SOURCE, Tabular())

    assert rf"{shown}{{\rlap{{$<$}}}}" in text


def test_no_name_is_a_command(hostile):
    text = latex(
        hostile, replace(SOURCE, title="\\end{table} 5 % & more\n\\x"), Tabular()
    )

    assert set(tex.read(text).closed) == {"tabular", "table"}
    assert r"\textbackslash{}input\textbraceleft{}/" in text
