"""Fields accept values of the right type and reject similar ones."""

import pytest
from rest_framework.serializers import ValidationError

from api.kit.composite_fields import (
    JSONObject,
    ListOf,
    ScalarMap,
    StrictSerializer,
    validate_document,
)
from api.kit.errors import error_summary, flatten_errors
from api.kit.fields import (
    Choice,
    Number,
    Pattern,
    Slug,
    Text,
    Timestamp,
    UUIDText,
    WholeNumber,
)

UUID = "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"
TYPES = [None, True, 1, 1.5, "x", [1], {"a": 1}]


class Inner(StrictSerializer):
    value = Number()


class Outer(StrictSerializer):
    name = Text(required=False, max_length=10)
    samples = ListOf(child=Inner(), min_length=1, max_length=3, required=False)
    count = WholeNumber(required=False, min_value=1)


def problems(shape, document):
    with pytest.raises(ValidationError) as refused:
        validate_document(shape, document)
    return flatten_errors(refused.value.detail)


def refusal(field, value):
    with pytest.raises(ValidationError) as refused:
        field.run_validation(value)
    (sentence,) = flatten_errors(refused.value.detail).values()
    return sentence[0]


@pytest.mark.parametrize("value", [0, 1, -5, 0.5, 1e300, -0.0, 2**62])
def test_numbers_are_json_numbers(value):
    assert Number().run_validation(value) == value


@pytest.mark.parametrize(
    "value",
    [True, False, None, "12", " 12 ", "1_000", "١٢", "1,5", "", "NaN", [1], {}],
)
def test_other_values_are_not_numbers(value):
    assert "may not be null" in (says := refusal(Number(), value)) or (
        says.startswith("Send a JSON number, not ")
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e-320])
def test_numbers_are_finite_and_not_subnormal(value):
    assert refusal(Number(), value)


@pytest.mark.parametrize("value", [True, "1", 1.0, 1.5, None, [1], 2**63])
def test_other_values_are_not_integers(value):
    assert refusal(WholeNumber(), value)


@pytest.mark.parametrize(
    "value",
    [1, True, None, ["x"], {}, " x", "x ", "x\n", "a\tb", "", "a\u202eb", "x" * 11],
)
def test_other_values_are_not_text(value):
    assert refusal(Text(max_length=10), value)


def test_text_is_unchanged():
    assert Text().run_validation("Überlast  测试") == "Überlast  测试"
    assert Text(multiline=True).run_validation(" a\n\tb ") == " a\n\tb "


@pytest.mark.parametrize("value", ["a b", "a/b", "ä", "a\n", "../x", "x" * 101])
def test_other_values_are_not_slugs(value):
    assert refusal(Slug(), value)


def test_pattern_errors_show_examples():
    assert refusal(Pattern(r"\d{4}", "2010"), "MMX") == "Send a text such as 2010."


@pytest.mark.parametrize(
    "value",
    [UUID.replace("-", ""), f"{{{UUID}}}", f"urn:uuid:{UUID}", f"{UUID} ", 5, None, ""],
)
def test_other_values_are_not_uuids(value):
    assert refusal(UUIDText(), value)


@pytest.mark.parametrize(
    "value", ["2010-07-29T12:00:00Z", "2010-07-29T12:00:00.123456+02:00"]
)
def test_timestamps_have_a_time_zone(value):
    assert Timestamp().run_validation(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "2010-07-29T12:00:00",
        "2010-07-29",
        "2010-07-29 12:00:00Z",
        "2010-13-29T12:00:00Z",
        "2010-02-30T12:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2010-07-29T12:00:00+99:00",
        "٢٠١٠-07-29T12:00:00Z",
        1280404800,
        None,
    ],
)
def test_other_values_are_not_timestamps(value):
    assert refusal(Timestamp(), value)


@pytest.mark.parametrize("value", [True, "32", 32.0, 16, None])
def test_choices_have_the_same_type(value):
    assert refusal(Choice(choices=[32, 64]), value)


def test_maps_contain_scalars():
    given = {"block size": "4k", "threads": 4, "ratio": 0.5, "direct": True}

    assert ScalarMap().run_validation(given) == given


@pytest.mark.parametrize(
    "value",
    [
        {"a": None},
        {"a": []},
        {"a": {}},
        {"": 1},
        {" a": 1},
        {"k" * 101: 1},
        {"a": "x" * 1001},
        {"a\u202e": 1},
        {f"k{number}": 1 for number in range(101)},
        [],
        "a=1",
    ],
    ids=str,
)
def test_maps_reject_other_values(value):
    assert refusal(ScalarMap(), value)


def test_objects_are_limited_in_size():
    assert refusal(JSONObject(), {"dmesg": "x" * 300_000})
    assert refusal(JSONObject(), [1])


@pytest.mark.parametrize("value", ["abc", {"0": {}}, {"value": 1}, 1, True])
def test_other_values_are_not_lists(value):
    assert problems(Outer, {"samples": value})["samples"][0].startswith("Send a list")


def test_unknown_keys_get_a_suggestion():
    assert problems(Outer, {"smaples": []}) == {
        "smaples": ["This is not a known field. Did you mean samples?"]
    }


def test_errors_have_a_path():
    found = problems(Outer, {"samples": [{"value": 1}, {"value": "2", "uint": "s"}]})

    assert list(found) == ["samples[1].uint"]


def test_several_errors_are_reported_at_once():
    found = problems(Outer, {"samples": [{"value": "1"}, {}], "count": 0, "name": 3})

    assert found == {
        "name": ["Send text, not a number."],
        "samples[0].value": ["Send a JSON number, not text."],
        "samples[1].value": ["This is missing. Send it."],
        "count": ["Send a number of at least 1."],
    }
    assert error_summary(found, "The request") == (
        "The request has 4 problems. The first is name: Send text, not a number."
    )


@pytest.mark.parametrize("value", [value for value in TYPES if value != {"a": 1}])
def test_other_values_are_not_objects(value):
    assert "" in problems(Outer, value)
