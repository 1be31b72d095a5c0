"""The thin way in: an upload that is right is taken at once.

msgspec reads a document in one pass and looks at types and ranges. The texts in it are
few and come again and again: each is looked at once by the fields that say what is
wrong, and remembered. An upload that is not found right here is looked at by them in
full, so that there is one set of rules and one set of sentences.
"""

import io
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from typing import Annotated, Any, Final

import msgspec
import orjson
from django.core.exceptions import DisallowedHost
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, resolve
from rest_framework.serializers import ValidationError

from api.kit.authentication import SCHEMES
from api.kit.bodies import unpack
from api.kit.fields import MAX_NOTE, UUID_TEXT, Timestamp
from api.kit.parsing import ODD_TEXT, TINY, StrictJSONError, check_values
from api.kit.refusals import ApiError
from api.kit.shapes import MAX_FACTS_BYTES
from api.runs import MAX_SAMPLES, RUN, RunInput
from api.samples import MAX_REPETITION, SampleInput
from benchmarks.database import was_away
from benchmarks.parsing.contract import LARGEST as MOST
from benchmarks.uploads.direct import submit_directly
from benchmarks.uploads.intake import Submission, Upload
from benchmarks.uploads.results import LEAST, ReadSamples, SampleCase, known_case

MOST_BYTES: Final = 2_000_000
"""What is counted in larger bodies is not counted here."""
CONTEXTS_REMEMBERED: Final = 1024
KINDS_REMEMBERED: Final = 8192
# What msgspec reads as a float may have been a whole number that is refused.
LARGEST: Final = 2.0**63
ACCEPTABLE: Final = ("", "*/*", "application/json")
ACCEPTED: Final = 202
ENCODINGS: Final = ("", "identity", "gzip", "x-gzip")
# What nearly every upload says anew; all else is its context.
VARYING: Final = ("key", "samples", "started_at", "note", "facts")
MOMENT = Timestamp()

NO_PARAMETERS = msgspec.Raw(b"{}")
PARAMETERS = msgspec.json.Decoder(dict[str, str | bool | int | float])
RUNS: Final = "/api/v1/runs/"
# What an answer says of its own run; all else is the same in each.
ITS_OWN: Final = ("Location", "Content-Length")

View = Callable[..., HttpResponseBase]


class QuickSample(msgspec.Struct, forbid_unknown_fields=True):
    """A sample of the right types; what its texts may be stands in `SampleInput`."""

    metric: str
    value: float
    unit: str
    parameters: msgspec.Raw = NO_PARAMETERS
    repetition: Annotated[int, msgspec.Meta(ge=1, le=MAX_REPETITION)] = 1


class QuickRun(msgspec.Struct, forbid_unknown_fields=True):
    """A run of the right types; what its texts may be stands in `RunInput`."""

    key: str
    study: str
    system: dict[str, Any]
    tool: str
    samples: Annotated[
        list[QuickSample], msgspec.Meta(min_length=1, max_length=MAX_SAMPLES)
    ]
    tool_version: str = ""
    scenario: str = ""
    vms: int | None = None
    slot: str = ""
    load: str = ""
    corun: str = ""
    session: str = ""
    clock: str = ""
    started_at: str | None = None
    document: str = ""
    table: str = ""
    note: str = ""
    facts: dict[str, Any] = {}


DECODER = msgspec.json.Decoder(QuickRun)


