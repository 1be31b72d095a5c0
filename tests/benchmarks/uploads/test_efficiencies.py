"""Choice of baselines, and updates of dependent cells."""

from functools import partial
from random import Random

import pytest

from benchmarks.maintenance.deletion import delete_uploads
from benchmarks.models import (
    Cell,
    Efficiency,
    Host,
    Job,
    Run,
    Study,
)
from benchmarks.studies.saving import update_study
from benchmarks.uploads import intake, processing
from benchmarks.uploads.efficiencies import (
    recompute_efficiencies,
    recompute_outdated,
    recompute_study_efficiencies,
)
from benchmarks.uploads.load_baseline_candidates import (
    cells_of_other_studies,
    cells_of_studies,
)
from tests import job_queue


def stored_efficiency(run_id: int) -> Efficiency:
    """The efficiency of the only cell of a run."""
    return Efficiency.objects.get(cell__system__runs=run_id)


def test_vm_is_compared_with_its_native_cell(submit, run_document, xen):
    _, vm = submit(run_document(52.97), run_document(13.08, system=xen))

    efficiency = stored_efficiency(vm.run_id)

    assert efficiency.state == "paired"
    assert efficiency.ratio == pytest.approx(13.08 / 52.97)
    assert (efficiency.baseline_mean, efficiency.baseline_n) == (52.97, 1)


def test_missing_baseline_has_a_reason(submit, run_document, xen):
    (vm,) = submit(run_document(13.08, system=xen))

    efficiency = stored_efficiency(vm.run_id)

    assert (efficiency.state, efficiency.ratio) == ("missing", None)
    assert "No native 32-bit run of" in efficiency.reason


def test_cells_with_a_changed_baseline_are_recomputed(submit, run_document, xen):
    _, vm = submit(run_document(50.0), run_document(25.0, system=xen))

    submit(run_document(100.0))

    efficiency = stored_efficiency(vm.run_id)
    assert efficiency.ratio == pytest.approx(25 / 75)
    assert efficiency.baseline_n == 2


def test_later_native_run_becomes_the_baseline(submit, run_document, xen):
    (vm,) = submit(run_document(25.0, system=xen))

    submit(run_document(50.0))

    assert stored_efficiency(vm.run_id).ratio == 0.5


def test_study_without_native_runs_uses_its_reference_system(
    submit, run_document, xen, study
):
    hdd = {**xen, "options": {"storage": "HDD"}}
    ssd = {**xen, "options": {"storage": "SSD"}}
    slow, fast = submit(run_document(10.0, system=hdd), run_document(15.0, system=ssd))
    reference = stored_efficiency(slow.run_id).cell.system

    update_study(study=study, reference_system=reference.pk)

    assert stored_efficiency(slow.run_id).state == "reference"
    against = stored_efficiency(fast.run_id)
    assert (against.state, against.ratio) == ("relative", 1.5)


def test_a_system_may_have_another_reference_system_than_its_study(
    submit, run_document, xen, study
):
    old, new, changed = submit(
        *(
            run_document(mean, system={**xen, "options": {"setting": name}})
            for name, mean in (("old", 10.0), ("new", 11.0), ("changed", 12.1))
        )
    )
    systems = [
        stored_efficiency(run.run_id).cell.system_id for run in (old, new, changed)
    ]

    update_study(
        study=study,
        reference_system=systems[0],
        system_references={str(systems[2]): systems[1]},
    )

    assert stored_efficiency(old.run_id).state == "reference"
    assert stored_efficiency(new.run_id).ratio == pytest.approx(1.1)
    assert stored_efficiency(changed.run_id).ratio == pytest.approx(1.1)


@pytest.mark.parametrize("fact", ["host_kernel", "host_firmware"])
def test_baseline_with_another_kernel_or_firmware_is_stale(
    submit, run_document, xen, fact
):
    submit(
        run_document(50.0, facts={fact: "4.19"}),
        run_document(25.0, system=xen, facts={fact: "6.12"}),
    )

    against = Efficiency.objects.get(cell__system__hypervisor="Xen")
    assert (against.state, against.ratio) == ("stale", 0.5)
    assert "4.19 for the baseline, 6.12" in against.reason


