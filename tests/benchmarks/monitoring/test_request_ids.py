"""Request ids, and log records in JSON."""

import json
import logging
import sys

import pytest

from benchmarks.monitoring.json_logs import JsonFormatter
from benchmarks.monitoring.request_ids import (
    NO_ID,
    RequestIdFilter,
    accept_id,
    current_id,
    use_request_id,
)


def line(record: logging.LogRecord) -> dict[str, object]:
    RequestIdFilter().filter(record)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


def record(message: str, *args: object, name: str = "a.b", **more: object):
    given = {"name": name, "levelname": "INFO", "msg": message, "args": args, **more}
    return logging.makeLogRecord(given)


def test_request_id_is_reset_after_the_block():
    with use_request_id("outer-id"), use_request_id("inner-id"):
        assert current_id() == "inner-id"

    assert current_id() == NO_ID


@pytest.mark.parametrize("text", ["0123abcd", "a" * 64, "req-1_2.3"])
def test_valid_id_of_the_client_is_used(text):
    assert accept_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "short", "a" * 65, "two words", "line\nbreak1", 'quote"quote', "é" * 9]
)
def test_invalid_id_is_replaced(text):
    assert accept_id(text) != text
    assert len(accept_id(text)) == 32


def test_record_is_one_json_object_with_id_and_extra():
    with use_request_id("some-request"):
        output = line(record("Processed %s\nruns", 3, runs=[1, 2, 3]))

    assert output["request"] == "some-request"
    assert output["message"] == "Processed 3\nruns"
    assert (output["level"], output["logger"], output["runs"]) == (
        "INFO",
        "a.b",
        [1, 2, 3],
    )
    assert output["time"].endswith("+00:00")


def test_record_contains_its_exception():
    try:
        raise ValueError("secret\nof two lines")
    except ValueError:
        output = line(record("It failed", exc_info=sys.exc_info()))

    assert "ValueError: secret" in output["exception"]


def test_other_types_are_written_as_text():
    assert line(record("x", path=logging, key={1: "one"}))["key"] == {"1": "one"}


def test_access_log_has_named_fields():
    atoms = {"h": "::1", "m": "GET", "U": "/", "s": "200", "{x-request-id}o": "the-id"}

    written = logging.getLogger("gunicorn.access").makeRecord(
        "gunicorn.access", logging.INFO, "", 0, "%(m)s %(U)s", (atoms,), None
    )
    output = line(written)

    assert output["message"] == "GET /"
    assert (output["method"], output["path"], output["status"]) == ("GET", "/", "200")
    assert output["request"] == "the-id"
