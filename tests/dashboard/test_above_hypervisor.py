"""What a reader is told where a native Windows ran above its own hypervisor."""

import pytest

from benchmarks.models import Cell, Run, System
from benchmarks.platforms import BENEATH
from tests.dashboard.routes import TABS

STUDY = "/studies/alpha-lab/study/"
WARNING = "A native Windows ran above its own hypervisor (VBS)."
BENEATH_IT = "hypervisor beneath"


@pytest.fixture
def measured(submit, run_document):
    """A guest beside its machine, whose agent said what ran beneath."""

    def state(said, **system):
        system = {"hypervisor": "native", **system}
        submit(
            run_document(50.0, system=system, facts={BENEATH: said}),
            run_document(48.0, system={"hypervisor": "Hyper-V"}),
        )
        return Cell.objects.get(system__hypervisor="Hyper-V")

    return state


@pytest.mark.parametrize("said", ["running", "running, with the Hyper-V role"])
def test_a_baseline_above_a_hypervisor_is_told_of_everywhere(text, measured, said):
    guest = measured(said)
    native = Run.objects.get(system__hypervisor="native")

    for tab in TABS:
        assert WARNING in text(STUDY + tab)
    assert WARNING in text(f"/runs/{native.pk}/")
    page = text(f"{STUDY}cells/{guest.pk}/")
    assert WARNING in page
    assert BENEATH_IT in page.casefold()


@pytest.mark.parametrize("said", ["off", "set, not running"])
def test_a_baseline_with_nothing_beneath_is_not(text, measured, said):
    guest = measured(said)

    assert WARNING not in text(STUDY)
    assert BENEATH_IT not in text(f"{STUDY}cells/{guest.pk}/").casefold()


def test_the_light_of_such_a_pair_is_amber(client, measured):
    measured("running")

    rows = client.get("/api/v1/comparisons/", {"study": "alpha-lab/study"}).json()
    [row] = [each for each in rows["results"] if each["light"]]

    assert row["light"] == "amber"
    assert BENEATH_IT in row["light_sentence"]


def test_a_run_that_comes_the_short_way_tells_it_too(submit, run_document):
    system = {"hypervisor": "native"}
    submit(run_document(50.0, system=system))
    assert not System.objects.get().is_above_hypervisor

    submit(run_document(51.0, system=system, facts={BENEATH: "running"}))

    assert System.objects.get().is_above_hypervisor
