"""One JSON object a line: every wrong line is named by its number."""

import orjson
import pytest

from api.kit.errors import LinesRefusedError
from api.uploads import RAW, RUN, numbered_lines, read_lines
from benchmarks.errors import MalformedError, TooLargeError


def test_it_numbers_lines_as_an_editor_does():
    assert numbered_lines(b'{"a":1}\r\n\n  \n{"b":2}') == [
        (1, b'{"a":1}\r'),
        (4, b'{"b":2}'),
    ]


def test_it_reads_samples_and_output():
    lines = read_lines(enumerate(map(orjson.dumps, (RUN, RAW)), start=1))

    assert [(line.number, line.upload.document) for line in lines] == [
        (1, RUN),
        (2, RAW),
    ]


def test_it_names_every_line_that_is_not_json_before_those_of_a_wrong_shape():
    body = b'{}\n[1]\n\n{"a":NaN}\n{}'
    with pytest.raises(LinesRefusedError) as refused:
        read_lines(numbered_lines(body))

    assert list(refused.value.fields) == ["line 2", "line 4"]
    assert "no NaN" in refused.value.fields["line 4"]["detail"]
    assert str(refused.value).startswith("Nothing was stored: 2 lines are wrong.")


def test_it_lists_no_more_than_a_hundred_wrong_lines():
    with pytest.raises(LinesRefusedError) as refused:
        read_lines(numbered_lines(b"x\n" * 1000))

    assert len(refused.value.fields) == 100
    assert "1,000 lines" in str(refused.value)


@pytest.mark.parametrize("body", [b"", b"\n\n", b" \r\n"])
def test_it_refuses_a_body_without_lines(body):
    with pytest.raises(MalformedError, match="empty"):
        numbered_lines(body)


def test_it_takes_ten_thousand_lines_and_no_more():
    assert len(numbered_lines(b"{}\n" * 10_000)) == 10_000
    with pytest.raises(TooLargeError, match="10,001 lines"):
        numbered_lines(b"{}\n" * 10_001)
