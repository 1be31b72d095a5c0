"""Co-runs: slots, sums, fairness, targets, curves."""

import pytest

from benchmarks.comparison.coruns import study_coruns


@pytest.fixture
def slots(submit, run_document, xen, study):
    """Submit one co-run with a value per VM; return the study's only co-run."""

    def take(*values, vms=None, first=1, **changes):
        submit(
            *(
                run_document(
                    value,
                    system=xen,
                    scenario="parallel",
                    vms=vms or len(values),
                    slot=str(first + at),
                    **changes,
                )
                for at, value in enumerate(values)
            )
        )
        return study_coruns(study)

    return take


def is_linpack(run):
    return run["tool"] == "linpack"


def of(answer, label, vms, scenario="parallel"):
    (one,) = (
        each
        for each in answer.coruns
        if (each.slots.case.label, each.slots.vms, each.slots.scenario)
        == (label, vms, scenario)
    )
    return one


def test_slots_are_summed_and_have_a_fairness(slots):
    (corun,) = slots(10.0, 20.0, 30.0).coruns

    assert [slot.value for slot in corun.slots.slots] == [10, 20, 30]
    assert (corun.figures.sum, corun.figures.mean) == (60, 20)
    assert corun.figures.jain == pytest.approx(60**2 / (3 * 1400))
    assert corun.figures.jain_low is None


def test_a_missing_slot_is_reported_and_not_zero(slots):
    (corun,) = slots(10.0, 20.0, vms=3).coruns

    assert corun.slots.missing == ("3",)
    assert corun.figures.sum is None
    assert corun.figures.jain is None


def test_slots_may_count_from_0(slots):
    assert slots(10.0, 20.0, first=0).coruns[0].slots.missing == ()


def test_a_printed_sum_is_compared_with_the_recomputed_one(
    slots, submit, run_document, xen
):
    together = {"scenario": "parallel", "vms": 2, "system": xen}
    submit(run_document(45.0, slot="sum", **together))

    check = slots(10.0, 20.0).coruns[0].figures.sum_check

    assert (check.printed, check.recomputed) == (45, 30)
    assert check.sentence == (
        "The printed sum 45 is 50% more than the sum of the slots (30)."
    )


def test_repeated_coruns_give_fairness_an_interval(slots):
    for name, values in enumerate([(10, 20), (11, 19), (9, 22), (10, 21)]):
        coruns = slots(*map(float, values), corun=f"round {name}")

    figures = coruns.coruns[0].figures
    assert figures.corun_count == 4
    assert 0.5 < figures.jain_low < figures.jain < figures.jain_high < 1


def test_scaling_is_relative_to_one_vm(slots, submit, run_document, xen):
    submit(run_document(40.0, system=xen), run_document(50.0))
    corun = slots(15.0, 15.0).coruns[0]

    assert corun.figures.scaling == pytest.approx(0.75)
    assert corun.figures.scaling_to_native == pytest.approx(0.6)
    assert corun.figures.slowdown == pytest.approx(0.375)


def test_the_knee_is_where_more_vms_add_nothing(slots, submit, run_document, xen):
    submit(run_document(40.0, system=xen))
    slots(30.0, 30.0)
    (curve,) = slots(20.0, 20.0, 20.0).curves

    assert [point.sum for point in curve.consolidation.points] == [40, 60, 60]
    assert (curve.consolidation.knee, curve.consolidation.is_knee_observed) == (2, True)


@pytest.mark.parametrize(
    ("slug", "ideal", "lmu"),
    [("lmu-2010-esxi", 1.629, 1.0457), ("lmu-2010-xen", 1.3367, 0.9993)],
)
def test_the_lmu_target_hides_what_two_vms_already_lost(load_study, slug, ideal, lmu):
    """Three VMs on two cores: 521.07 s and 429.47 s; a single VM: 213.21 s and 214.2
    s."""
    study = load_study(slug, is_linpack)

    target = of(study_coruns(study), "Time · n=4000", 3).figures.target

    assert target.ideal_ratio == pytest.approx(ideal, abs=1e-3)
    assert target.full_load_ratio == pytest.approx(lmu, abs=1e-4)


