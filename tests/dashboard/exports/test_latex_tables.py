"""LaTeX tables: balanced, escaped, with the numbers of the page."""

import re
from dataclasses import replace

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from dashboard import wording
from dashboard.exports.latex_tables import latex_tables
from dashboard.exports.table_headings import ExportSource
from dashboard.wording import state_names, verdicts
from tests.comparison_rows import changed
from tests.dashboard.exports import latex_reader

SOURCE = ExportSource(
    title="A study",
    slug="study",
    url="http://localhost/studies/alpha-lab/study/compare/?bits=32&tool=a_b",
    compared_with="compared with native",
    created_on="2026-11-21",
)


def test_tables_have_rules_caption_label_and_source(rows):
    text = latex_tables(comparison_table(rows), SOURCE)

    assert latex_reader.read(text).closed == ["tblr", "table"]
    caption = text.partition(r"\caption{")[2].partition("\n")[0]
    assert SOURCE.title in caption
    assert SOURCE.compared_with in caption
    assert wording.scenario_name("single") in caption
    assert r"\label{tab:study}" in text
    assert r"\toprule" in text
    assert r"\itshape 52.97 & 0.247 \\" in text
    assert "Single runs have no intervals" in text
    assert (
        r"?bits=\allowbreak{}32\&\allowbreak{}tool=\allowbreak{}a\_\allowbreak{}b"
        in text
    )


def test_required_packages_are_listed(rows):
    head = latex_tables(comparison_table(rows), SOURCE).partition(r"\begin")[0]

    for needed in ("tabularray", "booktabs,siunitx", "texlive-science"):
        assert needed in head


def test_cells_have_ratio_interval_and_verdict(rows, measured):
    text = latex_tables(comparison_table([rows[0], measured]), SOURCE)

    assert r"\itshape 52.97 & 0.960{\rlap{$<$}} \\*" in text
    assert r"&  & {{{\virtlabsmall [0.940, 0.980]}}} \\" in text
    assert "slower" in text
    assert "Single runs" not in text


def test_gains_are_negative_overheads(rows, measured):
    faster = changed(measured, efficiency=1.25)
    source = replace(SOURCE, quantity="overhead")
    text = latex_tables(comparison_table([rows[0], faster]), source)

    assert r"-25.0{\rlap{\%" in text
    assert r"{\virtlabsmall [2.0\%, 6.0\%]}" in text
    assert r"\label{tab:study-overhead}" in text


def test_rows_have_a_cell_for_each_column(rows):
    guests = [
        changed(
            rows[1],
            id=at,
            system_id=at,
            guest_os=f"Linux {at % 2}",
            guest_bits=32 * (1 + at % 3),
        )
        for at in range(2, 5)
    ]
    text = latex_tables(comparison_table([rows[0], *guests]), SOURCE)

    assert set(latex_reader.read(text).widths) == {5}


def test_many_systems_are_split_into_several_tables(rows):
    guests = [
        changed(rows[1], id=at, system_id=at, guest_os=f"Linux {at}")
        for at in range(2, 14)
    ]
    text = latex_tables(comparison_table([rows[0], *guests]), SOURCE)

    assert latex_reader.read(text).closed.count("tblr") == 4
    assert "4 of 4" in text
    assert r"\label{tab:study-4}" in text
    assert set(latex_reader.read(text).widths) == {5, 2}


def test_tables_are_never_wider_than_the_page(rows):
    guests = [
        changed(
            rows[1],
            id=at,
            system_id=at,
            guest_os="sched_autogroup-of-a-long-name" * (at % 3),
            value=1234567.891234,
            efficiency=None,
            state="missing",
        )
        for at in range(2, 14)
    ]
    text = latex_tables(comparison_table([rows[0], *guests]), SOURCE)

    assert latex_reader.read(text).closed.count("tblr") == 4
    for line in text.splitlines():
        if "colspec=" in line:
            shares = [float(share) for share in re.findall(r"wd=([\d.]+)", line)]
            assert sum(shares) == pytest.approx(1, abs=0.001)