def test_facts_stated_by_one_cell_only_are_not_a_difference(submit, run_document, xen):
    submit(
        run_document(50.0, facts={"host_kernel": "4.19"}),
        run_document(25.0, system=xen),
    )

    assert Efficiency.objects.get(cell__system__hypervisor="Xen").state == "paired"


def written(value, metric="throughput", unit="MB/s", **parameters):
    """A sample of iozone, by default with records of 4 KiB."""
    case = {"operation": "write", "record": "4 KiB", **parameters}
    return {"metric": metric, "parameters": case, "value": value, "unit": unit}


@pytest.fixture
def iozone(submit, run_document):
    """Upload one run of iozone with these samples."""

    def upload(*samples, **system):
        return submit(run_document(tool="iozone", system=system, samples=samples))

    return upload


def of_xen() -> Efficiency:
    return Efficiency.objects.get(cell__system__hypervisor="Xen")


@pytest.mark.parametrize("is_native_first", [True, False])
def test_reason_names_native_run_with_other_parameters(iozone, xen, is_native_first):
    near, far = written(50.0, record="64 KiB"), written(60.0, record="1 MiB")
    sides = [((near, far), {}), ((written(25.0),), xen)]
    for samples, system in sides if is_native_first else reversed(sides):
        iozone(*samples, **system)

    efficiency = of_xen()

    assert (efficiency.state, efficiency.ratio) == ("other_parameters", None)
    assert efficiency.baseline is None
    assert efficiency.reason == (
        "Parameters differ: baseline record=64 KiB, this system record=4 KiB."
    )


def test_reason_names_native_run_in_another_unit(iozone, xen):
    """`iozone -O` prints operations a second instead of a throughput."""
    iozone(written(25.0), **xen)
    iozone(written(900.0, metric="operation rate", unit="1/s"))

    efficiency = of_xen()

    assert (efficiency.state, efficiency.ratio) == ("unit_mismatch", None)
    assert efficiency.reason == ("Units differ: baseline 1/s, this system MB/s.")


def test_native_run_of_the_same_case_replaces_the_reason(iozone, xen):
    iozone(written(25.0), **xen)
    iozone(written(60.0, record="64 KiB"))

    iozone(written(50.0, record="4096 B"))

    assert (of_xen().state, of_xen().ratio) == ("paired", 0.5)


@pytest.mark.parametrize("is_first", [True, False])
def test_guest_without_bits_uses_native_cell_with_bits(iozone, xen, is_first):
    native = partial(iozone, written(50.0), guest_bits=64)
    if is_first:
        native()
    iozone(written(25.0), **{**xen, "guest_bits": None})
    if not is_first:
        native()

    assert (of_xen().state, of_xen().ratio) == ("paired", 0.5)


@pytest.mark.parametrize(
    "native", [{"host": "beta"}, {"guest_bits": 64}, {"hypervisor": "KVM"}]
)
def test_reason_ignores_native_runs_on_other_hosts(iozone, xen, lab, native):
    Host.objects.create(lab=lab, slug="beta")
    iozone(written(60.0, record="64 KiB"), **native)
    iozone(written(25.0), **xen)

    assert of_xen().state == "missing"


def test_reason_ignores_deleted_native_runs(iozone, xen):
    iozone(written(25.0), **xen)
    iozone(written(60.0, record="64 KiB"))
    cell = Cell.objects.get(system__hypervisor="native")
    assert of_xen().state == "other_parameters"

    cell.n = 0
    cell.save()
    recompute_efficiencies([cell])
    assert of_xen().state == "missing"
    cell.n = 1
    cell.save()
    recompute_efficiencies([cell])

    assert of_xen().state == "other_parameters"


def test_processing_similar_cases_again_changes_nothing(iozone, xen, study):
    iozone(written(25.0), **xen)
    iozone(written(60.0, record="64 KiB"))
    before = list(Efficiency.objects.order_by("pk").values())

    recompute_study_efficiencies(study)

    assert list(Efficiency.objects.order_by("pk").values()) == before


