"""The fast parser of uploads accepts only what the full validation accepts."""

import copy
from typing import Any

import orjson
import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.serializers import ValidationError

from api.kit.composite_fields import validate_document
from api.kit.strict_json import parse_json_object
from api.uploads import FALLBACK_ERRORS, RunInput, _fast_parse
from benchmarks.errors import MalformedError, TooLargeError
from benchmarks.labs import tokens
from benchmarks.models import Run, RunOutput, Sample, Study, Token
from benchmarks.uploads import intake
from tests import job_queue

KEY = "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"
PLAIN: dict[str, Any] = {
    "key": KEY,
    "study": "study",
    "system": {
        "host": "alpha",
        "hypervisor": "native",
        "guest_bits": 32,
        "options": {"swap": True, "cores": 2},
    },
    "tool": "iometer",
    "samples": [
        {
            "metric": "network throughput",
            "parameters": {"operation": "write", "size": 4.5},
            "value": 52,
            "unit": "MB/s",
            "repetition": 2,
        }
    ],
    "scenario": "parallel",
    "vms": 2,
    "slot": "1",
    "session": "Tuesday",
    "clock": "external",
    "started_at": "2010-07-29T12:00:00.5+02:00",
    "note": 'first line\nsecond "line": 1',
    "facts": {"kernel": "2.6.28", "modules": ["xen", None], "deep": {"a": [1, 2.5]}},
}
WRONG = [
    *(None, True, False, "", " ", "x ", "\t", "a\nb", "\u202eabc", "\x7f", "\u0000"),
    *(0, -1, 1.5, 2**31, 2**63, 2**64, 1e20, 1e-310, "x" * 30_000, "\u00fc", "\u3000x"),
    *([], [1], {}, {"a": 1}, {"a": None}, {" a": 1}, {"a": {"b": 1}}, {"": 1}),
    *("not-a-key", KEY.upper(), "2010-07-29", "2010-13-29T12:00:00Z", "guest", "ESXi"),
    {str(number): 1 for number in range(101)},
]
PATHS = [
    *((name,) for name in (*RunInput().fields, "unheard")),
    *(("system", name) for name in (*PLAIN["system"], "vcpus", "guest_os", "unheard")),
    *(("samples", 0, name) for name in (*PLAIN["samples"][0], "unheard")),
    *(("samples", 0, "parameters", "size"), ("facts", "deep", "a")),
]
# Changes of the JSON text that cannot be made in a parsed document.
TEXTS = {
    "a doubled key": lambda raw: raw.replace(b'"vms":2', b'"vms":2,"vms":2'),
    "one with a blank": lambda raw: raw.replace(b'"vms":2', b'"vms" : 2, "vms":3'),
    "one behind an escape": lambda raw: raw.replace(
        b'"vms":2', b'"vms":2,"\\u0076ms":2'
    ).replace(b"Tuesday", b"Tues\\u003aday"),
    "one in a sample": lambda raw: raw.replace(b'"value":52', b'"value":1,"value":52'),
    "NaN": lambda raw: raw.replace(b'"value":52', b'"value":NaN'),
    "a tiny number": lambda raw: raw.replace(b'"value":52', b'"value":1e-400'),
    "a tiny one of zeros": lambda raw: raw.replace(
        b'"value":52', b'"value":0.' + b"0" * 330 + b"1"
    ),
    "a huge whole number": lambda raw: raw.replace(
        b'"value":52', b'"value":100000000000000000000'
    ),
    "a huge one in facts": lambda raw: raw.replace(
        b"[1,2.5]", b"[100000000000000000000]"
    ),
    "a huge one in parameters": lambda raw: raw.replace(
        b'"size":4.5', b'"size":100000000000000000000'
    ),
    "no UTF-8": lambda raw: raw.replace(b"Tuesday", b"Tues\xffday"),
    "half a pair": lambda raw: raw.replace(b"Tuesday", b"Tues\\ud800day"),
    "a mark in front": lambda raw: b"\xef\xbb\xbf" + raw,
    "a tail": lambda raw: raw + b"{}",
    "a cut": lambda raw: raw[:-1],
    "nothing": lambda raw: b"",
    "a control character": lambda raw: raw.replace(b"Tuesday", b"Tues\\u0007day"),
    "a bell in facts": lambda raw: raw.replace(b"2.6.28", b"2\\b6"),
    "levels": lambda raw: raw.replace(b"[1,2.5]", b"[" * 40 + b"]" * 40),
}


def fast_upload(raw: bytes) -> intake.Upload | None:
    """Return the upload from the fast parser; None if it leaves it to `RunInput`."""
    try:
        return _fast_parse(raw)
    except FALLBACK_ERRORS:
        return None


def is_valid(raw: bytes) -> bool:
    """Return whether the strict parser and `RunInput` accept a body."""
    try:
        validate_document(RunInput, parse_json_object(raw, ("output",)))
    except (MalformedError, TooLargeError, ValidationError):
        return False
    return True


def document_with(path: tuple[Any, ...], value: Any) -> bytes:
    document = copy.deepcopy(PLAIN)
    inner: Any = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    try:
        return orjson.dumps(document)
    except TypeError:  # orjson cannot write so many digits
        return b""


def test_fast_parser_accepts_plain_uploads():
    upload = fast_upload(orjson.dumps(PLAIN))

    assert upload is not None
    assert upload.document == PLAIN
    assert orjson.loads(upload.text) == PLAIN


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_fast_parser_rejects_missing_and_invalid_keys(path):
    for value in WRONG:
        raw = document_with(path, value)
        if fast_upload(raw):
            assert is_valid(raw), value


