import time

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.decoding import (
    decode,
    first_comma,
    with_points,
    writes_comma,
)

TEXT = "Prüfung: 1 µs\nfertig\n"


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"],
)
def test_it_reads_every_usual_encoding(encoding):
    assert decode(TEXT.encode(encoding)) == TEXT


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("10 %\r20 %\rdone\n", "10 %\n20 %\ndone\n"),
        ("\ufeffa\n", "a\n"),
        ("\x1b[1;31mred\x1b[0m \x1b[Kend\n", "red end\n"),
        ("\x1b]0;title\x07a\x1b(B\n", "a\n"),
        ("ab\x08\x08cd\n\x08e\n", "cd\ne\n"),
        (b"", ""),
    ],
)
def test_it_shows_what_a_person_would_see(output, text):
    assert decode(output) == text


def test_it_reads_utf_16_that_is_cut_within_a_character():
    assert decode(TEXT.encode("utf-16")[:-1]) == TEXT[:-1]


def test_it_refuses_what_is_no_text_and_names_the_line():
    with pytest.raises(ParseError, match=r'Line 2 "b\\x00c": .*NUL'):
        decode("a\nb\0c\nd\n")


def test_it_refuses_utf_16_that_breaks_off():
    with pytest.raises(ParseError, match="breaks off at byte 3"):
        decode(b"\xff\xfe\x00\xdca\x00b\x00c\x00")


def test_it_takes_no_quadratic_time_to_strike_out():
    assert decode("a\x08" * 200_000) == ""


def test_noise_between_the_packets_of_a_meter_is_dropped():
    assert decode(b"#d,-,18\0,0;\n\0\0#d,-,18,1;\n") == "#d,-,18,0;\n#d,-,18,1;\n"


@pytest.mark.parametrize(
    "locale",
    [
        *("de_DE.UTF-8", "de-DE", "de", "DE_de", "pt_BR", "fr", "de_DE@euro"),
        *("de_DE.ISO-8859-1", "de_DE.utf8", "sr_Latn_RS", "German_Germany.1252"),
        *("german", "locale=de_DE", "LC_ALL=de_DE.UTF-8", 'LC_NUMERIC="de_DE.UTF-8"'),
        *("LANG=en_US.UTF-8 LC_NUMERIC=de_DE", "export LANG='de_DE.UTF-8';"),
        *("LANG=de_DE LC_ALL=", "LANGUAGE=de_DE:en", "Locale = de_DE"),
    ],
)
def test_it_knows_who_writes_a_comma(locale):
    assert writes_comma(locale)


@pytest.mark.parametrize(
    "locale",
    [
        *(None, "", "C", "C.UTF-8", "POSIX", "en_US", "de_CH", "C.utf8", "LC_ALL=C"),
        *("LC_ALL=C LANG=de_DE", "locale=en_US", "LANG=", "English_Germany.1252"),
    ],
)
def test_it_knows_who_does_not(locale):
    assert not writes_comma(locale)


@pytest.mark.parametrize(
    "locale",
    [
        *("klingon", "xx_YY", "de_DE; drop", "\0", "LC_ALL=klingon", "rm=de_DE"),
        *("LC_ALL=de_DE; drop", "=de_DE"),
    ],
)
def test_it_refuses_an_unknown_locale(locale):
    with pytest.raises(ParseError, match="is unknown"):
        writes_comma(locale)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("12,1 GB/s", "12.1 GB/s"),
        ("-0,5 and 1.234.567,89", "-0.5 and 1234567.89"),
        ('"0,123","4,5"', '"0.123","4.5"'),
        ("load average: 2,60, 1,51, 0,68", "load average: 2.60, 1.51, 0.68"),
        ("wsess=4,15,10", "wsess=4,15,10"),
        ("1,2,3,4", "1,2,3,4"),
        ("12,0.285", "12,0.285"),
        ("3.14", "3.14"),
    ],
)
def test_it_turns_decimal_commas_into_points_and_leaves_lists(text, read):
    assert with_points(text) == read


def test_it_finds_the_first_comma():
    assert first_comma("a,b 1,2,3 x 4,5") == 12
    assert first_comma("1,2,3") is None


def test_backspaces_take_time_in_proportion_to_the_text():
    """7 MB of random bytes took 21.8 s; one long line was worse."""
    noise = ("x" * 200 + "\x08" * 3) * 35_000
    begun = time.process_time()

    decode(noise)
    decode(("x" * 7_000_000) + "\x08" * 100_000)

    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("struck", "left"),
    [("ab\x08c", "ac"), ("\x08ab", "ab"), ("a\x08\x08cd", "cd"), ("ab\x08\x08", "")],
)
def test_a_backspace_takes_the_character_before_it(struck, left):
    assert decode(f"1\n{struck}\n2") == f"1\n{left}\n2"