def test_guest_with_another_os_than_native_has_a_baseline(submit, run_document, xen):
    """Of a Debian guest, measured before its Ubuntu host was."""
    submit(run_document(25.0, system={**xen, "guest_os": "Debian 12"}))
    submit(run_document(50.0, system={"guest_os": "Ubuntu 22.04"}))

    assert (of_xen().state, of_xen().ratio) == ("paired", 0.5)
    assert of_xen().reason == (
        "Different operating systems: guest Debian 12, host Ubuntu 22.04."
    )

    submit(run_document(100.0, system={"guest_os": "Debian 12"}))

    assert (of_xen().state, of_xen().ratio) == ("paired", 0.25)
    assert "operating system" not in of_xen().reason


SHARE = "CPU utilization (network)"


def cell_of(**circumstances) -> Efficiency:
    return Efficiency.objects.get(**{f"cell__{k}": v for k, v in circumstances.items()})


def test_cpu_utilization_has_no_efficiency(submit, run_document, xen):
    def document(value, **changes):
        sample = {"metric": SHARE, "value": value, "unit": "%"}
        return {**run_document(value, **changes), "samples": [sample]}

    submit(document(2.4), document(37.8, system=xen))

    guest = cell_of(system__hypervisor="Xen")
    native = cell_of(system__hypervisor="native")
    assert (guest.state, guest.ratio, guest.baseline) == ("no_speed", None, None)
    assert "hypervisor's part is not included" in guest.reason
    assert (native.state, native.ratio) == ("no_speed", None)


@pytest.mark.parametrize(
    ("parameters", "native", "guest", "state"),
    [
        pytest.param({"time": "10"}, 10.2, 11.9, "no_speed", id="its option"),
        pytest.param({}, 10.0003, 10.0121, "no_speed", id="its clock"),
        pytest.param({}, 10.0003, 12.7, "paired", id="times that differ"),
        pytest.param({"events": "500"}, 10.0003, 10.0121, "paired", id="set work"),
    ],
)
def test_fixed_duration_has_no_efficiency(
    submit, run_document, xen, parameters, native, guest, state
):
    def document(value, **changes):
        stated = {"test": "cpu", **parameters}
        sample = {"metric": "total time", "value": value, "unit": "s"}
        sample["parameters"] = stated
        return {
            **run_document(value, **changes),
            "tool": "sysbench",
            "samples": [sample],
        }

    submit(document(native), document(guest, system=xen))

    assert cell_of(system__hypervisor="Xen").state == state


def together(run_document, xen, *values):
    return [
        run_document(
            value, system=xen, scenario="parallel", vms=len(values), slot=str(slot)
        )
        for slot, value in enumerate(values, start=1)
    ]


def test_slot_is_compared_with_a_single_run_of_its_system(submit, run_document, xen):
    submit(
        run_document(100.0),
        run_document(80.0, system=xen),
        *together(run_document, xen, 40.0, 20.0),
    )

    slot = cell_of(scenario="parallel", slot="2")
    assert (slot.state, slot.ratio) == ("slowdown", 0.25)
    assert slot.baseline == cell_of(system__hypervisor="Xen", slot="1", vms=1).cell


def test_only_the_sum_of_slots_is_compared_with_native(submit, run_document, xen):
    total = run_document(90.0, system=xen, scenario="parallel", vms=2, slot="sum")
    submit(run_document(100.0), run_document(80.0, system=xen), total)

    scaling = cell_of(slot="sum")
    assert (scaling.state, scaling.ratio) == ("scaling", 0.9)


def test_slot_without_single_run_has_a_reason(submit, run_document, xen):
    submit(run_document(100.0), *together(run_document, xen, 40.0, 20.0))

    slot = cell_of(slot="2")
    assert (slot.state, slot.ratio) == ("missing", None)
    assert "with one VM alone" in slot.reason