def test_numbers_are_aligned_at_the_decimal_point(rows):
    longer = changed(rows[1], id=3, case_id=3, case="Longer", efficiency=12.5)
    native = changed(rows[0], id=4, case_id=3, case="Longer", value=19255.9)
    text = latex_tables(comparison_table([*rows, native, longer]), SOURCE)

    assert "si={table-format=5.2}" in text
    assert "si={table-format=2.3}" in text


def test_long_numbers_are_centered(rows):
    tiny = changed(rows[0], id=3, case_id=3, case="Tiny", value=0.00548808)
    text = latex_tables(comparison_table([*rows, tiny]), SOURCE)

    assert "si={table-alignment-mode=none}" in text


def test_long_words_may_break(rows):
    guest = changed(rows[1], hypervisor="Server-Enterprise_2008", system_id=3, id=3)

    text = latex_tables(comparison_table([*rows, guest]), SOURCE)

    assert r"Server-\allowbreak{}Enterprise\_\allowbreak{}2008" in text


def test_notes_state_runs_margin_and_number_of_tests(rows, measured):
    source = replace(SOURCE, equivalence_margin_percent=5.0, tested_count=40)
    text = latex_tables(comparison_table([rows[0], measured]), source)

    notes = text.partition(r"\virtlabnote\raggedright")[2]
    assert r" 5\%" in notes
    assert " 40 results" in notes
    assert ": 1 to 6." in notes
    single = latex_tables(comparison_table(rows), SOURCE)
    assert ": 1." in single.partition(r"\virtlabnote\raggedright")[2]


def test_long_tables_may_break_across_pages(rows):
    cases = [
        changed(rows[1], id=at, case_id=at, case=f"Case {at}") for at in range(2, 60)
    ]
    text = latex_tables(comparison_table(cases), SOURCE)

    assert latex_reader.read(text).closed == ["longtblr"]
    assert "rowhead=1" in text


def test_states_are_explained_in_notes(rows):
    stale = changed(rows[1], state="stale", efficiency=0.5)
    text = latex_tables(comparison_table([rows[0], stale]), SOURCE)

    assert r"0.500{\rlap{\textsuperscript{a}}}" in text
    assert rf"\textsuperscript{{a}} {state_names.state_meaning('stale')}." in text


def test_reasons_for_missing_verdicts_are_in_notes(rows, measured):
    codes = ("two_runs", "clock_suspect", "flagged")
    doubted = replace(
        measured.result.assessment, verdict="not_assessed", reason_codes=codes
    )
    native = changed(
        rows[0], assessment=replace(doubted, reason_codes=("native", *codes))
    )
    text = latex_tables(
        comparison_table([native, changed(measured, assessment=doubted)]), SOURCE
    )

    assert r"\itshape 52.97{\rlap{\textsuperscript{b}}} &" in text
    assert r"0.960{\rlap{\textsuperscript{abc}}} \\" in text
    for letter, code in zip("abc", sorted(codes), strict=True):
        assert (
            rf"\textsuperscript{{{letter}}} {verdicts.WITHHELD_REASONS[code]}." in text
        )
    assert latex_reader.read(text).closed == ["tblr", "table"]


def test_unmeasured_cells_are_dashes(rows):
    other = changed(rows[1], id=3, case_id=2, case="Network throughput · read")

    assert r"{{{\textendash{}}}} & 0.247" in latex_tables(
        comparison_table([*rows, other]), SOURCE
    )


def test_names_are_escaped(hostile):
    text = latex_tables(hostile, replace(SOURCE, title="\\end{table} 5 % & more\n\\x"))

    assert set(latex_reader.read(text).closed) == {"tblr", "table"}
    assert r"\textbackslash{}input\textbraceleft{}/" in text
    assert r"\virtlabchar{1513}{05E9}" in text
    assert "Größe Łódź Čapek" in text


@pytest.mark.parametrize(
    "broken",
    [
        "a & b",
        "50 % of",
        "{",
        "}",
        "$x",
        r"\begin{tblr}{l} a",
        "a_b",
        "#",
        r"\input{x}",
        r"\begin{table}\end{tblr}",
        'say "x"',
    ],
)
def test_the_strict_parser_rejects_broken_latex(broken):
    with pytest.raises(AssertionError):
        latex_reader.read(broken)
