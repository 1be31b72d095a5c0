"""What a cell's statement speaks of."""

from datetime import timedelta

import pytest

from benchmarks.models import Cell
from benchmarks.studies import checking

STUDY = "/studies/alpha-lab/study"
STEADY = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure native and Xen on the third of May; return the Xen cell."""

    def measure(values):
        for side, readings in (({}, STEADY), ({"system": xen}, values)):
            for minute, value in enumerate(readings):
                started = f"2026-05-03T10:{minute:02}:00Z"
                submit(run_document(value, started_at=started, **side))
        checking.check_due_studies(timedelta(0))
        return Cell.objects.get(system__hypervisor="Xen")

    return measure


@pytest.fixture
def said(client):
    return lambda address: client.get(f"{STUDY}/{address}").text


def test_a_verdict_names_its_session(measured, said):
    cell = measured([0.8 * value for value in STEADY])

    page = said(f"cells/{cell.pk}/")

    assert 'data-design="one_shared"' in page
    assert "in this session of 2026-05-03" in page
    assert "in this session of 2026-05-03" in said(f"compare/cell/?cell={cell.pk}")