def read_quickly(raw: bytes) -> Upload | None:
    """Return the upload of a JSON document that is surely right; else None."""
    try:
        run = DECODER.decode(raw)
        document = orjson.loads(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not (_is_plain(raw, run.key) and _is_right(run, document)):
        return None
    is_right, read = _read(run)
    if not is_right:
        return None
    upload = Upload.of(document, read)
    # Each member has a colon, and so has each one that stands there twice: the kept
    # text, which has it once, then has fewer.
    return upload if raw.count(b":") == upload.text.count(":") else None


def _is_plain(raw: bytes, key: str) -> bool:
    """Return whether no text or number needs a closer look."""
    if len(raw) > MOST_BYTES:
        return False
    is_usual = raw.isascii() and not (b"\\" in raw or b"\x7f" in raw)
    if not is_usual and ODD_TEXT.search(raw):
        return False
    # A UUID may look like the exponent of a tiny number.
    may_be_tiny = b"0.00000000" in raw or any(
        raw.count(mark.encode()) > key.count(mark) for mark in ("e-", "E-")
    )
    return not (may_be_tiny and TINY.search(raw.replace(key.encode(), b"")))


def _is_right(run: QuickRun, document: dict[str, Any]) -> bool:
    if not UUID_TEXT.fullmatch(run.key) or len(run.note) > MAX_NOTE:
        return False
    context = {name: document[name] for name in document if name not in VARYING}
    if not _is_right_context(orjson.dumps(context)):
        return False
    if run.started_at is not None:
        try:
            MOMENT.to_internal_value(run.started_at)
        except ValidationError:
            return False
    return not run.facts or _are_right_facts(document["facts"])


def _are_right_facts(facts: dict[str, Any]) -> bool:
    if len(orjson.dumps(facts)) > MAX_FACTS_BYTES:
        return False
    try:
        # As they stand in their document.
        check_values({"facts": facts}, odd_text=False)
    except StrictJSONError:
        return False
    return not _has_huge_number(facts)


def _has_huge_number(value: Any) -> bool:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    elif isinstance(value, int | float):
        return not -LARGEST < value < LARGEST
    return any(map(_has_huge_number, inner))


@lru_cache(CONTEXTS_REMEMBERED)
def _is_right_context(text: bytes) -> bool:
    """Return whether a document's other members are as they should be."""
    context = orjson.loads(text)
    rest = {"key": RUN["key"], "samples": RUN["samples"]}
    return _passes(RunInput(), {**context, **rest}) and not _has_huge_number(context)


def _read(run: QuickRun) -> tuple[bool, ReadSamples | None]:
    """Return whether samples are right; and they, if they are stored as they came."""
    samples, tool = run.samples, run.tool
    kinds = [
        _kind(tool, sample.metric, sample.unit, bytes(sample.parameters))
        for sample in samples
    ]
    values = [sample.value for sample in samples]
    low, high = min(values), max(values)
    if not (
        all(is_right for is_right, _ in kinds) and -LARGEST < low <= high < LARGEST
    ):
        return False, None
    cases = [case for _, case in kinds if case is not None]
    if len(cases) < len(kinds) or not LEAST <= low <= high <= MOST:
        return True, None
    return True, ReadSamples(cases, [each.repetition for each in samples], values)


@lru_cache(KINDS_REMEMBERED)
def _kind(
    tool: str, metric: str, unit: str, parameters: bytes
) -> tuple[bool, SampleCase | None]:
    """Return whether a sample's texts are as they should be, and its case if known.

    Parameters are as they were sent: as keys 1, 1.0 and true would be one.
    """
    try:
        stated = PARAMETERS.decode(parameters)
    except msgspec.MsgspecError:
        return False, None
    sample = {"metric": metric, "unit": unit, "parameters": stated, "value": 1.0}
    is_right = _passes(SampleInput(), sample) and not _has_huge_number(stated)
    return is_right, known_case(tool, metric, unit, parameters) if is_right else None


def _passes(shape: RunInput | SampleInput, document: dict[str, Any]) -> bool:
    try:
        shape.run_validation(document)
    except ValidationError:
        return False
    return True


def uploads(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Take uploads that are right before all other middleware; leave all else to it.

    What that adds to an answer is seen on the first one that went all the way.
    """
    headers: dict[bool, dict[str, str]] = {}

    def answer(request: HttpRequest) -> HttpResponseBase:
        is_upload = request.method == "POST" and request.path_info == RUNS
        # An answer may be in the language that is asked for, or set a cookie anew.
        if (
            not is_upload
            or {"HTTP_ACCEPT_LANGUAGE", "HTTP_COOKIE"} & request.META.keys()
        ):
            return get_response(request)
        common = headers.get(request.is_secure())
        if common and (taken := _taken(request)):
            for name, value in common.items():
                taken.headers.setdefault(name, value)
            taken.headers["Content-Length"] = str(len(taken.content))
            request.resolver_match = _match()
            return taken
        vars(request)["is_to_be_looked_at"] = common is not None
        response = get_response(request)
        if response.status_code == ACCEPTED and "Content-Encoding" not in response:
            headers[request.is_secure()] = {
                name: value
                for name, value in response.headers.items()
                if name not in ITS_OWN
            }
        return response

    return answer


@cache
def _match() -> ResolverMatch:
    return resolve(RUNS)


def quickly(view: View) -> View:
    """Take uploads that are right at once; all other requests are the view's."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_new = request.method == "POST" and not vars(request).get(
            "is_to_be_looked_at"
        )
        return (_taken(request) if is_new else None) or view(request, *args, **kwargs)

    return answer


def _taken(request: HttpRequest) -> HttpResponse | None:
    """Answer an upload that was stored; None: it was not, and can still be read."""
    headers = request.META
    words = headers.get("HTTP_AUTHORIZATION", "").split()
    encoding = headers.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    length = headers.get("CONTENT_LENGTH") or ""
    if not (
        headers.get("CONTENT_TYPE") == "application/json"
        and not headers.get("QUERY_STRING")
        and headers.get("HTTP_ACCEPT", "") in ACCEPTABLE
        and len(words) == 2
        and words[0].lower().encode() in SCHEMES
        and encoding in ENCODINGS
        and length.isascii()
        and length.isdigit()
        and len(length) < 10
        and int(length) <= MOST_BYTES
    ):
        return None
    try:
        place = f"{request.scheme}://{request.get_host()}{request.path}"
        raw = request.read()
    except (OSError, DisallowedHost):
        return None
    # Whoever looks at it in full reads it once more.
    request._stream = io.BytesIO(raw)
    request._read_started = False  # type: ignore[attr-defined]  # Django's own
    if len(raw) != int(length):
        return None
    try:
        upload = read_quickly(unpack(raw) if "gzip" in encoding else raw)
    except ApiError:
        return None
    if upload is None:
        return None
    # Not asked first whether the connection lives: the statement itself shows it.
    connection.health_check_done = True  # type: ignore[attr-defined]  # the same
    try:
        submission = submit_directly(words[1], upload)
    except DatabaseError as error:
        if not was_away(error):
            raise
        connection.close()
        return None
    return _answer(place, submission) if submission else None


def _answer(place: str, submission: Submission) -> HttpResponse:
    url = f"{place}{submission.run_id}/"
    body = {
        "id": submission.run_id,
        "key": str(submission.key),
        "status": submission.status,
        "url": url,
    }
    return HttpResponse(
        orjson.dumps(body),
        status=200 if submission.repeated else ACCEPTED,
        content_type="application/json",
        headers={"Location": url, "Allow": "GET, POST, HEAD"},
    )
