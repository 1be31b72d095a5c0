"""Uploaded runs: their validation, and bulk uploads.

`RunInput` defines which uploads are valid and the error messages, but it takes several
milliseconds. Therefore `read_upload` first tries a faster way: msgspec checks the types
of the samples, and `RunInput` checks the other values, whose results are cached because
many uploads have the same ones. If this fails, `RunInput` checks the whole upload.
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

from api.kit.composite_fields import (
    JSONObject,
    ListOf,
    ScalarMap,
    StrictSerializer,
    validate_document,
)
from api.kit.errors import (
    LinesRejectedError,
    Problem,
    malformed_error,
    problem_from_exception,
    too_large_error,
    validation_problem,
)
from api.kit.fields import (
    Choice,
    Number,
    RawOutput,
    Slug,
    Text,
    Timestamp,
    UUIDText,
    WholeNumber,
)
from api.kit.strict_json import (
    SUBNORMAL_NUMBER,
    UNUSUAL_CHARACTERS,
    check_values,
    parse_json_object,
)
from api.kit.views import UploadView
from api.systems import EXAMPLE_SYSTEM, SystemField
from benchmarks.errors import BatchRejectedError, MalformedError, TooLargeError
from benchmarks.models import Agent, Run
from benchmarks.models.run import SCENARIOS
from benchmarks.parsing.tool import MAX_SAMPLE_VALUE
from benchmarks.uploads.intake import Upload, UploadReceipt, submit_uploads
from benchmarks.uploads.upload_parsing import (
    MIN_NORMAL_FLOAT,
    SampleCase,
    SampleColumns,
    cached_case,
)

MAX_SAMPLES = 10_000
MAX_VMS = 10_000
# The largest whole number that a double represents exactly.
MAX_OPERATIONS = 2**53 - 1
CLOCKS = ("external", "client", "meter", "guest", "local")
# The maximum of an integer in PostgreSQL.
MAX_REPETITION = 2**31 - 1
CONTEXT_CACHE_SIZE: Final = 1024
CASE_CACHE_SIZE: Final = 8192
# Keys of a document whose values differ in nearly every upload. All other keys and
# values together are its context, which many uploads share.
PER_RUN_MEMBERS: Final = (
    *("key", "samples", "started_at", "note", "facts"),
    *("failed", "errors", "operations"),
)
# A larger float may have been sent as a whole number, which does not fit into 64 bits.
MAX_EXACT_FLOAT: Final = 2.0**63

EXAMPLE_RUN = {
    "key": "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b",
    "study": "lmu-2010-xen",
    "system": EXAMPLE_SYSTEM,
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
RUN_EXAMPLE = OpenApiExample("One network run", value=EXAMPLE_RUN, request_only=True)
EXAMPLE_RAW_RUN = {
    "key": "0b0f6f4e-8f0e-4a55-9a0c-5f6b7c8d9e0f",
    "study": "lmu-2010-xen",
    "system": EXAMPLE_SYSTEM,
    "output": " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec",
}
RAW_EXAMPLE = OpenApiExample(
    "What hdparm printed", value=EXAMPLE_RAW_RUN, request_only=True
)
LINE_EXAMPLE = OpenApiExample(
    "One line", value=EXAMPLE_RUN, request_only=True, media_type="application/x-ndjson"
)


class SampleInput(StrictSerializer):
    """One measured number."""

    metric = Text(max_length=100, help_text="The name of the metric.")
    parameters = ScalarMap(
        required=False,
        help_text=(
            "The parameters of the benchmark, such as block size, threads, "
            "operation or access."
        ),
    )
    value = Number(help_text="The measured number.")
    unit = Text(
        max_length=20,
        allow_blank=True,
        help_text=(
            "The unit of the value, which must be convertible to the unit of the "
            "metric; empty for a plain number."
        ),
    )
    repetition = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_REPETITION,
        help_text="The number of the repetition within the run; the default is 1.",
    )
    runs = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_REPETITION,
        help_text=(
            "The number of runs whose mean the value is, if single runs are not "
            "known; missing for a measured value."
        ),
    )
    standard_deviation = Number(
        required=False,
        help_text=(
            "The standard deviation of these runs, in the unit of the value; missing "
            "if it is not published. Not that of iterations within a run."
        ),
    )


class RunInput(StrictSerializer):
    """One execution of one tool on one system: samples, or the output of the tool."""

    key = UUIDText(
        help_text=(
            "A UUID made by the agent for each upload; sending the same upload "
            "again is safe."
        )
    )
    study = Slug(help_text="The slug of a study of the lab.")
    system = SystemField(help_text="The id of a registered system, or its description.")
    tool = Text(
        required=False,
        max_length=100,
        help_text=(
            "The slug or title of the tool. It is required with samples, with files "
            "of a custom tool, and if the output does not name its tool."
        ),
    )
    samples = ListOf(
        required=False,
        child=SampleInput(),
        min_length=1,
        max_length=MAX_SAMPLES,
        help_text="The measured numbers, instead of `output`.",
    )
    output = RawOutput(
        required=False,
        help_text=(
            "The unmodified output of the tool, instead of `samples`. Several "
            "results in it become several runs."
        ),
    )
    locale = Text(
        required=False,
        max_length=200,
        help_text=(
            "The locale of the output, such as de_DE; required to read decimal commas."
        ),
    )
    part = Text(
        required=False,
        max_length=200,
        help_text=(
            "The part of the output to store, if it has results of several systems "
            "(a system of a Phoronix file, or a label such as VM). `/parse/` lists "
            "the parts. Send an upload for each part."
        ),
    )
    tool_version = Text(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="The version of the tool; empty if not stated.",
    )
    scenario = Choice(
        choices=SCENARIOS,
        required=False,
        help_text="What ran at the same time; the default is `single`.",
    )
    vms = WholeNumber(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_VMS,
        help_text="The number of VMs that ran at the same time; null if not stated.",
    )
    slot = Text(
        required=False,
        allow_blank=True,
        max_length=20,
        help_text=(
            "The VM that was measured (1, 2, ...), or an aggregate of all VMs "
            "(sum, mean, all, host)."
        ),
    )
    load = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The other work on the machine during the run.",
    )
    corun = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A name that all runs of a co-run share.",
    )
    session = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="A name that all runs of a session share.",
    )
    clock = Choice(
        choices=["", *CLOCKS],
        required=False,
        help_text="The clock that timed the run.",
    )
    started_at = Timestamp(
        required=False,
        allow_null=True,
        help_text="When the run started, with a time zone.",
    )
    document = Text(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="The document in which the number was published.",
    )
    table = Text(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="The table or page of that document.",
    )
    note = Text(
        required=False,
        allow_blank=True,
        multiline=True,
        help_text="A remark for people.",
    )
    failed = Text(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text=(
            'Why the work of the run failed, such as "stressor died"; empty or '
            "missing if it did not. A failed run is stored and shown, but results do "
            "not count it."
        ),
    )
    errors = WholeNumber(  # type: ignore[assignment]  # a field, not the property
        required=False,
        min_value=0,
        max_value=MAX_OPERATIONS,
        help_text=(
            "How many of the `operations` failed, such as requests without a good "
            "answer. Above 0.5%, the run has failed."
        ),
    )
    operations = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_OPERATIONS,
        help_text="How many operations the run attempted; required with `errors`.",
    )
    facts = JSONObject(
        required=False, help_text="The state of the system during the run."
    )

    def validate(self, document: dict[str, Any]) -> dict[str, Any]:
        name = sentence = ""
        if "samples" in document and "output" in document:
            name, sentence = "output", "Send either samples or output, not both."
        elif "samples" not in document and "output" not in document:
            name = "samples"
            sentence = "This is missing. Send samples, or the tool's output as output."
        elif "samples" in document and "tool" not in document:
            name, sentence = "tool", "This is missing. Send it."
        elif "samples" in document and "locale" in document:
            name = "locale"
            sentence = "Send a locale only with output; samples have none."
        elif "samples" in document and "part" in document:
            name = "part"
            sentence = "Send a part only with output; samples have none."
        elif problem := _count_problem(document):
            name, sentence = "errors", problem
        if name:
            raise serializers.ValidationError({name: [sentence]})
        return document


def _count_problem(document: dict[str, Any]) -> str:
    if ("errors" in document) != ("operations" in document):
        return "Send errors and operations together."
    if document.get("errors", 0) > document.get("operations", 0):
        return "This is more than operations, which counts all attempts."
    return ""


class _Sample(msgspec.Struct, forbid_unknown_fields=True):
    """A sample whose types are checked; `SampleInput` checks its texts."""

    metric: str
    value: float
    unit: str
    parameters: msgspec.Raw = msgspec.Raw(b"{}")
    repetition: Annotated[int, msgspec.Meta(ge=1, le=MAX_REPETITION)] = 1


class _Samples(msgspec.Struct):
    samples: Annotated[
        list[_Sample], msgspec.Meta(min_length=1, max_length=MAX_SAMPLES)
    ]


# After one of these errors, `RunInput` validates the upload and reports problems.
FALLBACK_ERRORS: Final = (
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
    """Parse and validate an upload.

    Raises MalformedError, TooLargeError, or ValidationError with all problems.
    """
    with suppress(*FALLBACK_ERRORS):
        return _fast_parse(raw)
    document = parse_json_object(raw, raw_text_fields=("output",))
    validate_document(RunInput, document)
    return Upload.from_document(document)


def _fast_parse(raw: bytes) -> Upload:
    """Return a valid upload of samples.

    Raises one of FALLBACK_ERRORS for all other uploads.
    """
    samples = _SAMPLES.decode(raw).samples
    document = msgspec.json.decode(raw)
    _check_text(raw, str(document.get("key")))
    for name in PER_RUN_MEMBERS:
        if name in document and name != "samples":
            _FIELDS[name].run_validation(document[name])
    if _count_problem(document):
        raise ValueError("the counts contradict each other")
    check_values({"facts": document.get("facts")}, has_unusual_text=False)
    context = {name: document[name] for name in document if name not in PER_RUN_MEMBERS}
    _check_context(orjson.dumps(context))
    cases = [
        _case(document["tool"], sample.metric, sample.unit, bytes(sample.parameters))
        for sample in samples
    ]
    values = [sample.value for sample in samples]
    low, high = min(values), max(values)
    if not -MAX_EXACT_FLOAT < low <= high < MAX_EXACT_FLOAT:
        raise ValueError("a whole number may be too large")
    read = None
    known_cases = [case for case in cases if case is not None]
    if (
        len(known_cases) == len(cases)
        and MIN_NORMAL_FLOAT <= low <= high <= MAX_SAMPLE_VALUE
    ):
        repetitions = [sample.repetition for sample in samples]
        read = SampleColumns(known_cases, repetitions, values)
    upload = Upload.from_document(document, read)
    # Find repeated keys. Decoding keeps only the last of equal keys and drops a colon.
    # Colons in texts are the same in both, because `_check_text` refuses escapes.
    if raw.count(b":") != upload.text.count(":"):
        raise ValueError("an object has a key twice")
    return upload


def _check_text(raw: bytes, key: str) -> None:
    """Raise ValueError if strict parsing might refuse or change a text or a number."""
    # Without the key, because a UUID may look like the exponent of a tiny number.
    text = raw.replace(key.encode(), b"")
    is_plain = text.isascii() and b"\\" not in text and b"\x7f" not in text
    may_be_tiny = any(sign in text for sign in (b"0.00000000", b"e-", b"E-"))
    if (not is_plain and UNUSUAL_CHARACTERS.search(text)) or (
        may_be_tiny and SUBNORMAL_NUMBER.search(text)
    ):
        raise ValueError("a text or a number must be checked strictly")


@lru_cache(CONTEXT_CACHE_SIZE)
def _check_context(context: bytes) -> None:
    """Raise an error unless the context of an upload is valid.

    The context is everything that many uploads have in common. It is checked together
    with the key and the samples of an example.
    """
    rest = {"key": EXAMPLE_RUN["key"], "samples": EXAMPLE_RUN["samples"]}
    validate_document(RunInput, parse_json_object(context) | rest)


@lru_cache(CASE_CACHE_SIZE)
def _case(tool: str, metric: str, unit: str, parameters: bytes) -> SampleCase | None:
    """Return the case of samples with these texts; None if the cache does not have it.

    ``parameters`` is JSON as it was sent, because the parsed values 1, 1.0 and true
    would be equal cache keys. Raises an error for texts that `SampleInput` refuses.
    """
    stated = parse_json_object(parameters)
    validate_document(
        SampleInput,
        {"metric": metric, "unit": unit, "parameters": stated, "value": 1.0},
    )
    return cached_case(tool, metric, unit, parameters)


class NumberedUpload(NamedTuple):
    """An upload and its line number, counted from 1."""

    number: int
    upload: Upload


def numbered_lines(body: bytes) -> list[tuple[int, bytes]]:
    lines = [
        (number, line)
        # Unlike editors, splitlines would also split at a single \r.
        for number, line in enumerate(body.split(b"\n"), start=1)
        if line.strip(b" \t\r")
    ]
    if not lines:
        raise malformed_error("The body is empty. Send one JSON object per line.")
    if len(lines) > settings.BULK_LIMIT_LINES:
        raise too_large_error(
            f"The body has {len(lines):,} lines; at most "
            f"{settings.BULK_LIMIT_LINES:,} are allowed. Split it into several uploads."
        )
    return lines


def read_lines(lines: Iterable[tuple[int, bytes]]) -> list[NumberedUpload]:
    """Return the upload of each line; raise LinesRejectedError for wrong lines."""
    uploads: list[NumberedUpload] = []
    malformed: dict[int, Problem] = {}
    invalid: dict[int, Problem] = {}
    for number, line in lines:
        try:
            uploads.append(NumberedUpload(number, read_upload(line)))
        except (MalformedError, TooLargeError) as error:
            malformed[number] = problem_from_exception(error)
        except serializers.ValidationError as error:
            invalid[number] = validation_problem(error.detail, "The line")
    if problems := malformed or invalid:
        raise LinesRejectedError(problems)
    return uploads


class BulkRunSerializer(serializers.Serializer[Any]):
    """A run of a bulk upload."""

    line = serializers.IntegerField(help_text="The number of the line, counted from 1.")
    id = serializers.IntegerField(help_text="The id of the run.")
    key = serializers.UUIDField(help_text="The upload key of the run.")
    status = serializers.ChoiceField(
        choices=Run.Status.values, help_text="The processing status of the run."
    )


class BulkSerializer(serializers.Serializer[Any]):
    """The result of a bulk upload. Status 202 means that all runs are stored."""

    accepted = serializers.IntegerField(help_text="The number of new runs.")
    repeated = serializers.IntegerField(
        help_text="The number of runs that were stored before."
    )
    runs = BulkRunSerializer(
        many=True, help_text="The runs in the order of their lines."
    )


class BulkView(UploadView):
    media_type = "application/x-ndjson"

    @extend_schema(
        summary="Upload many runs",
        description=(
            "Send one run per line, at most 10,000 lines and 8 MiB. If a line is "
            "wrong, nothing is stored, and `fields` of the error names the wrong "
            'lines ("line 17").'
        ),
        request={"application/x-ndjson": RunInput},
        responses={202: BulkSerializer},
        examples=[LINE_EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        agent = self.upload_token(request).agent
        lines = read_lines(numbered_lines(self.body(request)))
        submissions = submit_lines(agent, lines)
        repeated = sum(submission.repeated for submission in submissions)
        # A serializer would take longer than storing the runs.
        runs = [
            {
                "line": line.number,
                "id": submission.run_id,
                "key": str(submission.key),
                "status": submission.status,
            }
            for line, submission in zip(lines, submissions, strict=True)
        ]
        receipt = {
            "accepted": len(runs) - repeated,
            "repeated": repeated,
            "runs": runs,
        }
        return self.json_response(receipt, HTTP_202_ACCEPTED)


def submit_lines(agent: Agent, lines: Sequence[NumberedUpload]) -> list[UploadReceipt]:
    """Store the uploads of all lines, or none of them.

    Raises LinesRejectedError, which names the lines that cannot be stored.
    """
    try:
        return submit_uploads(agent=agent, uploads=[line.upload for line in lines])
    except BatchRejectedError as refused:
        raise LinesRejectedError(
            {
                lines[index].number: problem_from_exception(error)
                for index, error in refused.problems.items()
            }
        ) from None
