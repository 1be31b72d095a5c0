"""Strict validation of query parameters."""

import pytest
from django.http import QueryDict
from rest_framework.serializers import ValidationError

from api.comparisons import ComparisonQuery
from api.kit.errors import flatten_errors
from api.kit.query_parameters import Cursor, Query, parse_query
from api.runs import RunQuery


def refusal(text, shape=RunQuery):
    with pytest.raises(ValidationError) as refused:
        parse_query(shape, QueryDict(text))
    return flatten_errors(refused.value.detail)


def test_declared_parameters_are_parsed():
    query = parse_query(
        RunQuery, QueryDict("study=lab/x&tool=Iometer&system=7&cursor=after-12")
    )

    assert query == {
        "study": "lab/x",
        "tool": "iometer",
        "system": 7,
        "cursor": Cursor(before=False, row_id=12),
    }


def test_hypervisors_are_accepted_in_any_spelling():
    query = parse_query(ComparisonQuery, QueryDict("hypervisor=esxi"))

    assert query == {"system__hypervisor": "VMware ESXi"}


@pytest.mark.parametrize(
    "text",
    [
        "page_size=0",
        "page_size=1001",
        "page_size=-1",
        "page_size=%2012",
        "page_size=1_0",
        "page_size=%D9%A1",
        "page_size=1e2",
        "page_size=",
        "page_size=" + "9" * 5000,
        "cursor=12",
        "cursor=after-",
        "cursor=after-" + "9" * 19,
        "cursor=%00",
        "status=done",
        "tool=nosuchtool",
        "system=native",
        "study=%00",
        "study=" + "x" * 200,
        "study=a%E2%80%AEb",
        "study=a&study=b",
    ],
)
def test_invalid_values_are_rejected(text):
    assert list(refusal(text)) == [text.partition("=")[0]]


def test_unknown_parameters_get_a_suggestion():
    assert refusal("studdy=x") == {"studdy": ["Unknown parameter. Did you mean study?"]}


def test_unknown_parameters_list_the_known_ones():
    (sentence,) = refusal("xyz=1")["xyz"]

    assert (
        "Known parameters: cursor, page_size, study, tool, status, system, session, "
        "key." in sentence
    )


def test_endpoints_without_parameters_say_so():
    assert refusal("x=1", Query) == {"x": ["This endpoint has no query parameters."]}


def test_a_reference_system_excludes_a_state():
    assert list(refusal("baseline=7&study=c&state=paired", ComparisonQuery)) == [
        "state"
    ]
    assert list(refusal("baseline=xen", ComparisonQuery)) == ["baseline"]
