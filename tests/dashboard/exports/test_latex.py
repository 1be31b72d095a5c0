"""LaTeX tables: balanced, escaped, and with the numbers of the page."""

import re
from dataclasses import replace

import pytest

from benchmarks.comparing.table import comparison_table
from dashboard import wording
from dashboard.exports.latex import latex
from dashboard.exports.table_texts import Source
from dashboard.wording import states, verdicts
from tests.comparison_rows import changed
from tests.dashboard.exports import tex

SOURCE = Source(
    title="A study",
    slug="study",
    address="http://localhost/studies/alpha-lab/study/compare/?bits=32&tool=a_b",
    against="compared with native",
    made_on="2026-11-21",
)


def test_it_is_a_booktabs_table_with_caption_label_and_source(rows):
    text = latex(comparison_table(rows), SOURCE)

    assert tex.read(text).closed == ["tblr", "table"]
    caption = text.partition(r"\caption{")[2].partition("\n")[0]
    assert SOURCE.title in caption
    assert SOURCE.against in caption
    assert wording.scenario_name("single") in caption
    assert r"\label{tab:study}" in text
    assert r"\toprule" in text
    assert r"\itshape 52.97 & 0.247 \\" in text
    assert "Single runs: there are no intervals" in text
    assert (
        r"?bits=\allowbreak{}32\&\allowbreak{}tool=\allowbreak{}a\_\allowbreak{}b"
        in text
    )


def test_it_says_which_packages_it_needs(rows):
    head = latex(comparison_table(rows), SOURCE).partition(r"\begin")[0]

    for needed in ("tabularray", "booktabs,siunitx", "texlive-science"):
        assert needed in head


def test_intervals_and_verdicts_stand_with_the_ratio(rows, measured):
    text = latex(comparison_table([rows[0], measured]), SOURCE)

    assert r"\itshape 52.97 & 0.960{\rlap{$<$}} \\*" in text
    assert r"&  & {{{\virtlabsmall [0.940, 0.980]}}} \\" in text
    assert "slower" in text
    assert "Single runs" not in text


def test_what_is_gained_is_an_overhead_with_a_minus(rows, measured):
    faster = changed(measured, efficiency=1.25)
    source = replace(SOURCE, show="overhead")
    text = latex(comparison_table([rows[0], faster]), source)

    assert r"-25.0{\rlap{~\%" in text
    assert r"{\virtlabsmall [2.0~\%, 6.0~\%]}" in text
    assert r"\label{tab:study-overhead}" in text


def test_every_row_has_as_many_cells_as_there_are_columns(rows):
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
    text = latex(comparison_table([rows[0], *guests]), SOURCE)

    assert set(tex.read(text).widths) == {5}


def test_many_systems_are_parted_into_tables_that_fit(rows):
    guests = [
        changed(rows[1], id=at, system_id=at, guest_os=f"Linux {at}")
        for at in range(2, 14)
    ]
    text = latex(comparison_table([rows[0], *guests]), SOURCE)

    assert tex.read(text).closed.count("tblr") == 4
    assert "4 of 4" in text
    assert r"\label{tab:study-4}" in text
    assert set(tex.read(text).widths) == {5, 2}


def test_no_table_is_wider_than_a_page_whatever_its_numbers(rows):
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
    text = latex(comparison_table([rows[0], *guests]), SOURCE)

    assert tex.read(text).closed.count("tblr") == 4
    for line in text.splitlines():
        if "colspec=" in line:
            shares = [float(share) for share in re.findall(r"wd=([\d.]+)", line)]
            assert sum(shares) == pytest.approx(1, abs=0.001)


def test_numbers_of_a_column_stand_on_one_decimal_sign(rows):
    longer = changed(rows[1], id=3, case_id=3, case="Longer", efficiency=12.5)
    native = changed(rows[0], id=4, case_id=3, case="Longer", value=19255.9)
    text = latex(comparison_table([*rows, native, longer]), SOURCE)

    assert "si={table-format=5.2}" in text
    assert "si={table-format=2.3}" in text


def test_numbers_that_leave_no_room_to_align_them_are_centred(rows):
    tiny = changed(rows[0], id=3, case_id=3, case="Tiny", value=0.00548808)
    text = latex(comparison_table([*rows, tiny]), SOURCE)

    assert "si={table-alignment-mode=none}" in text


def test_a_word_that_a_column_has_no_room_for_may_break(rows):
    guest = changed(rows[1], hypervisor="Server-Enterprise_2008", system_id=3, id=3)

    text = latex(comparison_table([*rows, guest]), SOURCE)

    assert r"Server-\allowbreak{}Enterprise\_\allowbreak{}2008" in text


def test_notes_tell_runs_margin_and_among_how_many_a_verdict_was_found(rows, measured):
    source = replace(SOURCE, equivalence_margin_percent=5.0, tested=40)
    text = latex(comparison_table([rows[0], measured]), source)

    notes = text.partition(r"\virtlabnote\raggedright")[2]
    assert r" 5 \%" in notes
    assert " 40 results" in notes
    assert ": 1 to 6." in notes
    single = latex(comparison_table(rows), SOURCE)
    assert ": 1." in single.partition(r"\virtlabnote\raggedright")[2]


def test_a_long_table_may_part_at_the_end_of_a_page(rows):
    cases = [
        changed(rows[1], id=at, case_id=at, case=f"Case {at}") for at in range(2, 60)
    ]
    text = latex(comparison_table(cases), SOURCE)

    assert tex.read(text).closed == ["longtblr"]
    assert "rowhead=1" in text


def test_a_state_is_explained_below_by_its_letter(rows):
    stale = changed(rows[1], state="stale", efficiency=0.5)
    text = latex(comparison_table([rows[0], stale]), SOURCE)

    assert r"0.500{\rlap{\textsuperscript{a}}}" in text
    assert rf"\textsuperscript{{a}} {states.state_meaning('stale')}." in text


def test_what_keeps_a_verdict_from_a_number_is_told_below(rows, measured):
    codes = ("two_runs", "clock_suspect", "flagged")
    doubted = replace(measured.shown.judgement, verdict="not_assessed", codes=codes)
    native = changed(rows[0], judgement=replace(doubted, codes=("native", *codes)))
    text = latex(
        comparison_table([native, changed(measured, judgement=doubted)]), SOURCE
    )

    assert r"\itshape 52.97{\rlap{\textsuperscript{b}}} &" in text
    assert r"0.960{\rlap{\textsuperscript{abc}}} \\" in text
    for letter, code in zip("abc", sorted(codes), strict=True):
        assert rf"\textsuperscript{{{letter}}} {verdicts.WITHHELD[code]}." in text
    assert tex.read(text).closed == ["tblr", "table"]


def test_a_cell_that_was_not_measured_is_a_dash(rows):
    other = changed(rows[1], id=3, case_id=2, case="Network throughput · read")

    assert r"{{{\textendash{}}}} & 0.247" in latex(
        comparison_table([*rows, other]), SOURCE
    )


def test_no_name_is_a_command(hostile):
    text = latex(hostile, replace(SOURCE, title="\\end{table} 5 % & more\n\\x"))

    assert set(tex.read(text).closed) == {"tblr", "table"}
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
def test_the_reader_of_these_tests_sees_what_is_broken(broken):
    with pytest.raises(AssertionError):
        tex.read(broken)