def test_reason_of_slot_mentions_results_with_a_ratio(submit, run_document, xen):
    total = run_document(60.0, system=xen, scenario="parallel", vms=2, slot="sum")
    other = {**xen, "options": {**xen.get("options", {}), "guest_tools": "installed"}}
    submit(run_document(100.0), *together(run_document, xen, 40.0, 20.0))
    assert "shown relative to the native machine" not in cell_of(slot="2").reason

    submit(total)
    submit(run_document(80.0, system=other))

    slot = cell_of(slot="2")
    assert (slot.state, slot.ratio) == ("missing", None)
    assert (
        "The sum over all VMs is shown relative to the native machine." in slot.reason
    )
    assert "1 system with the same hypervisor and guest ran it alone" in slot.reason


def test_slots_are_recomputed_after_a_new_single_run(submit, run_document, xen):
    submit(*together(run_document, xen, 40.0, 20.0))

    submit(run_document(80.0, system=xen))

    assert cell_of(slot="2").ratio == 0.25


def test_efficiencies_of_older_rules_are_recomputed_once(
    submit, run_document, xen, study
):
    submit(
        run_document(100.0),
        run_document(80.0, system=xen),
        *together(run_document, xen, 40.0, 20.0),
    )
    Job.objects.all().delete()
    # As in an older installation.
    native = cell_of(system__hypervisor="native").cell
    of_slots = Efficiency.objects.filter(cell__scenario="parallel")
    of_slots.update(state="paired", ratio=0.2, baseline=native)
    Study.objects.update(efficiency_rules=0)

    assert recompute_outdated() == 1
    assert set(of_slots.values_list("state", "ratio")) == {
        ("slowdown", 0.5),
        ("slowdown", 0.25),
    }
    assert Job.objects.filter(kind="check", study=study).exists()
    assert recompute_outdated() == 0


def test_spelling_of_options_does_not_change_the_case(submit, run_document, xen):
    sample = {"metric": "throughput", "value": 50.0, "unit": "MB/s"}
    native = {**sample, "parameters": {"operation": "read", "args": "--bs=1M"}}
    guest = {**sample, "parameters": {"operation": "read", "block": "1024K"}}
    submit(run_document(tool="fio", samples=[native]))
    submit(run_document(tool="fio", system=xen, samples=[{**guest, "value": 25.0}]))

    assert (of_xen().state, of_xen().ratio) == ("paired", 0.5)
    assert of_xen().cell.case.parameters == {"operation": "read", "block": "1 MiB"}


def test_uploads_with_cpu_costs_are_processed_again(submit, run_document, study):
    (submission,) = submit(run_document(100.0))
    Study.objects.update(efficiency_rules=0)

    recompute_outdated()

    assert job_queue.waiting("upload").get().subject_id == submission.run_id


def test_runs_of_two_labs_in_one_batch_stay_separate(
    agent, other_agent, other_lab, run_document, xen
):
    """Both labs have a machine of the same name."""
    Host.objects.create(lab=other_lab, slug="alpha")
    Study.objects.create(lab=other_lab, slug="theirs", title="Theirs")
    theirs = run_document(99.0, study="theirs")
    intake.submit_runs(agent=agent, documents=[run_document(25.0, system=xen)])
    intake.submit_runs(agent=other_agent, documents=[theirs])

    processing.process_due_uploads()

    assert Efficiency.objects.get(cell__study__slug="study").state == "missing"


def test_shared_study_uses_baselines_visible_to_its_viewers(
    submit, run_document, xen, lab, other_lab, study, private_study
):
    submit(run_document(study=private_study.slug), run_document(13.0, system=xen))
    update_study(study=study, visibility="private")
    guest = Efficiency.objects.get(cell__study=study)
    assert guest.baseline.study == private_study

    update_study(study=study, visibility="shared", shared_with=[other_lab.slug])
    guest.refresh_from_db()
    assert (guest.state, guest.baseline) == ("missing", None)

    submit(run_document(26.0))
    guest.refresh_from_db()
    assert (guest.ratio, guest.baseline.study) == (0.5, study)


