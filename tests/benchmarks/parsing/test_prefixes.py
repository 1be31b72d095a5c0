import pytest

from benchmarks.parsing.prefixes import without_prefixes

TEXT = "first 1.5 s\n\n  indented\nlast\n"


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-20T21:44:36Z ",
        "2026-11-20T21:44:36.1234567Z ",
        "[2026-11-20 21:44:36,120] ",
        "2026/11/20 21:44:36 ",
        "Nov 20 21:44:36 vm fio[12]: ",
        "Nov  2 21:44:36 ",
        "[Fri Nov 20 21:44:36 2026] ",
        "21:44:36 ",
        "[21:44:36.120] ",
        "[   71.323769] ",
        "> ",
        "# ",
        "bench-1  | ",
    ],
)
def test_it_removes_what_stands_before_every_line(prefix):
    prefixed = "".join(f"{prefix}{line}\n" for line in TEXT.splitlines())
    assert without_prefixes(prefixed) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "21:44:36 once\nand never again\nnor here\n",
        "#d,-,18,972;\n#d,-,18,973;\n",
        "2026-11-20T21:44:36Z,97.2\n2026-11-20T21:44:37Z,97.3\n",
    ],
)
def test_it_leaves_everything_else(text):
    assert without_prefixes(text) == text


def test_a_word_behind_the_time_that_begins_like_a_zone_stays():
    text = "Zone 1: 4.5\n+1500000 events\n"
    prefixed = "".join(f"2026-11-20 21:44:36 {line}\n" for line in text.splitlines())
    assert without_prefixes(prefixed) == text
