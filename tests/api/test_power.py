"""POST and GET /power/: pieces of power logs go in, meters can be listed."""

import pytest

from benchmarks.models import PowerChunk
from tests.power_logs import WALL, chunk, power

LOG = power(range(5), begin=2, end=3)


def test_a_piece_is_kept_with_its_moments_on_the_servers_clock(api, host):
    answer = api.post("power/", chunk(LOG))

    assert answer.status_code == 202, answer.json()
    body = answer.json()
    # The machine's own clock is an hour ahead of this.
    assert body["first_at"] == "2026-11-06T21:20:00Z"
    assert body["last_at"] == "2026-11-06T21:20:04Z"
    assert PowerChunk.objects.get().sample_count == 5


def test_sending_it_again_is_safe(api, host):
    document = chunk(LOG)
    api.post("power/", document)

    again = api.post("power/", document)
    other = api.post("power/", {**document, "number": 2})

    assert (again.status_code, again.json()["is_repeated"]) == (200, True)
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")


def test_the_lab_lists_its_meters(api, reader, host):
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


def test_another_labs_machine_is_unknown(stranger, host):
    answer = stranger.post("power/", chunk(LOG))

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_host")


def test_a_meter_with_another_accuracy_needs_another_name(api, host):
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
def test_what_is_no_log_is_refused_in_words(api, host, changes, sentence):
    answer = api.post("power/", chunk(LOG) | changes)

    assert answer.status_code == 400
    assert sentence in str(answer.json()["fields"])
    assert not PowerChunk.objects.exists()


def test_reading_needs_no_query_for_each_meter(
    api, reader, host, django_assert_num_queries
):
    api.post("power/", chunk(LOG))
    api.post("power/", chunk(LOG, meter={**WALL, "name": "another"}))

    with django_assert_num_queries(2):
        assert len(reader.get("power/").json()["results"]) == 2
