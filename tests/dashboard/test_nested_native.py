"""Warnings about native Windows runs on top of Hyper-V."""

import pytest

from benchmarks.hypervisor_names import VBS_FACT
from benchmarks.models import Cell, Run, System
from tests.dashboard.routes import TABS

STUDY = "/studies/alpha-lab/study/"
WARNING = "A native Windows system ran on its own hypervisor (VBS)."
BENEATH_IT = "hypervisor beneath"


@pytest.fixture
def measured(submit, run_document):
    """Submit a guest and a native run whose agent reported a layer below."""

    def state(said, **system):
        system = {"hypervisor": "native", **system}
        submit(
            run_document(50.0, system=system, facts={VBS_FACT: said}),
            run_document(48.0, system={"hypervisor": "Hyper-V"}),
        )
        return Cell.objects.get(system__hypervisor="Hyper-V")

    return state


@pytest.mark.parametrize("said", ["running", "running, with the Hyper-V role"])
def test_a_nested_baseline_is_reported_everywhere(text, measured, said):
    guest = measured(said)
    native = Run.objects.get(system__hypervisor="native")

    for tab in TABS:
        assert WARNING in text(STUDY + tab)
    assert WARNING in text(f"/runs/{native.pk}/")
    page = text(f"{STUDY}cells/{guest.pk}/")
    assert WARNING in page
    assert BENEATH_IT in page.casefold()


@pytest.mark.parametrize("said", ["off", "set, not running"])
def test_a_bare_metal_baseline_is_not_reported(text, measured, said):
    guest = measured(said)

    assert WARNING not in text(STUDY)
    assert BENEATH_IT not in text(f"{STUDY}cells/{guest.pk}/").casefold()


def test_comparability_with_a_nested_baseline_is_amber(client, measured):
    measured("running")

    rows = client.get("/api/v1/comparisons/", {"study": "alpha-lab/study"}).json()
    [row] = [result for result in rows["results"] if result["comparability"]]

    assert row["comparability"] == "limited"
    assert BENEATH_IT in row["comparability_reason"]


def test_nested_virtualization_is_detected_on_the_fast_path(submit, run_document):
    system = {"hypervisor": "native"}
    submit(run_document(50.0, system=system))
    assert not System.objects.get().is_nested

    submit(run_document(51.0, system=system, facts={VBS_FACT: "running"}))

    assert System.objects.get().is_nested
