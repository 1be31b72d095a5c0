"""GET /energy/: published totals, and the energy of the work."""

from datetime import timedelta

import pytest

from benchmarks.power.meter_logs import integrate_due, store_power_chunk
from tests.power_logs import chunk, clock_of, power


@pytest.fixture
def metered(submit, run_document, xen):
    """Submit meter totals of two systems, and a reading that is not an energy.

    On the native system, the meter ran twice as long as the work.
    """
    for system in ({}, xen):
        shared = {"system": system, "corun": f"one on {system}"}
        samples = [
            {"metric": "energy", "value": 1000, "unit": "J"},
            {"metric": "meter time", "value": 10, "unit": "s"},
        ]
        submit(
            run_document(tool="watts-up", samples=samples, **shared),
            run_document(facts={"elapsed_s": 4 if system else 5}, **shared),
        )
    power = [{"metric": "power mean", "value": 90, "unit": "W"}]
    submit(run_document(tool="watts-up", samples=power))


def test_both_energies_have_ratios(anyone, metered):
    body = anyone.get("energy/", study="study", idle_w=60).json()

    (table,) = body["results"]
    native, vm = table["systems"]
    assert (native["meter_total_j"], native["energy_j"]) == (1000, 500)
    assert native["without_idle_j"] == 1000 - 60 * 5
    assert (vm["meter_total_ratio"], vm["energy_ratio"]) == (1, 0.8)
    assert table["reference_id"] == native["system_id"]


def test_unusable_readings_have_a_reason(anyone, metered):
    (reading,) = anyone.get("energy/", study="study").json()["not_assessed"]

    assert "not energy" in reading["reason"]


@pytest.fixture
def logged_runs(submit, run_document, agent):
    """Submit a power log and two runs, of which it covers two thirds and all."""
    submit(
        run_document(facts=clock_of(90, 120)), run_document(facts=clock_of(130, 140))
    )
    store_power_chunk(agent=agent, document=chunk(power(range(100, 200))))
    integrate_due(timedelta(0))


def test_runs_have_the_energy_of_power_logs(anyone, logged_runs):
    partly, whole = anyone.get("energy/", study="study").json()["runs"]

    assert (whole["host"], whole["meter"]) == ("alpha", "lab meter 2")
    assert (whole["energy_j"], whole["mean_w"]) == (820, 82)
    assert (whole["is_cpu_only"], whole["is_external_clock"]) == (False, True)
    assert (partly["energy_j"], partly["measured_s"]) == (None, 20)
    assert partly["message"] == (
        "10 s of the 30 s of the work (33%) were not measured, which is too much to "
        "calculate the energy."
    )


@pytest.mark.parametrize(
    "query",
    [{}, {"study": "study", "idle_w": "-1"}, {"study": "study", "x": 1}],
)
def test_invalid_queries_are_rejected(anyone, study, query):
    assert anyone.get("energy/", **query).status_code == 400


def test_query_count_is_fixed(anyone, metered, django_assert_num_queries):
    with django_assert_num_queries(6):
        anyone.get("energy/", study="study")
