"""/power/: chunks of power logs can be uploaded, and meters listed."""

import pytest

from benchmarks.models import PowerChunk
from tests.power_logs import WALL, chunk, power

LOG = power(range(5), begin=2, end=3)


def test_chunks_are_dated_by_the_time_servers_clock(api, host):
    answer = api.post("power/", chunk(LOG))

    assert answer.status_code == 202, answer.json()
    body = answer.json()
    # The local clock in the stamps is an hour ahead.
    assert body["first_at"] == "2026-11-06T21:20:00Z"
    assert body["last_at"] == "2026-11-06T21:20:04Z"
    assert PowerChunk.objects.get().sample_count == 5


def test_repeated_chunks_are_stored_once(api, host):
    document = chunk(LOG)
    api.post("power/", document)

    again = api.post("power/", document)
    other = api.post("power/", {**document, "number": 2})

    assert (again.status_code, again.json()["is_repeated"]) == (200, True)
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")


def test_labs_list_their_meters(api, reader, host):
    api.post("power/", chunk(LOG))
    api.post("power/", chunk(LOG, number=2, stamps=[], log=chunk(LOG)["key"]))

    (meter,) = reader.get("power/").json()["results"]

    assert (meter["host"], meter["name"], meter["kind"]) == (
        "alpha",
        "lab meter 2",
        "watts-up",
    )
    assert (meter["gain_error"], meter["is_cpu_only"]) == (0.015, False)
    assert (meter["chunk_count"], meter["unsynchronized_chunk_count"]) == (2, 1)


def test_hosts_of_other_labs_are_unknown(stranger, host):
    answer = stranger.post("power/", chunk(LOG))

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_host")


def test_accuracy_of_a_meter_cannot_change(api, host):
    api.post("power/", chunk(LOG))

    answer = api.post("power/", chunk(LOG, meter={**WALL, "gain_error": 0.1}))

    assert (answer.status_code, answer.json()["code"]) == (409, "meter_exists")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"samples": []}, "1 to 2,000"),
        ({"samples": "many"}, "a list of samples"),
        ({"samples": [[1, 2.0, 3.0]]}, "1 numbers"),
        ({"samples": [[1]]}, "one number per channel"),
        ({"samples": [[1, 2.0], [1, 2.0]]}, "not later than"),
        ({"samples": [[1.5, 2.0]]}, "whole number of microseconds"),
        ({"samples": [[1, -2.0]]}, "at least 0"),
        ({"samples": [[1, True]]}, "at least 0"),
        ({"samples": [[1 << 62, 1]]}, "not later than"),
        ({"channels": ["a", "a"], "samples": [[1, 2, 3]]}, "Name each channel once"),
        ({"total": ["psys"]}, "Name each channel once"),
        ({"axis": "sundial"}, "Send one of"),
        ({"meter": {"name": "x", "kind": "guess"}}, "Send one of"),
        ({"stamps": [{"clock": "x"}]}, "missing"),
        ({"watts": 1}, "not a known field"),
    ],
)
def test_invalid_chunks_get_a_message(api, host, changes, sentence):
    answer = api.post("power/", chunk(LOG) | changes)

    assert answer.status_code == 400
    assert sentence in str(answer.json()["fields"])
    assert not PowerChunk.objects.exists()


def test_query_count_is_independent_of_meters(
    api, reader, host, django_assert_num_queries
):
    api.post("power/", chunk(LOG))
    api.post("power/", chunk(LOG, meter={**WALL, "name": "another"}))

    with django_assert_num_queries(2):
        assert len(reader.get("power/").json()["results"]) == 2
