"""What a check keeps of a study's cells for pages that look over all studies."""

from datetime import timedelta
from math import exp, log

import numpy as np
import pytest

from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.evidence.reading import Question, evidence_matrix, evidence_parts
from benchmarks.evidence.synthesis import synthesis
from benchmarks.keeping.deletion import delete_study
from benchmarks.models import Cell, Effect, Flag, Host, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer

NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
DISK = Question("Xen", "network-throughput-out")


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a machine natively and as a Xen guest, and check."""

    def measure(native=NATIVE, vm=SLOW, **changes):
        submit(
            *(run_document(value, **changes) for value in native),
            *(
                run_document(value, **{**changes, "system": {**xen, **guest}})
                for guest in [changes.get("system", {})]
                for value in vm
            ),
        )
        checking.check_due_studies(timedelta(0))

    return measure


def only_effect():
    return Effect.objects.get()


def test_it_has_the_ratio_and_interval_that_the_study_shows(measured, study):
    measured()

    effect = only_effect()
    judgement = study_verdicts(study).of(effect.cell_id)
    assert exp(effect.log_ratio) == pytest.approx(judgement.ratio)
    assert exp(effect.log_low) == pytest.approx(judgement.low)
    assert exp(effect.log_high) == pytest.approx(judgement.high)
    assert (effect.obstacle, effect.work) == ("", DISK.work)
    assert effect.variance > 0


def test_a_machine_of_one_cell_has_the_interval_that_its_study_shows(measured, study):
    measured()

    (unit,) = evidence_matrix(ANYONE)[DISK].units
    judgement = study_verdicts(study).of(only_effect().cell_id)
    assert [exp(end) for end in unit.interval] == pytest.approx(
        [judgement.low, judgement.high]
    )
    assert evidence_matrix(ANYONE)[DISK].pool.interval == unit.interval


def test_native_cells_have_none(measured):
    measured()

    assert {effect.hypervisor for effect in Effect.objects.all()} == {"Xen"}


@pytest.mark.parametrize("runs", [1, 2])
def test_few_runs_have_a_ratio_and_no_variance(measured, runs):
    measured(NATIVE[:runs], SLOW[:runs])

    effect = only_effect()
    assert (effect.obstacle, effect.variance) == ("single_run", None)
    assert exp(effect.log_ratio) == pytest.approx(0.8, rel=0.01)


def test_without_a_native_run_it_says_so(measured):
    measured(native=())

    effect = only_effect()
    assert (effect.obstacle, effect.log_ratio) == ("no_native", None)


def test_two_speeds_are_no_steady_state(measured):
    vm = (80, 80.1, 120, 79.9, 80.2, 120.2, 80.1, 80.0, 119.8, 80.1, 79.9)
    measured(vm=vm)

    assert only_effect().obstacle == "no_steady_state"


def test_emulation_is_screened_out(measured, xen):
    measured(system={"options": {"accel": "tcg"}})

    effects = {effect.obstacle for effect in Effect.objects.all()}
    assert effects == {"emulation"}


def test_a_doubt_goes_in_and_out_with_its_decision(measured, study, person):
    measured(vm=[value * 1.6 for value in NATIVE])
    flag = Flag.objects.filter(cells__system__hypervisor="Xen").first()
    assert only_effect().obstacle == "flagged"

    decide_flag(flag=flag, status="dismissed", note="It has a cache.", who="carol")
    checking.check_due_studies(timedelta(0))

    assert only_effect().obstacle == ""


def test_a_second_check_writes_nothing(measured, study, django_assert_max_num_queries):
    measured()
    before = Effect.objects.values_list("pk", "log_ratio").get()

    checking.check_study(study)

    assert Effect.objects.values_list("pk", "log_ratio").get() == before


def test_new_runs_change_it(measured, submit, run_document, xen):
    measured()
    before = only_effect().log_ratio

    submit(*(run_document(90.0, system=xen) for _ in range(6)))
    checking.check_due_studies(timedelta(0))

    assert only_effect().log_ratio > before


def test_the_matrix_and_the_question_say_the_same(measured, lab):
    for slug, speed in (("a", 0.8), ("bb", 0.9), ("ccc", 0.85)):
        Host.objects.create(lab=lab, slug=slug)
        native, vm = (
            np.random.default_rng([len(slug), side]).normal(mean, 0.3, 6).tolist()
            for side, mean in enumerate((100.0, 100.0 * speed))
        )
        measured(native, vm, system={"host": slug})

    whole = evidence_matrix(ANYONE)[DISK]
    parts = [found.part for found in evidence_parts(ANYONE, DISK)]

    assert whole == synthesis(parts).summary
    assert whole.pool.k == 3
    assert exp(whole.pool.mean) == pytest.approx(0.85, rel=0.01)


def test_what_is_private_is_in_no_pool_of_others(measured, study, lab):
    measured()
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    assert not evidence_matrix(ANYONE)
    assert not evidence_parts(ANYONE, DISK)
    assert evidence_matrix(Viewer(frozenset({lab.pk})))[DISK].units


def test_a_part_names_its_cells_and_who_measured_them(measured, study):
    measured()
    update_study(study=study, institution="LMU Munich", published="2010-05")

    (found,) = evidence_parts(ANYONE, DISK)

    assert found.part.lab == "LMU Munich"
    assert found.decade == "2010s"
    assert found.cell_ids == (Cell.objects.get(system__hypervisor="Xen").pk,)
    assert found.lowest == pytest.approx(log(0.8), rel=0.05)


def test_a_deleted_study_is_in_no_pool(measured, study):
    measured()

    delete_study(study=study, who="carol", reason="It was a test.")

    assert not evidence_matrix(ANYONE)
