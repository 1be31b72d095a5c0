"""Ids in whose name is worked, and lines for machines."""

import json
import logging
import sys

import pytest

from benchmarks.monitoring.tracing import (
    NOBODY,
    JsonLines,
    Traced,
    current_id,
    given_id,
    traced,
)


def line(record: logging.LogRecord) -> dict[str, object]:
    Traced().filter(record)
    text = JsonLines().format(record)
    assert "\n" not in text
    return json.loads(text)


def record(message: str, *args: object, name: str = "a.b", **more: object):
    given = {"name": name, "levelname": "INFO", "msg": message, "args": args, **more}
    return logging.makeLogRecord(given)


def test_a_name_ends_with_its_block():
    with traced("outer-id"), traced("inner-id"):
        assert current_id() == "inner-id"

    assert current_id() == NOBODY


@pytest.mark.parametrize("text", ["0123abcd", "a" * 64, "req-1_2.3"])
def test_an_id_that_was_sent_is_kept(text):
    assert given_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "short", "a" * 65, "two words", "line\nbreak1", 'quote"quote', "é" * 9]
)
def test_what_is_no_id_is_replaced(text):
    assert given_id(text) != text
    assert len(given_id(text)) == 32


def test_a_line_is_one_object_with_its_id_and_what_was_given_to_it():
    with traced("some-request"):
        said = line(record("Processed %s\nruns", 3, runs=[1, 2, 3]))

    assert said["request"] == "some-request"
    assert said["message"] == "Processed 3\nruns"
    assert (said["level"], said["logger"], said["runs"]) == ("INFO", "a.b", [1, 2, 3])
    assert said["time"].endswith("+00:00")


def test_a_line_has_its_exception():
    try:
        raise ValueError("secret\nof two lines")
    except ValueError:
        said = line(record("It failed", exc_info=sys.exc_info()))

    assert "ValueError: secret" in said["exception"]


def test_what_json_has_no_word_for_is_written_as_text():
    assert line(record("x", path=logging, key={1: "one"}))["key"] == {"1": "one"}


def test_a_line_of_an_access_log_has_the_parts_by_name():
    atoms = {"h": "::1", "m": "GET", "U": "/", "s": "200", "{x-request-id}o": "the-id"}

    written = logging.getLogger("gunicorn.access").makeRecord(
        "gunicorn.access", logging.INFO, "", 0, "%(m)s %(U)s", (atoms,), None
    )
    said = line(written)

    assert said["message"] == "GET /"
    assert (said["method"], said["path"], said["status"]) == ("GET", "/", "200")
    assert said["request"] == "the-id"
