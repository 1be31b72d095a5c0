"""Requests made up from the OpenAPI document: what it promises is what happens."""

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


def served(environ: Any, start_response: Any) -> list[bytes]:
    """Answer and close the answer, as web servers do and test clients do not."""
    answer = application(environ, start_response)
    try:
        return list(answer)
    finally:
        answer.close()


# Every boundary value of every parameter: `every_boundary.py`.
some_values = schemathesis.openapi.from_wsgi("/api/v1/schema/", served)
some_values.config.phases.coverage.enabled = False
made_up = partial(
    settings,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

# What exists, put into requests that are otherwise right: they get past the names.
KNOWN = {"study": "study", "host": "alpha", "tool": "iometer", "slug": "study"}


@schemathesis.serializer("application/x-ndjson")
def as_one_line(context: Any, document: Any) -> bytes:
    """The document describes a line; a body of one is enough here."""
    return json.dumps(document).encode()


@schemathesis.serializer("application/gzip")
def as_bytes(context: Any, body: Any) -> bytes:
    """No bundle that anybody signed: it is refused."""
    return body if isinstance(body, bytes) else json.dumps(body, default=str).encode()


@pytest.fixture(autouse=True)
def one_connection() -> Iterator[None]:
    """Requests share the test's transaction, so they may not close its connection."""
    for signal in (signals.request_started, signals.request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (signals.request_started, signals.request_finished):
        signal.connect(close_old_connections)


@some_values.parametrize()
@made_up(max_examples=4)
def test_it_does_what_the_document_says(case, token, measured):
    assert_as_documented(case, token, measured[0].run_id)


def assert_as_documented(case: Any, token: str, run_id: int) -> None:
    """Send a request; fail if its answer differs from the document."""
    if case.meta.generation.mode == GenerationMode.POSITIVE:
        name_what_exists(case, run_id)

    # It raises what differs from the document, all at once.
    # A document cannot say which names exist and which characters a text may hold,
    # so what it allows may still be answered 400 or 422; all other checks hold.
    answer = case.call_and_validate(
        # It says that it takes gzip, and does not unpack it without a network.
        headers={"Authorization": f"Token {token}", "Accept-Encoding": "identity"},
        excluded_checks=[positive_data_acceptance],
    )

    assert answer.status_code < 500


def name_what_exists(case: Any, run_id: int) -> None:
    """Replace made-up names by known ones."""
    if "pk" in case.path_parameters:
        case.path_parameters["pk"] = run_id
    for named in (case.path_parameters, case.query, case.body):
        if isinstance(named, dict):
            named.update({name: KNOWN[name] for name in KNOWN.keys() & named.keys()})
    if isinstance(case.body, dict) and isinstance(case.body.get("system"), dict):
        case.body["system"]["host"] = KNOWN["host"]
