"""Strict JSON: invalid documents get a message, valid ones are parsed exactly."""

import time

import pytest

from api.kit import strict_json
from api.kit.strict_json import parse_json_object
from benchmarks.errors import MalformedError, TooLargeError

BAD = {
    "empty": (b"", "empty"),
    "only blanks": (b" \n\t", "empty"),
    "cut off": (b'{"a":', "not valid JSON"),
    "trailing comma": (b'{"a":1,}', "trailing comma"),
    "more after the end": (b'{"a":1}x', "after document at line 1, column 8"),
    "single quotes": (b"{'a':1}", "not valid JSON"),
    "a list": (b"[1]", "a list"),
    "null": (b"null", "null"),
    "a text": (b'"a"', "text"),
    "byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "UTF-16": ("{}".encode("utf-16"), "Byte 1"),
    "Latin-1": (b'{"a":"\xfc"}', "Byte 7"),
    "NaN": (b'{"a":NaN}', "does not allow NaN and Infinity (line 1, column 6)"),
    "nan": (b'{"a":nan}', "not allow NaN"),
    "Infinity": (b'{"a":Infinity}', "not allow NaN"),
    "-Infinity": (b'{"a":-Infinity}', "not allow NaN"),
    "inf": (b'{"a":inf}', "not allow NaN"),
    "-inf": (b'{"a": -inf}', "not allow NaN"),
    "+Infinity": (b'{"a":+Infinity}', "not allow NaN"),
    "overflow": (b'{"a":1e999}', "too large for a 64-bit float"),
    "underflow": (b'{"a":1e-400}', "too small"),
    "subnormal": (b'{"a":1e-320}', "too small"),
    "tiny in plain digits": (b'{"a":0.' + b"0" * 320 + b"1}", "too small"),
    "20 digits": (b'{"a":[{"b":' + b"9" * 20 + b"}]}", "a[0].b does not fit"),
    "unsigned": (b'{"a":18446744073709551615}', "does not fit into 64 bits"),
    "4,299 digits": (b'{"a":' + b"9" * 4299 + b"}", "too large"),
    "5,000 digits": (b'{"a":' + b"9" * 5000 + b"}", "too large"),
    "underscore": (b'{"a":1_000}', "not valid JSON"),
    "leading zero": (b'{"a":01}', "leading zero"),
    "hexadecimal": (b'{"a":0x10}', "not valid JSON"),
    "Arabic digits": ('{"a":١٢}'.encode(), "not valid JSON"),
    "escaped NUL": (b'{"a":{"b":["\\u0000"]}}', "a.b[0]"),
    "raw NUL": (b'{"a":"\x00"}', "control character"),
    "NUL in a key": (b'{"\\u0000":1}', "At the body: The key contains"),
    "backspace": (b'{"a":"\\b"}', "U+0008"),
    "delete": (b'{"a":"\x7f"}', "U+007F"),
    "C1 control": ('{"a":"\x85"}'.encode(), "U+0085"),
    "half a surrogate pair": (b'{"a":"\\ud800"}', "surrogate"),
    "other half": (b'{"a":"\\udc00"}', "surrogate"),
    "right-to-left override": ('{"a":"x\u202ey"}'.encode(), "RIGHT-TO-LEFT OVERRIDE"),
    "escaped override": (b'{"a":"\\u202e"}', "RIGHT-TO-LEFT OVERRIDE"),
    "isolate in a key": ('{"\u2066a":1}'.encode(), "LEFT-TO-RIGHT ISOLATE"),
    "a key twice": (b'{"a":{"key":1,"b":2,"key":1}}', 'key "key" appears twice'),
    "escaped key twice": (b'{"a":1,"\\u0061":1}', 'key "a" appears twice'),
    "33 levels": (b'{"a":' + b"[" * 32 + b"]" * 32 + b"}", "32 levels"),
    "1,000 levels": (b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}", "32 levels"),
    "5,000 levels": (b"[" * 5000 + b"]" * 5000, "32 levels"),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "32 levels"),
}


@pytest.mark.parametrize(("raw", "says"), BAD.values(), ids=BAD.keys())
def test_invalid_documents_are_rejected(raw, says):
    with pytest.raises(MalformedError) as refused:
        parse_json_object(raw)

    assert says in str(refused.value)
    assert len(str(refused.value)) < 300


def test_objects_with_100_000_keys_are_rejected():
    raw = b"{" + b",".join(b'"k%d":1' % number for number in range(100_000)) + b"}"

    with pytest.raises(TooLargeError, match="100,000 keys"):
        parse_json_object(raw)


def test_documents_with_too_many_values_are_rejected():
    with pytest.raises(TooLargeError, match="1,000,000 values"):
        strict_json.check_value_count(b"[" + b"0," * 1_000_001 + b"0]")


def test_thirty_two_levels_are_parsed():
    raw = b'{"a":' + b"[" * 31 + b"]" * 31 + b"}"

    assert list(parse_json_object(raw)) == ["a"]


def test_numbers_are_exact():
    raw = b'{"a":[9007199254740993,-9223372036854775808,0.1,1e-300,5e-1,-0.0,0e-999]}'

    got = parse_json_object(raw)["a"]

    assert [repr(number) for number in got] == [
        "9007199254740993",
        "-9223372036854775808",
        "0.1",
        "1e-300",
        "0.5",
        "-0.0",
        "0.0",
    ]


def test_text_is_unchanged():
    text = 'Überlast · 測試 · 😀 · tab\there, line\nthere, "quotes"'
    raw = strict_json.orjson.dumps({"a": text})

    assert parse_json_object(raw) == {"a": text}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":[' + b"{}," * 400_000 + b"1]}",
        b'{"a":[' + b"1e-300," * 900_000 + b"1]}",
        b'{"a":[' + b'"\\t",' * 900_000 + b'"\\u0041"]}',
        b'{"a":"' + b"\\u0041" * 1_300_000 + b'"}',
    ],
    ids=["objects", "floats", "texts", "escapes"],
)
def test_the_largest_documents_are_parsed_in_limited_time(raw):
    strict_json.check_value_count(raw)
    began = time.process_time()

    parse_json_object(raw)

    assert time.process_time() - began < 3
