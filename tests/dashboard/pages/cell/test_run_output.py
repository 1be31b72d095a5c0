"""Lines of output, with marked numbers of a run."""

from dashboard.pages.cell.views import LINES_SHOWN, output_lines


def marked(text, values, first=1):
    lines, _is_cut = output_lines(text, first, values)
    return [line.number for line in lines if line.is_read]


def test_line_with_parsed_number_is_marked():
    assert marked("Copy: 1\nTriad:   25684.40   0.006\nend", [25684.4]) == [2]


def test_numbers_within_words_and_numbers_do_not_match():
    assert marked("sda1 x2.5\n12.55\n1e3 kB", [2.5, 1.0]) == []
    assert marked("1e3 kB", [1000.0]) == [1]


def test_number_matches_in_printed_unit():
    assert marked("141.60 MB/sec\n426 MB", [141.60 * 1.048576]) == [1]
    assert marked("943 Mbits/sec", [943 / 8]) == [1]


def test_short_number_matches_in_own_unit_only():
    assert marked("2\n2000\n16", [2.0]) == [1]


def test_line_numbers_are_those_of_upload():
    assert marked("a\n7", [7.0], first=40) == [41]


def test_long_output_is_cut_around_match():
    text = "\n".join([*(f"line {at}" for at in range(500)), "rate 0.25"])

    lines, is_cut = output_lines(text, 1, [0.25])

    assert is_cut
    assert lines[-1].is_read
    assert len(lines) <= LINES_SHOWN


def test_short_output_is_complete():
    lines, is_cut = output_lines("a\nb\n", 1, [])

    assert [line.text for line in lines] == ["a", "b"]
    assert not is_cut
