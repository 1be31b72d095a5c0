"""Uploads with valid but extreme values: no check fails, and no page returns 500."""

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
ENDPOINTS = (
    *("cells", "comparisons", "factor-effects", "coruns", "energy", "sweeps"),
    *("network", "trend", "profile", "publishing", "flags", "runs", "sessions"),
)
EXTREME_NUMBERS = (
    (52.1, 51.9, 5300.0, 5280.0),
    (2e-308,) * 12,
    (5e-324, 1.7e308, 5e-324, 1.7e308),
    (1.7e308,) * 12,
    (0.0,) * 4,
    (1e154, -1e154, 1e155, 3.0, 3.0),
)


def process_everything():
    """Do all work that the sweeper starts for an upload; return the failed jobs."""
    processing.process_due_uploads()
    check_due_studies(timedelta(0))
    integrate_due(timedelta(0))
    return list(job_queue.failed().values_list("kind", "error"))


def server_errors(api, client):
    """Request all pages and endpoints; return the status codes of server errors."""
    statuses = {page: client.get(STUDY + page).status_code for page in PAGES}
    cells = Cell.objects.values_list("pk", flat=True)
    statuses |= {pk: client.get(f"{STUDY}cells/{pk}/").status_code for pk in cells[:4]}
    for name in ENDPOINTS:
        statuses[name] = api.get(f"{name}/", study="study").status_code
    return {url: status for url, status in statuses.items() if status >= 500}


@pytest.fixture
def ask(client):
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("values", EXTREME_NUMBERS, ids=str)
def test_extreme_numbers_break_no_check_and_no_page(
    api, ask, run_document, xen, values
):
    for value in values:
        api.post("runs/", run_document(value))
        api.post("runs/", run_document(value, system=xen))

    assert process_everything() == []
    assert server_errors(api, ask) == {}


def test_evidence_with_huge_numbers_is_returned(api, study):
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
def test_extreme_clocks_break_no_energy_and_no_page(
    api, ask, host, run_document, facts
):
    api.post("power/", chunk(power(range(200))))
    assert Meter.objects.exists(), WALL
    api.post("runs/", run_document(facts=facts, started_at="2026-11-06T12:00:00Z"))

    assert process_everything() == []
    assert server_errors(api, ask) == {}


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
def test_random_finite_numbers_break_no_check_and_no_page(
    api, ask, run_document, xen, values
):
    for value in values:
        api.post("runs/", run_document(value))
        api.post("runs/", run_document(value, system=xen))

    assert process_everything() == []
    assert server_errors(api, ask) == {}
