"""Uploaded runs: their shape, `read_upload` for all of them, and the bulk upload.

`RunInput` has the rules and their sentences. It takes milliseconds, so most uploads are
accepted by parts: msgspec checks the types of samples, and texts, which repeat, are
checked by `RunInput` once and cached.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.status import HTTP_202_ACCEPTED

from api.kit.errors import (
    LinesRefusedError,
    Problem,
    invalid,
    malformed,
    problem_of,
    too_large,
)
from api.kit.fields import (
    Choice,
    Number,
    Printed,
    Slug,
    Text,
    Timestamp,
    UUIDText,
    WholeNumber,
)
from api.kit.parsing import (
    ODD_TEXT,
    TINY,
    check_values,
    read_object,
)
from api.kit.shapes import JSONObject, ListOf, SmallMap, StrictSerializer, checked
from api.kit.views import UploadView
from api.systems import SYSTEM, SystemField
from benchmarks.errors import BatchRefusedError, MalformedError, TooLargeError
from benchmarks.models import Agent, Run
from benchmarks.models.run import SCENARIOS
from benchmarks.parsing.contract import LARGEST
from benchmarks.uploads.intake import Submission, Upload, submit_uploads
from benchmarks.uploads.results import LEAST, ReadSamples, SampleCase, known_case

MAX_SAMPLES = 10_000
MAX_VMS = 10_000
CLOCKS = ("external", "client", "meter", "guest", "local")
# What an integer of PostgreSQL holds.
MAX_REPETITION = 2**31 - 1
CONTEXTS_CACHED: Final = 1024
CASES_CACHED: Final = 8192
# Members of an upload that differ in nearly every one; the others are its context.
VARYING: Final = ("key", "samples", "started_at", "note", "facts")
TOO_LARGE: Final = 2.0**63
"""A larger number may have been a whole number, which is refused."""

RUN = {
    "key": "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b",
    "study": "lmu-2010-xen",
    "system": SYSTEM,
    "tool": "iometer",
    "samples": [
        {
            "metric": "network throughput",
            "parameters": {"operation": "write"},
            "value": 13.08,
            "unit": "MB/s",
        }
    ],
}
EXAMPLE = OpenApiExample("One network run", value=RUN, request_only=True)
RAW = {
    "key": "0b0f6f4e-8f0e-4a55-9a0c-5f6b7c8d9e0f",
    "study": "lmu-2010-xen",
    "system": SYSTEM,
    "output": " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec",
}
RAW_EXAMPLE = OpenApiExample("What hdparm printed", value=RAW, request_only=True)
LINE_EXAMPLE = OpenApiExample(
    "One line", value=RUN, request_only=True, media_type="application/x-ndjson"
)


class SampleInput(StrictSerializer):
    """One measured number."""

    metric = Text(max_length=100)
    parameters = SmallMap(
        required=False, help_text="Block size, threads, operation, access, ..."
    )
    value = Number()
    unit = Text(
        max_length=20,
        allow_blank=True,
        help_text="Any unit that converts to the metric's; empty for a plain count.",
    )
    repetition = WholeNumber(required=False, min_value=1, max_value=MAX_REPETITION)


class RunInput(StrictSerializer):
    """One execution of one tool on one system, or the raw output of one or several.

    With `samples` the numbers are yours; with `output` the text is kept and read here.
    """

    key = UUIDText(
        help_text="Made by the agent, once per run: sending it again is safe."
    )
    study = Slug(help_text="The slug of a study of the lab.")
    system = SystemField()
    tool = Text(
        required=False,
        max_length=100,
        help_text="A tool's slug or title, or your lab's own tool's. Raw output says "
        "itself whose it is; a file of an own tool's samples does not.",
    )
    samples = ListOf(
        required=False, child=SampleInput(), min_length=1, max_length=MAX_SAMPLES
    )
    output = Printed(
        required=False,
        help_text="Instead of samples: what the tool printed, as it was printed. "
        "Several results in it become several runs.",
    )
    locale = Text(
        required=False,
        max_length=200,
        help_text="With output; de_DE for example: only then a decimal comma is read.",
    )
    tool_version = Text(required=False, allow_blank=True, max_length=100)
    scenario = Choice(choices=SCENARIOS, required=False)
    vms = WholeNumber(required=False, allow_null=True, min_value=0, max_value=MAX_VMS)
    slot = Text(
        required=False,
        allow_blank=True,
        max_length=20,
        help_text="Which of the VMs: 1, 2, ..., or sum, mean, all, host.",
    )
    load = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="What else kept the machine busy.",
    )
    corun = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A name shared by the runs that ran together.",
    )
    session = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A name shared by the runs done in one sitting.",
    )
    clock = Choice(
        choices=["", *CLOCKS],
        required=False,
        help_text="Whose clock timed it.",
    )
    started_at = Timestamp(required=False, allow_null=True)
    document = Text(required=False, allow_blank=True, max_length=300)
    table = Text(required=False, allow_blank=True, max_length=300)
    note = Text(required=False, allow_blank=True, multiline=True)
    facts = JSONObject(required=False, help_text="The state of the system at the time.")

    def validate(self, document: dict[str, Any]) -> dict[str, Any]:
        """Accept either samples with their tool, or output."""
        name = sentence = ""
        if "samples" in document and "output" in document:
            name, sentence = "output", "Send either samples or output, not both."
        elif "samples" not in document and "output" not in document:
            name = "samples"
            sentence = "This is missing. Send it, or what the tool printed as output."
        elif "samples" in document and "tool" not in document:
            name, sentence = "tool", "This is missing. Send it."
        elif "samples" in document and "locale" in document:
            name = "locale"
            sentence = "A locale belongs to output only; numbers have none."
        if name:
            raise serializers.ValidationError({name: [sentence]})
        return document


class _Sample(msgspec.Struct, forbid_unknown_fields=True):
    """A sample of the right types; `SampleInput` has the rules for its texts."""

    metric: str
    value: float
    unit: str
    parameters: msgspec.Raw = msgspec.Raw(b"{}")
    repetition: Annotated[int, msgspec.Meta(ge=1, le=MAX_REPETITION)] = 1


class _Samples(msgspec.Struct):
    samples: Annotated[
        list[_Sample], msgspec.Meta(min_length=1, max_length=MAX_SAMPLES)
    ]


# After any of these an upload is read again, by the rules that have the sentences.
DOUBTS: Final = (
    serializers.ValidationError,
    MalformedError,
    TooLargeError,
    msgspec.MsgspecError,
    KeyError,
    ValueError,
    TypeError,
    RecursionError,
)
_SAMPLES = msgspec.json.Decoder(_Samples)
_FIELDS = RunInput().fields


def read_upload(raw: bytes) -> Upload:
    """Return the upload that a JSON document holds.

    Raises MalformedError or TooLargeError, or ValidationError with all that is wrong.
    """
    with suppress(*DOUBTS):
        return _accept_by_parts(raw)
    document = read_object(raw, as_printed=("output",))
    checked(RunInput, document)
    return Upload.of(document)


def _accept_by_parts(raw: bytes) -> Upload:
    """Return an upload of samples; raise an error if a part needs a closer look."""
    samples = _SAMPLES.decode(raw).samples
    document = msgspec.json.decode(raw)
    _check_text(raw, str(document.get("key")))
    for name in VARYING:
        if name in document and name != "samples":
            _FIELDS[name].run_validation(document[name])
    check_values({"facts": document.get("facts")}, odd_text=False)
    context = {name: document[name] for name in document if name not in VARYING}
    _check_context(orjson.dumps(context))
    cases = [
        _case(document["tool"], sample.metric, sample.unit, bytes(sample.parameters))
        for sample in samples
    ]
    values = [sample.value for sample in samples]
    low, high = min(values), max(values)
    if not -TOO_LARGE < low <= high < TOO_LARGE:
        raise ValueError("a whole number may be too large")
    read = None
    known = [case for case in cases if case is not None]
    if len(known) == len(cases) and LEAST <= low <= high <= LARGEST:
        repetitions = [sample.repetition for sample in samples]
        read = ReadSamples(known, repetitions, values)
    upload = Upload.of(document, read)
    # Decoding drops all but the last of equal keys, so a repeated key loses a colon;
    # colons in texts stay, since `_check_text` refuses escapes. With 1 to 30 samples
    # counting takes 1 to 18 us, and an `object_pairs_hook` of `json` 21 to 92 us more.
    if raw.count(b":") != upload.text.count(":"):
        raise ValueError("a key stands twice")
    return upload


def _check_text(raw: bytes, key: str) -> None:
    """Raise an error if a text or a number is not what its decoded value shows."""
    # A UUID may look like the exponent of a tiny number.
    text = raw.replace(key.encode(), b"")
    is_plain = text.isascii() and b"\\" not in text and b"\x7f" not in text
    may_be_tiny = any(sign in text for sign in (b"0.00000000", b"e-", b"E-"))
    if (not is_plain and ODD_TEXT.search(text)) or (may_be_tiny and TINY.search(text)):
        raise ValueError("a text or a number needs a closer look")


@lru_cache(CONTEXTS_CACHED)
def _check_context(context: bytes) -> None:
    """Raise an error unless a document's other members are right."""
    rest = {"key": RUN["key"], "samples": RUN["samples"]}
    checked(RunInput, read_object(context) | rest)


