import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.locales import first_comma, with_points, writes_comma


@pytest.mark.parametrize(
    "locale", ["de_DE.UTF-8", "de-DE", "de", "DE_de", "pt_BR", "fr"]
)
def test_it_knows_who_writes_a_comma(locale):
    assert writes_comma(locale)


@pytest.mark.parametrize(
    "locale", [None, "", "C", "C.UTF-8", "POSIX", "en_US", "de_CH"]
)
def test_it_knows_who_does_not(locale):
    assert not writes_comma(locale)


@pytest.mark.parametrize("locale", ["klingon", "xx_YY", "de_DE; drop", "\0"])
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
