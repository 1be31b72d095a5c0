"""Requests with every boundary value of every parameter (`make test-slow`).

pytest collects this file only if it is named as an argument, because this takes 4 s in
each process.
"""

import pytest
import schemathesis

from tests.api.test_schemathesis import (
    assert_as_documented,
    closing_application,
    example_settings,
    keep_connection,
)

__all__ = ["keep_connection"]

every_value = schemathesis.openapi.from_wsgi("/api/v1/schema/", closing_application)


@pytest.mark.slow
@every_value.parametrize()
@example_settings(max_examples=8)
def test_responses_match_the_document_at_every_boundary(case, token, measured):
    assert_as_documented(case, token, measured[0].run_id)