def test_as_many_vms_as_cores_have_no_full_load_target(load_study):
    study = load_study("lmu-2010-xen", is_linpack)

    target = of(study_coruns(study), "Time · n=4000", 2).figures.target

    assert target.ideal_ratio == pytest.approx(1.3376, abs=1e-3)
    assert (target.full_load_s, target.full_load_ratio) == (None, None)


def test_without_known_vcpus_there_is_no_target_but_a_reason(load_study):
    study = load_study("heidelberg-2007-xen", lambda run: run["tool"] == "partdiff")

    corun = study_coruns(study).coruns[-1]

    assert corun.figures.target is None
    assert "vCPUs" in corun.figures.reasons[0]


def test_the_sums_of_the_esxi_study_are_not_those_of_its_slots(load_study):
    study = load_study(
        "lmu-2010-esxi",
        lambda run: run["tool"] == "ramspeed" and run["scenario"] == "parallel",
    )

    coruns = study_coruns(study)
    check = of(coruns, "Bandwidth · write · L2", 3).figures.sum_check

    assert (check.printed, round(check.recomputed, 2)) == (10888.15, 9458.98)
    assert of(coruns, "Bandwidth · read · RAM", 2).slots.missing == ("1",)
    assert of(coruns, "Bandwidth · read · RAM", 2).figures.is_sum_printed


def test_interference_is_relative_to_the_unloaded_rate(load_study):
    together = ("parallel", "disk and network combined", "under CPU load")
    study = load_study(
        "lmu-2010-xen",
        lambda run: run["tool"] == "iometer" and run["scenario"] in together,
    )

    coruns = study_coruns(study)
    combined = of(
        coruns, "Disk throughput · random read", 3, "disk and network combined"
    )
    loaded = of(coruns, "Disk throughput · random read", 3, "under CPU load")

    assert combined.figures.interference == pytest.approx(11.05 / 7.91)
    assert loaded.slots.missing == ()
    assert loaded.figures.sum is None
    assert loaded.figures.interference is None


def test_filters_limit_results_but_not_references(slots, study):
    slots(10.0, 10.0)

    narrowed = study_coruns(
        study, filters={"scenario": "parallel", "case__component": "network"}
    )

    assert len(narrowed.coruns) == 1
    assert not study_coruns(study, filters={"case__component": "CPU"}).coruns


def test_seven_queries_are_needed_without_native_cells(
    slots, study, django_assert_num_queries
):
    slots(10.0, 20.0)
    slots(10.0, 20.0, 30.0)

    with django_assert_num_queries(7):
        study_coruns(study)


@pytest.mark.parametrize("slot", ["²", "٣", "host", "all", "-1"])
def test_a_slot_without_a_number_is_not_a_vm(submit, run_document, study, slot):
    submit(run_document(5.0, scenario="parallel", vms=2, slot=slot))

    assert study_coruns(study).coruns == ()


def test_more_slots_than_vms_make_no_curve(slots):
    slots(10.0, 10.0, vms=2)
    coruns = slots(10.0, 10.0, 10.0, vms=1)

    assert coruns.curves == ()


def test_many_vms_of_which_one_was_reported(slots):
    (corun,) = slots(10.0, vms=300).coruns

    assert len(corun.slots.missing) == 299


def test_extreme_numbers_have_no_figures(slots):
    (corun,) = slots(1e100, 1e100).coruns

    assert corun.figures.jain is None
    assert "fairness index cannot be calculated" in corun.figures.reasons[0]


def test_an_extreme_single_vm_is_not_on_the_curve(slots, submit, run_document, xen):
    submit(run_document(3e-308, system=xen))
    slots(30.0, 30.0)
    (curve,) = slots(20.0, 20.0, 20.0).curves

    assert [point.vm_count for point in curve.consolidation.points] == [2, 3]
