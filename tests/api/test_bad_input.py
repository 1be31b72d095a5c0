"""Invalid input that lenient servers accept: 400 with a message, nothing is stored."""

import json

import pytest

from benchmarks.models import Run

LONG = {f"k{number}": 1 for number in range(100_000)}

# Values that a lenient server would convert, with the field that the error must name.
SHAPES = {
    "true for a number": ({"value": True}, "samples[0].value"),
    "text for a number": ({"value": "12"}, "samples[0].value"),
    "an underscore": ({"value": "1_000"}, "samples[0].value"),
    "Arabic digits": ({"value": "١٢"}, "samples[0].value"),
    "blanks around": ({"value": " 12 "}, "samples[0].value"),
    "a comma": ({"value": "1,5"}, "samples[0].value"),
    "text NaN": ({"value": "NaN"}, "samples[0].value"),
    "null": ({"value": None}, "samples[0].value"),
    "a list for a number": ({"value": [1]}, "samples[0].value"),
    "a number for text": ({"metric": 5}, "samples[0].metric"),
    "a number for a unit": ({"unit": 5}, "samples[0].unit"),
    "a repetition of 0": ({"repetition": 0}, "samples[0].repetition"),
    "a repetition of 1.0": ({"repetition": 1.0}, "samples[0].repetition"),
    "true for a repetition": ({"repetition": True}, "samples[0].repetition"),
    "text for parameters": ({"parameters": "a=1"}, "samples[0].parameters"),
    "nested parameters": ({"parameters": {"a": {"b": 1}}}, "samples[0].parameters.a"),
    "an unknown key": ({"vlaue": 1}, "samples[0].vlaue"),
}

DOCUMENTS = {
    "no key": ({"key": None}, "key"),
    "an empty key": ({"key": ""}, "key"),
    "a key that is no UUID": ({"key": "run 1"}, "key"),
    "a key without hyphens": ({"key": "6f1f6a5e3b1c4f0e9a510c2d3e4f5a6b"}, "key"),
    "a number as key": ({"key": 5}, "key"),
    "text for the samples": ({"samples": "1,2,3"}, "samples"),
    "an object for the samples": ({"samples": {"0": {}}}, "samples"),
    "no samples": ({"samples": []}, "samples"),
    "true for a system": ({"system": True}, "system"),
    "text for a system": ({"system": "1"}, "system"),
    "a float for a system": ({"system": 1.0}, "system"),
    "an unknown scenario": ({"scenario": "paralel"}, "scenario"),
    "an unknown clock": ({"clock": "sundial"}, "clock"),
    "minus one VM": ({"vms": -1}, "vms"),
    "text for VMs": ({"vms": "2"}, "vms"),
    "no time zone": ({"started_at": "2010-07-29T12:00:00"}, "started_at"),
    "a date alone": ({"started_at": "2010-07-29"}, "started_at"),
    "seconds since 1970": ({"started_at": 1280404800}, "started_at"),
    "a list of facts": ({"facts": []}, "facts"),
    "a typo": ({"scenaro": "single"}, "scenaro"),
    "blanks around a name": ({"tool": " iometer"}, "tool"),
    "a line break in a name": ({"document": "a\nb"}, "document"),
    "an endless name": ({"document": "x" * 301}, "document"),
    "a list for a name": ({"session": ["a"]}, "session"),
}

# Invalid JSON, which Python's json module cannot write.
RAW = {
    "NaN": ("52.97", "NaN"),
    "Infinity": ("52.97", "Infinity"),
    "-Infinity": ("52.97", "-Infinity"),
    "nan": ("52.97", "nan"),
    "1e999": ("52.97", "1e999"),
    "1e-320": ("52.97", "1e-320"),
    "1e-400": ("52.97", "1e-400"),
    "20 digits": ("52.97", "9" * 20),
    "4,299 digits": ("52.97", "9" * 4299),
    "100,000 digits": ("52.97", "9" * 100_000),
    "underscore": ("52.97", "1_000"),
    "plus": ("52.97", "+5"),
    "hex": ("52.97", "0x1F"),
    "5,000 levels": ("52.97", "[" * 5000 + "]" * 5000),
    "a key twice": ('"tool"', '"study": "study", "tool"'),
    "NUL": ("MB/s", "MB\\u0000/s"),
    "half a surrogate pair": ("MB/s", "\\ud800"),
    "RTL override": ("MB/s", "MB\u202e/s"),
    "escaped RTL override": ("MB/s", "MB\\u202e/s"),
    "isolate": ("MB/s", "MB\\u2066/s"),
    "backspace": ("MB/s", "MB\\b"),
    "NUL in a key": ('"tool"', '"to\\u0000ol"'),
    "not closed": ('"samples"', "samples"),
    "a comment": ("52.97", "52.97 // MB/s"),
}