@lru_cache(CASES_CACHED)
def _case(tool: str, metric: str, unit: str, parameters: bytes) -> SampleCase | None:
    """Return what samples of these texts measure, None if it is not known yet.

    ``parameters`` are as they were sent: as keys of the cache 1, 1.0 and true would be
    equal. Raises an error for texts that `SampleInput` refuses.
    """
    stated = read_object(parameters)
    checked(
        SampleInput,
        {"metric": metric, "unit": unit, "parameters": stated, "value": 1.0},
    )
    return known_case(tool, metric, unit, parameters)


class Line(NamedTuple):
    """An upload of several, and the number of its line, counted from 1."""

    number: int
    upload: Upload


def numbered_lines(body: bytes) -> list[tuple[int, bytes]]:
    """Return the lines of a body that are not blank, with their numbers."""
    lines = [
        (number, line)
        # Not splitlines, to which a lone \r ends a line: an editor counts otherwise.
        for number, line in enumerate(body.split(b"\n"), start=1)
        if line.strip(b" \t\r")
    ]
    if not lines:
        raise malformed("The body is empty. Send one JSON object per line.")
    if len(lines) > settings.BULK_LIMIT_LINES:
        raise too_large(
            f"The body has {len(lines):,} lines; at most "
            f"{settings.BULK_LIMIT_LINES:,} are taken at once. Split it."
        )
    return lines


