import time

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.decoding import (
    decode,
    find_decimal_comma,
    replace_decimal_commas,
    uses_decimal_comma,
)

TEXT = "Prüfung: 1 µs\nfertig\n"


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"],
)
def test_usual_encodings_are_decoded(encoding):
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
def test_text_is_decoded_as_displayed(output, text):
    assert decode(output) == text


def test_utf_16_truncated_within_a_character_is_decoded():
    assert decode(TEXT.encode("utf-16")[:-1]) == TEXT[:-1]


def test_binary_data_is_rejected_with_its_line():
    with pytest.raises(ParseError, match=r'Line 2 "b\\x00c": .*NUL'):
        decode("a\nb\0c\nd\n")


def test_invalid_utf_16_is_rejected():
    with pytest.raises(ParseError, match="byte 3 is not valid"):
        decode(b"\xff\xfe\x00\xdca\x00b\x00c\x00")


def test_backspaces_take_no_quadratic_time():
    assert decode("a\x08" * 200_000) == ""


def test_noise_between_the_packets_of_a_meter_is_removed():
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
def test_locales_with_a_decimal_comma_are_recognized(locale):
    assert uses_decimal_comma(locale)


@pytest.mark.parametrize(
    "locale",
    [
        *(None, "", "C", "C.UTF-8", "POSIX", "en_US", "de_CH", "C.utf8", "LC_ALL=C"),
        *("LC_ALL=C LANG=de_DE", "locale=en_US", "LANG=", "English_Germany.1252"),
    ],
)
def test_locales_with_a_decimal_point_are_recognized(locale):
    assert not uses_decimal_comma(locale)


@pytest.mark.parametrize(
    "locale",
    [
        *("klingon", "xx_YY", "de_DE; drop", "\0", "LC_ALL=klingon", "rm=de_DE"),
        *("LC_ALL=de_DE; drop", "=de_DE"),
    ],
)
def test_an_unknown_locale_is_rejected(locale):
    with pytest.raises(ParseError, match="is unknown"):
        uses_decimal_comma(locale)


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
def test_decimal_commas_become_points_but_not_those_of_lists(text, read):
    assert replace_decimal_commas(text) == read


def test_the_first_decimal_comma_is_found():
    assert find_decimal_comma("a,b 1,2,3 x 4,5") == 12
    assert find_decimal_comma("1,2,3") is None


def test_backspaces_take_linear_time():
    """7 MB of random bytes took 21.8 s, and one long line even more."""
    noise = ("x" * 200 + "\x08" * 3) * 35_000
    begun = time.process_time()

    decode(noise)
    decode(("x" * 7_000_000) + "\x08" * 100_000)

    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("struck", "left"),
    [("ab\x08c", "ac"), ("\x08ab", "ab"), ("a\x08\x08cd", "cd"), ("ab\x08\x08", "")],
)
def test_a_backspace_removes_the_previous_character(struck, left):
    assert decode(f"1\n{struck}\n2") == f"1\n{left}\n2"