def refused(answer, status=400):
    body = answer.json()
    assert answer.status_code == status, body
    assert list(body) == ["code", "detail", "fields"]
    assert 10 < len(body["detail"]) < 500
    assert not Run.objects.exists()
    return body


@pytest.mark.parametrize(("change", "path"), SHAPES.values(), ids=SHAPES.keys())
def test_invalid_samples_are_400_with_a_path(api, run_document, change, path):
    document = run_document()
    document["samples"][0] |= change

    assert list(refused(api.post("runs/", document))["fields"]) == [path]


@pytest.mark.parametrize(("change", "path"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_invalid_documents_are_400_with_a_path(api, run_document, change, path):
    document = {**run_document(), **change}

    assert list(refused(api.post("runs/", document))["fields"]) == [path]


@pytest.mark.parametrize(("good", "bad"), RAW.values(), ids=RAW.keys())
def test_invalid_json_is_400(api, run_document, good, bad):
    raw = json.dumps(run_document()).replace(good, bad, 1)
    assert bad in raw

    assert refused(api.post("runs/", raw.encode()))["code"] == "malformed"


@pytest.mark.parametrize(("good", "bad"), RAW.values(), ids=RAW.keys())
def test_invalid_json_in_one_line_rejects_all_lines(api, run_document, good, bad):
    raw = json.dumps(run_document()).replace(good, bad, 1).encode()

    body = refused(api.bulk([run_document(), raw, run_document()]))

    assert list(body["fields"]) == ["line 2"]


@pytest.mark.parametrize("missing", ["key", "study", "system", "tool"])
def test_missing_keys_are_named(api, run_document, missing):
    document = run_document()
    del document[missing]

    assert refused(api.post("runs/", document))["fields"] == {
        missing: ["This is missing. Send it."]
    }


@pytest.mark.parametrize("missing", ["metric", "value", "unit"])
def test_missing_keys_of_samples_are_named(api, run_document, missing):
    document = run_document()
    del document["samples"][0][missing]

    assert list(refused(api.post("runs/", document))["fields"]) == [
        f"samples[0].{missing}"
    ]


@pytest.mark.parametrize("where", ["facts", "parameters", "body"])
def test_100_000_keys_are_413(api, run_document, where):
    document = run_document()
    if where == "facts":
        document["facts"] = LONG
    elif where == "parameters":
        document["samples"][0]["parameters"] = LONG
    else:
        document |= LONG

    body = refused(api.post("runs/", document), status=413)

    assert body["code"] == "too_large"


def test_10_001_samples_are_400(api, run_document):
    document = run_document()
    document["samples"] *= 10_001

    assert list(refused(api.post("runs/", document))["fields"]) == ["samples"]


def test_typos_get_a_suggestion(api, run_document):
    body = refused(api.post("runs/", {**run_document(), "tool_verson": "1"}))

    assert body["fields"]["tool_verson"] == [
        "This is not a known field. Did you mean tool_version?"
    ]


@pytest.mark.parametrize("value", [0, -5, 1e-300])
def test_rates_must_be_positive(api, run_document, value):
    answer = api.post("runs/", run_document(value=value))

    assert (answer.status_code == 422) is (value <= 0)


@pytest.mark.parametrize("body", [[], "text", 5, None, True, [{}]])
def test_bodies_must_be_objects(api, db, body):
    said = refused(api.post("runs/", body))["detail"]

    assert said.endswith("Send a JSON object.")


@pytest.mark.parametrize("path", ["runs/", "studies/", "hosts/", "systems/"])
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00",
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
        b"{",
        b"{}{}",
        b'{"\xff":1}',
        b'{"slug":"\\ud800","title":"x"}',
        b"[" * 100_000,
    ],
)
def test_every_endpoint_rejects_invalid_json(api, db, path, raw):
    assert refused(api.post(path, raw))["code"] == "malformed"