def read_lines(lines: Iterable[tuple[int, bytes]]) -> list[Line]:
    """Return the upload of each line, or name every line that is wrong."""
    uploads: list[Line] = []
    unreadable: dict[int, Problem] = {}
    refused: dict[int, Problem] = {}
    for number, line in lines:
        try:
            uploads.append(Line(number, read_upload(line)))
        except (MalformedError, TooLargeError) as error:
            unreadable[number] = problem_of(error)
        except serializers.ValidationError as error:
            refused[number] = invalid(error.detail, "The line")
    # What is not JSON is told before what has the wrong shape.
    if problems := unreadable or refused:
        raise LinesRefusedError(problems)
    return uploads


class BulkRunSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField()
    id = serializers.IntegerField()
    key = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Run.Status.values)


class BulkSerializer(serializers.Serializer[Any]):
    """What became of each line; 202 means that all of them are stored."""

    accepted = serializers.IntegerField(help_text="Runs that are new.")
    repeated = serializers.IntegerField(help_text="Runs that were here already.")
    runs = BulkRunSerializer(many=True)


class BulkView(UploadView):
    """Uploads of many runs."""

    media_type = "application/x-ndjson"

    @extend_schema(
        summary="Upload many runs, all or none",
        description="At most 10,000 lines and 8 MB. One bad line refuses them all, "
        'and `fields` says what is wrong by `"line 17"`.',
        request={"application/x-ndjson": RunInput},
        responses={202: BulkSerializer},
        examples=[LINE_EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        agent = self.upload_token(request).agent
        lines = read_lines(numbered_lines(self.body(request)))
        submissions = submit_lines(agent, lines)
        repeated = sum(submission.repeated for submission in submissions)
        # Not by the serializer, which takes longer than storing the runs.
        runs = [
            {
                "line": line.number,
                "id": submission.run_id,
                "key": str(submission.key),
                "status": submission.status,
            }
            for line, submission in zip(lines, submissions, strict=True)
        ]
        shown = {
            "accepted": len(runs) - repeated,
            "repeated": repeated,
            "runs": runs,
        }
        return self.json_response(shown, HTTP_202_ACCEPTED)


def submit_lines(agent: Agent, lines: Sequence[Line]) -> list[Submission]:
    """Submit all lines; errors name the line, not its place among the runs."""
    try:
        return submit_uploads(agent=agent, uploads=[line.upload for line in lines])
    except BatchRefusedError as refused:
        raise LinesRefusedError(
            {
                lines[index].number: problem_of(error)
                for index, error in refused.problems.items()
            }
        ) from None
