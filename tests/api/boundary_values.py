"""Requests with every boundary value of every parameter (`make test-slow`).

pytest collects this file only where it is named: that takes 4 s in each process.
"""

import pytest
import schemathesis

from tests.api.test_schemathesis import (
    assert_as_documented,
    made_up,
    one_connection,
    served,
)

__all__ = ["one_connection"]

every_value = schemathesis.openapi.from_wsgi("/api/v1/schema/", served)


@pytest.mark.slow
@every_value.parametrize()
@made_up(max_examples=8)
def test_it_does_what_the_document_says_at_every_boundary(case, token, measured):
    assert_as_documented(case, token, measured[0].run_id)
