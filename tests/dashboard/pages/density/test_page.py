"""The page on the number of VMs that keep a limit."""

import json

import pytest

from benchmarks.models import Study
from benchmarks.studies.saving import update_study
from tests.custom_tools import boot_sample, declare, metric

RAMP = {1: (1.0,), 2: (1.4, 1.6), 4: (3.0, 4.9, 3.1, 3.2), 8: (5.0,) * 7 + (9.0,)}


@pytest.fixture
def measured(lab, agent, submit, run_document, xen):
    """Measure the latency of each VM while 1 to 8 run together."""
    declare(lab)

    def step(value, vms, slot):
        return run_document(
            system=xen,
            tool="boot-time",
            samples=[boot_sample(value)],
            scenario="parallel" if vms > 1 else "single",
            vms=vms,
            slot=str(slot),
        )

    submit(
        *(
            step(value, vms, slot)
            for vms, values in RAMP.items()
            for slot, value in enumerate(values, 1)
        )
    )


def test_the_worst_vm_decides_which_number_holds(client, measured):
    page = client.get("/density/?limit=5").content.decode()
    points = json.loads(client.get("/density.json").content)["points"]

    assert "4 VMs hold, 8 break" in page
    assert {point["vms"]: point["value"] for point in points} == {
        1: 1.0,
        2: 1.6,
        4: 4.9,
        8: 9.0,
    }


def test_the_default_limit_is_twice_the_time_of_one_vm(client, measured):
    page = client.get("/density/").content.decode()

    assert "2 VMs hold, 4 break" in page
    assert 'value="2"' in page


@pytest.mark.parametrize("limit", ["-1", "x", "nan", "inf", "0"])
def test_a_limit_that_is_not_a_number_above_0_is_named(client, measured, limit):
    page = client.get("/density/", {"limit": limit})

    assert page.status_code == 200
    assert "must be a number above 0" in page.content.decode()


def test_private_studies_are_not_shown_to_others(client, measured, study):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    assert study.title not in client.get("/density/").content.decode()
    assert client.get("/density.xls").status_code == 404


def test_the_memory_of_vms_is_compared_directly(
    client, agent, submit, run_document, lab, xen
):
    size = metric(name="resident set", unit="MiB", component="memory", work_class="")
    declare(lab, slug="vm-memory", metrics=[size])

    def run(value, system):
        sample = {"metric": "resident set", "value": value, "unit": "MiB"}
        return run_document(tool="vm-memory", samples=[sample], system=system)

    submit(*(run(value, xen) for value in (200, 202, 198)))
    submit(run(130, {"hypervisor": "Firecracker"}))

    (row,) = client.get("/density/").context["memory"]["rows"]

    values = [result["value"].split()[0] for result in row["results"]]
    assert values == ["130", "200.0"]
    assert [result["runs"] for result in row["results"]] == ["single run", "3 runs"]