@pytest.mark.parametrize("name", TEXTS)
def test_fast_parser_rejects_invalid_json(name):
    raw = TEXTS[name](orjson.dumps(PLAIN))

    assert raw != orjson.dumps(PLAIN)
    assert not is_valid(raw)
    assert fast_upload(raw) is None


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(PATHS),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    ),
)
def test_fast_uploads_are_always_valid(path, value):
    raw = document_with(path, value)

    if upload := fast_upload(raw):
        assert is_valid(raw)
        assert upload.document == parse_json_object(raw)


@pytest.fixture(autouse=True)
def empty_caches():
    """Empty the caches, because the objects in them are rolled back after a test."""
    intake.clear_caches()


@pytest.fixture
def fast_submissions(monkeypatch):
    """Return a list of the fast path's results, which is extended by each request."""
    answers = []
    submit = intake._submit_fast

    def note(*given):
        answers.append(submit(*given))
        return answers[-1]

    monkeypatch.setattr(intake, "_submit_fast", note)
    return answers


def test_fast_and_full_uploads_store_the_same(
    api, run_document, fast_submissions, monkeypatch, valkey
):
    first = api.post(
        "runs/", run_document()
    )  # the fast path is not used, because the system and the case are new
    short = api.post("runs/", run_document())
    monkeypatch.setattr(intake, "_submit_fast", lambda *_: None)
    full = api.post("runs/", run_document())

    assert [bool(item) for item in fast_submissions] == [False, True]
    assert first.status_code == short.status_code == full.status_code == 202
    assert short.json().keys() == full.json().keys()
    assert short.json()["status"] == full.json()["status"]
    for name in ("Allow", "Content-Type", "Vary"):
        assert short.headers.get(name) == full.headers.get(name), name
    assert short.headers["Location"] == short.json()["url"]
    ours, theirs = (Run.objects.get(pk=item.json()["id"]) for item in (short, full))
    differing = {"_state", "id", "key", "digest", "received_at"}
    assert {k: v for k, v in vars(ours).items() if k not in differing} == {
        k: v for k, v in vars(theirs).items() if k not in differing
    }
    samples = [
        list(Sample.objects.filter(run=run).values("sequence", "case", "value"))
        for run in (ours, theirs)
    ]
    assert samples[0] == samples[1] != []
    assert job_queue.waiting("upload").filter(is_preparsed=True).count() == 3


def test_repeated_fast_uploads_are_stored_once(api, run_document, fast_submissions):
    api.post("runs/", run_document())
    document = run_document()

    answers = [api.post("runs/", document) for _ in range(2)]

    assert [item.status_code for item in answers] == [202, 200]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Run.objects.count() == 2
    assert [bool(item) for item in fast_submissions] == [False, True, True]
    other = {**document, "note": "another"}
    assert api.post("runs/", other).json()["code"] == "key_reused"


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": "2020-01-01T00:00Z"},
        {"expires_at": "2020-01-01T00:00Z"},
        {"can_upload": False, "can_read": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_revoked_upload_permissions_apply_immediately(
    api, run_document, change, fast_submissions
):
    api.post("runs/", run_document())
    assert api.post("runs/", run_document()).status_code == 202
    Token.objects.update(**change)

    answer = api.post("runs/", run_document())

    malformed = api.post("runs/", b"{")

    assert answer.status_code in (401, 403)
    assert malformed.status_code in (401, 403)
    assert Run.objects.count() == 2
    assert [bool(item) for item in fast_submissions] == [False, True, False]


def test_fast_uploads_store_nothing_in_other_labs(api, run_document, other_agent):
    api.post("runs/", run_document())
    secret = tokens.issue_token(agent=other_agent, can_upload=True)[1]

    answer = api.post("runs/", run_document(), secret)

    assert answer.status_code == 422
    assert answer.json()["code"] == "unknown_study"
    assert Run.objects.count() == 1


@pytest.mark.parametrize("since", ["deleted_at", "archived_at"])
def test_fast_uploads_store_nothing_in_closed_studies(
    api, run_document, study, fast_submissions, since
):
    api.post("runs/", run_document())
    Study.objects.filter(pk=study.pk).update(**{since: timezone.now()})

    answer = api.post("runs/", run_document())

    assert answer.status_code in (409, 422)
    assert fast_submissions[-1] is None
    assert Run.objects.count() == 1


def test_outdated_case_ids_are_looked_up_again(api, run_document, fast_submissions):
    api.post("runs/", run_document())
    api.post("runs/", run_document())
    # Simulate a restored database, in which the cached ids are those of other cases.
    intake._case_ids.update(
        {key: (pk, mark + 1) for key, (pk, mark) in intake._case_ids.items()}
    )

    answers = [api.post("runs/", run_document()) for _ in range(2)]

    assert [item.status_code for item in answers] == [202, 202]
    assert [bool(item) for item in fast_submissions] == [False, True, False, True]


def test_gzipped_uploads_are_fast(api, run_document, fast_submissions):
    api.post("runs/", run_document())

    answer = api.packed("runs/", orjson.dumps(run_document()))

    assert answer.status_code == 202
    assert fast_submissions[-1] is not None


def test_fast_and_full_uploads_store_the_same_text(api, run_document, monkeypatch):
    monkeypatch.setattr(intake, "_submit_fast", lambda *_: None)
    document = run_document(note="Tab\tand line\n")
    api.post("runs/", document)

    upload = fast_upload(orjson.dumps(document))

    assert upload is not None
    assert RunOutput.objects.get().text == upload.text
    assert Run.objects.get().digest == upload.digest