def test_study_with_own_native_runs_uses_no_other_study(
    submit, run_document, xen, lab, study
):
    """Incremental updates give the same results as a full recomputation."""
    Study.objects.create(lab=lab, slug="other", title="Other")
    submit(run_document(26.0), run_document(13.0, system=xen))
    submit(run_document(13.0, system=xen, study="other"))
    lone = Efficiency.objects.get(cell__study__slug="other")
    assert lone.baseline.study == study

    submit(run_document(52.0, study="other"))
    submit(run_document(28.0))

    lone.refresh_from_db()
    assert (lone.ratio, lone.baseline.study.slug) == (0.25, "other")
    guest = Efficiency.objects.get(cell__study=study, state="paired")
    assert (guest.ratio, guest.baseline.study) == (pytest.approx(13 / 27), study)
    stored = list(Efficiency.objects.order_by("pk").values())
    for item in Study.objects.all():
        recompute_study_efficiencies(item)
    assert list(Efficiency.objects.order_by("pk").values()) == stored


def all_efficiencies():
    return list(Efficiency.objects.order_by("pk").values())


@pytest.mark.parametrize("seed", range(6))
def test_incremental_efficiencies_equal_a_full_recomputation(
    submit, run_document, xen, lab, study, private_study, seed
):
    """Studies share cases and machines, under some OSs and bits, public or not."""
    chance = Random(seed)
    Study.objects.create(lab=lab, slug="other", title="Other", visibility="public")
    Host.objects.create(lab=lab, slug="beta")
    slugs = [study.slug, "other", private_study.slug]
    run_ids = []
    for _ in range(12):
        documents = [
            run_document(
                round(chance.uniform(10, 99), 2),
                study=chance.choice(slugs),
                system={
                    "host": chance.choice(["alpha", "beta"]),
                    "guest_os": chance.choice(["Debian 12", "debian 12", "Windows"]),
                    "guest_bits": chance.choice([32, 64, None]),
                    **chance.choice([{}, xen]),
                },
            )
            for _ in range(chance.randint(1, 3))
        ]
        run_ids += [item.run_id for item in submit(*documents)]
        if chance.random() < 0.3:
            deleted = run_ids.pop(chance.randrange(len(run_ids)))
            runs = Run.objects.filter(pk=deleted)
            delete_uploads(lab=lab, runs=runs, actor="A person", reason="Wrong.")
        stored = all_efficiencies()
        for item in Study.objects.order_by("pk"):
            recompute_study_efficiencies(item)
        assert all_efficiencies() == stored


def test_other_studies_are_not_read_for_a_study_with_native_runs(
    submit, run_document, xen, lab
):
    for number in range(5):
        slug = f"study-{number}"
        Study.objects.create(lab=lab, slug=slug, title=slug, visibility="public")
        submit(
            run_document(50.0 + number, study=slug),
            run_document(40.0 + number, study=slug, system=xen),
        )
    places = {
        (cell.lab_id, cell.case_id, cell.study_id)
        for cell in Cell.objects.filter(study__slug="study-4")
    }

    own = cells_of_studies(places, set())
    natives = [cell for cell in own if cell.system.is_native]

    assert len(own) == 2
    assert cells_of_other_studies([], natives, {cell.study_id for cell in own}) == []


@pytest.mark.parametrize("is_native_first", [True, False])
def test_guest_uses_another_machine_of_the_same_model(
    submit, run_document, xen, lab, is_native_first
):
    facts = {"cpu": "Xeon 8259CL", "threads": 96, "provider": "AWS"}
    for slug in ("m5-metal", "m5-24xlarge"):
        Host.objects.create(lab=lab, slug=slug, facts={**facts, "product_family": "m5"})
    work = {
        "metric": "bogo op rate",
        "parameters": {"stressor": "cpu", "instances": 96},
        "unit": "1/s",
    }
    documents = [
        run_document(
            tool="stress-ng",
            samples=[{**work, "value": value}],
            system={**system, "host": host},
        )
        for value, system, host in (
            (50.0, {}, "m5-metal"),
            (49.0, {**xen, "vcpus": 96}, "m5-24xlarge"),
        )
    ]
    for document in documents if is_native_first else documents[::-1]:
        submit(document)

    efficiency = Efficiency.objects.get(cell__system__hypervisor="Xen")
    assert (efficiency.state, efficiency.ratio) == ("same_model", pytest.approx(0.98))
    assert "no machine ran both" in efficiency.reason
