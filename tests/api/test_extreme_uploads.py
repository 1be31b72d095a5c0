"""Uploads that are legal and mad: no check dies of them, no page answers 500."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.models import Cell, Flag, Meter
from benchmarks.power.meter_logs import integrate_due
from benchmarks.studies.checking import check_due_studies
from benchmarks.uploads import processing
from tests import job_queue
from tests.power_logs import WALL, chunk, clock_of, power

STUDY = "/studies/alpha-lab/study/"
PAGES = (
    *("", "compare/", "compare/?scenario=all", "factor-effects/", "co-runs/"),
    *("energy/", "sweep/", "network/", "trend/", "runs/", "flags/", "report/"),
)
QUESTIONS = (
    *("cells", "comparisons", "factor-effects", "coruns", "energy", "sweeps"),
    *("network", "trend", "profile", "publishing", "flags", "runs", "sessions"),
)
MAD_NUMBERS = (
    (52.1, 51.9, 5300.0, 5280.0),
    (2e-308,) * 12,
    (5e-324, 1.7e308, 5e-324, 1.7e308),
    (1.7e308,) * 12,
    (0.0,) * 4,
    (1e154, -1e154, 1e155, 3.0, 3.0),
)


def sweep():
    """Do what the sweeper does with an upload; say what of it failed."""
    processing.process_due_uploads()
    check_due_studies(timedelta(0))
    integrate_due(timedelta(0))
    return list(job_queue.failed().values_list("kind", "error"))


def refused(api, client):
    """Say which address answers 500, after everything was asked for."""
    asked = {page: client.get(STUDY + page).status_code for page in PAGES}
    cells = Cell.objects.values_list("pk", flat=True)
    asked |= {pk: client.get(f"{STUDY}cells/{pk}/").status_code for pk in cells[:4]}
    for name in QUESTIONS:
        asked[name] = api.get(f"{name}/", study="study").status_code
    return {address: code for address, code in asked.items() if code >= 500}


@pytest.fixture
def ask(client):
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("values", MAD_NUMBERS, ids=str)
def test_numbers_stop_no_check_and_no_page(api, ask, run_document, xen, values):
    for value in values:
        api.post("runs/", run_document(value))
        api.post("runs/", run_document(value, system=xen))

    assert sweep() == []
    assert refused(api, ask) == {}


def test_evidence_that_postgresql_writes_out_in_full_is_answered(api, study):
    Flag.objects.create(
        lab=study.lab,
        study=study,
        rule="a-rule",
        severity="check",
        message="A doubt.",
        fingerprint="a doubt",
        evidence={"readings": [1.7e308, 3], "mean": -1.7e308},
    )

    answer = api.get("flags/", study="study")

    assert answer.status_code == 200
    [flag] = answer.json()["results"]
    assert flag["evidence"] == {"readings": [1.7e308, 3], "mean": -1.7e308}


CLOCK = clock_of(100, 130)["clock"]
FAR_US = 2**61


def clock_with(**stamp):
    return {"clock": {**CLOCK, "start": {**CLOCK["start"], **stamp}}}


CLOCKS = {
    "long execution": {"execution": {"local_us": 2**62}},
    "stamps long ago": clock_with(server_wall_us=-FAR_US),
    "stamps in a far future": clock_with(server_wall_us=FAR_US),
    "a monotonic clock far off": clock_with(server_monotonic_us=-FAR_US),
}


@pytest.mark.parametrize("facts", CLOCKS.values(), ids=CLOCKS)
def test_clocks_stop_no_energy_and_no_page(api, ask, host, run_document, facts):
    api.post("power/", chunk(power(range(200))))
    assert Meter.objects.exists(), WALL
    api.post("runs/", run_document(facts=facts, started_at="2026-11-06T12:00:00Z"))

    assert sweep() == []
    assert refused(api, ask) == {}


@pytest.mark.django_db
@settings(
    max_examples=5,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    values=st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from([0.0, 5e-324, 2e-308, 1e-154, 1e154, 1.7e308, 3.0]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_finite_numbers_stop_no_check_and_no_page(
    api, ask, run_document, xen, values
):
    for value in values:
        api.post("runs/", run_document(value))
        api.post("runs/", run_document(value, system=xen))

    assert sweep() == []
    assert refused(api, ask) == {}
