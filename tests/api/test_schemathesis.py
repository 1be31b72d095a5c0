"""Requests generated from the OpenAPI document get the documented responses."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import schemathesis
from django.core import signals
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.checks import positive_data_acceptance

from config.wsgi import application


def closing_application(environ: Any, start_response: Any) -> list[bytes]:
    """Close each response, as web servers do and test clients do not."""
    answer = application(environ, start_response)
    try:
        return list(answer)
    finally:
        answer.close()


# `boundary_values.py` tests all boundary values of all parameters.
api_schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", closing_application)
api_schema.config.phases.coverage.enabled = False
example_settings = partial(
    settings,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

# Names of existing objects. Valid requests use them, so that more than names is tested.
KNOWN = {"study": "study", "host": "alpha", "tool": "iometer", "slug": "study"}


@schemathesis.serializer("application/x-ndjson")
def serialize_ndjson(context: Any, document: Any) -> bytes:
    """Return a body of one line, because the document describes a line."""
    return json.dumps(document).encode()


@schemathesis.serializer("application/gzip")
def serialize_gzip(context: Any, body: Any) -> bytes:
    """Return a body that is not a signed bundle, and is therefore rejected."""
    return body if isinstance(body, bytes) else json.dumps(body, default=str).encode()


@pytest.fixture(autouse=True)
def keep_connection() -> Iterator[None]:
    """Keep the connection open, because requests share the test's transaction."""
    for signal in (signals.request_started, signals.request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (signals.request_started, signals.request_finished):
        signal.connect(close_old_connections)


@api_schema.parametrize()
@example_settings(max_examples=4)
def test_responses_match_the_document(case, token, measured):
    assert_as_documented(case, token, measured[0].run_id)


def assert_as_documented(case: Any, token: str, run_id: int) -> None:
    """Send a request; fail unless the response is as documented."""
    if case.meta.generation.mode == GenerationMode.POSITIVE:
        use_known_names(case, run_id)

    # This raises all differences from the document. One check is excluded: a valid
    # request may return 400 or 422, because the document cannot state which names exist
    # and which characters are allowed.
    answer = case.call_and_validate(
        # The test client accepts gzip by default but does not unpack it.
        headers={"Authorization": f"Token {token}", "Accept-Encoding": "identity"},
        excluded_checks=[positive_data_acceptance],
    )

    assert answer.status_code < 500


def use_known_names(case: Any, run_id: int) -> None:
    """Replace generated names by those of existing objects."""
    if "pk" in case.path_parameters:
        case.path_parameters["pk"] = run_id
    for named in (case.path_parameters, case.query, case.body):
        if isinstance(named, dict):
            named.update({name: KNOWN[name] for name in KNOWN.keys() & named.keys()})
    if isinstance(case.body, dict) and isinstance(case.body.get("system"), dict):
        case.body["system"]["host"] = KNOWN["host"]
