"""NDJSON: invalid lines are reported by number."""

import orjson
import pytest

from api.kit.errors import LinesRejectedError
from api.uploads import EXAMPLE_RAW_RUN, EXAMPLE_RUN, numbered_lines, read_lines
from benchmarks.errors import MalformedError, TooLargeError


def test_lines_are_numbered_as_in_an_editor():
    assert numbered_lines(b'{"a":1}\r\n\n  \n{"b":2}') == [
        (1, b'{"a":1}\r'),
        (4, b'{"b":2}'),
    ]


def test_lines_contain_samples_or_output():
    lines = read_lines(
        enumerate(map(orjson.dumps, (EXAMPLE_RUN, EXAMPLE_RAW_RUN)), start=1)
    )

    assert [(line.number, line.upload.document) for line in lines] == [
        (1, EXAMPLE_RUN),
        (2, EXAMPLE_RAW_RUN),
    ]


def test_syntax_errors_are_reported_before_validation_errors():
    body = b'{}\n[1]\n\n{"a":NaN}\n{}'
    with pytest.raises(LinesRejectedError) as refused:
        read_lines(numbered_lines(body))

    assert list(refused.value.fields) == ["line 2", "line 4"]
    assert "NaN" in refused.value.fields["line 4"]["detail"]
    assert str(refused.value).startswith("Nothing was stored: 2 lines are wrong.")


def test_at_most_100_invalid_lines_are_listed():
    with pytest.raises(LinesRejectedError) as refused:
        read_lines(numbered_lines(b"x\n" * 1000))

    assert len(refused.value.fields) == 100
    assert "1,000 lines" in str(refused.value)


@pytest.mark.parametrize("body", [b"", b"\n\n", b" \r\n"])
def test_empty_bodies_are_rejected(body):
    with pytest.raises(MalformedError, match="empty"):
        numbered_lines(body)


def test_at_most_10_000_lines_are_accepted():
    assert len(numbered_lines(b"{}\n" * 10_000)) == 10_000
    with pytest.raises(TooLargeError, match="10,001 lines"):
        numbered_lines(b"{}\n" * 10_001)
