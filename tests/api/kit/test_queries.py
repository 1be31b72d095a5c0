"""Query parameters are as strict as bodies."""

import pytest
from django.http import QueryDict
from rest_framework.serializers import ValidationError

from api.comparisons import ComparisonQuery
from api.kit.errors import flat_fields
from api.kit.queries import Cursor, Query, read_query
from api.runs import RunQuery


def refusal(text, shape=RunQuery):
    with pytest.raises(ValidationError) as refused:
        read_query(shape, QueryDict(text))
    return flat_fields(refused.value.detail)


def test_it_reads_what_a_view_declares():
    query = read_query(
        RunQuery, QueryDict("study=lab/x&tool=Iometer&system=7&cursor=after-12")
    )

    assert query == {
        "study": "lab/x",
        "tool": "iometer",
        "system": 7,
        "cursor": Cursor(before=False, place=12),
    }


def test_it_reads_a_hypervisor_in_any_spelling():
    query = read_query(ComparisonQuery, QueryDict("hypervisor=esxi"))

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
def test_it_refuses_a_bad_value(text):
    assert list(refusal(text)) == [text.partition("=")[0]]


def test_it_names_the_parameter_that_was_meant():
    assert refusal("studdy=x") == {
        "studdy": ["There is no such parameter. Did you mean study?"]
    }


def test_it_names_the_known_parameters():
    (sentence,) = refusal("xyz=1")["xyz"]

    assert (
        "Known are: cursor, page_size, study, tool, status, system, sitting, key."
        in sentence
    )


def test_it_says_that_there_are_none():
    assert refusal("x=1", Query) == {"x": ["This address takes no query parameters."]}


def test_a_reference_system_takes_no_state_beside_it():
    assert list(refusal("baseline=7&study=c&state=paired", ComparisonQuery)) == [
        "state"
    ]
    assert list(refusal("baseline=xen", ComparisonQuery)) == ["baseline"]
