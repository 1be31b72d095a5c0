"""Stored effects of a study's cells, for pages over all studies."""

from datetime import timedelta
from math import exp, log

import numpy as np
import pytest

from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.evidence.queries import (
    Question,
    evidence_matrix,
    study_averages,
)
from benchmarks.evidence.synthesis import synthesis
from benchmarks.maintenance.deletion import delete_study
from benchmarks.models import Cell, Effect, Flag, Host, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer
from tests.upload_documents import interleaved

NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
DISK = Question("Xen", "network-throughput-out")


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a machine natively and as a Xen guest, and check."""

    def measure(native=NATIVE, vm=SLOW, **changes):
        guest = {**changes, "system": {**xen, **changes.get("system", {})}}
        submit(
            *interleaved(
                (run_document(value, **changes) for value in native),
                (run_document(value, **guest) for value in vm),
            )
        )
        checking.check_due_studies(timedelta(0))

    return measure


def only_effect():
    return Effect.objects.get()


def test_an_effect_equals_the_ratio_of_the_study(measured, study):
    measured()

    effect = only_effect()
    assessment = study_verdicts(study).assessment(effect.cell_id)
    assert exp(effect.log_ratio) == pytest.approx(assessment.ratio)
    assert exp(effect.log_low) == pytest.approx(assessment.low)
    assert exp(effect.log_high) == pytest.approx(assessment.high)
    assert (effect.exclusion, effect.work_class) == ("", DISK.work_class)
    assert effect.variance > 0


def test_a_single_cell_machine_has_the_interval_of_its_study(measured, study):
    measured()

    (unit,) = evidence_matrix(ANYONE)[DISK].machines
    assessment = study_verdicts(study).assessment(only_effect().cell_id)
    assert [exp(end) for end in unit.interval] == pytest.approx(
        [assessment.low, assessment.high]
    )
    assert evidence_matrix(ANYONE)[DISK].pool.interval == unit.interval


def test_native_cells_have_no_effect(measured):
    measured()

    assert {effect.hypervisor for effect in Effect.objects.all()} == {"Xen"}


@pytest.mark.parametrize("runs", [1, 2])
def test_few_runs_have_a_ratio_and_no_variance(measured, runs):
    measured(NATIVE[:runs], SLOW[:runs])

    effect = only_effect()
    assert (effect.exclusion, effect.variance) == ("single_run", None)
    assert exp(effect.log_ratio) == pytest.approx(0.8, rel=0.01)


def test_a_missing_native_run_is_the_exclusion(measured):
    measured(native=())

    effect = only_effect()
    assert (effect.exclusion, effect.log_ratio) == ("no_native", None)


def test_bimodal_runs_are_anywhere_in_their_range(measured):
    vm = (80, 80.1, 120, 79.9, 80.2, 120.2, 80.1, 80.0, 119.8, 80.1, 79.9)
    measured(vm=vm)

    effect = only_effect()
    assert (effect.exclusion, effect.doubt) == ("", "no_steady_state")
    assert effect.variance > log(120.2 / 79.9) ** 2 / 12


def test_native_results_that_disagree_are_a_doubt(measured, submit, run_document, xen):
    def natives(values, **options):
        return (run_document(value, system={"options": options}) for value in values)

    guest = (run_document(0.13 * value, system=xen) for value in NATIVE)
    faster = natives((value * 1.06 for value in NATIVE), driver="new")
    submit(*interleaved(natives(NATIVE, driver="old"), faster, guest))
    checking.check_due_studies(timedelta(0))

    effect = only_effect()
    assert (effect.exclusion, effect.doubt) == ("", "baselines_disagree")
    assert exp(effect.log_ratio) == pytest.approx(0.13 / 1.06**0.5, rel=0.01)
    assert effect.variance == pytest.approx(log(1.06) ** 2 / 2, rel=0.05)


def test_repeated_runs_without_start_times_are_not_pooled(submit, run_document, xen):
    submit(
        *(run_document(value) for value in NATIVE),
        *(run_document(value, system=xen) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))

    assert only_effect().exclusion == "untimed"
    assert only_effect().log_ratio == pytest.approx(log(0.8), rel=0.01)


def test_emulation_is_excluded(measured, xen):
    measured(system={"options": {"accel": "tcg"}})

    effects = {effect.exclusion for effect in Effect.objects.all()}
    assert effects == {"emulation"}


def test_a_flag_is_a_doubt_until_dismissed(measured, study, person):
    measured(vm=[value * 1.6 for value in NATIVE])
    flag = Flag.objects.filter(cells__system__hypervisor="Xen").first()
    assert (only_effect().exclusion, only_effect().doubt) == ("", "flagged")
    assert only_effect().variance == pytest.approx(log(1.6) ** 2 / 2, rel=0.01)

    decide_flag(flag=flag, status="dismissed", note="It has a cache.", actor="carol")
    checking.check_due_studies(timedelta(0))

    assert (only_effect().exclusion, only_effect().doubt) == ("", "")
    assert only_effect().variance < 0.001


def test_a_second_check_writes_nothing(measured, study, django_assert_max_num_queries):
    measured()
    before = Effect.objects.values_list("pk", "log_ratio").get()

    checking.check_study(study)

    assert Effect.objects.values_list("pk", "log_ratio").get() == before


def test_new_runs_change_the_effect(measured, submit, run_document, xen):
    measured()
    before = only_effect().log_ratio

    submit(*interleaved(run_document(90.0, system=xen) for _ in range(6)))
    checking.check_due_studies(timedelta(0))

    assert only_effect().log_ratio > before


def test_the_matrix_and_the_question_agree(measured, lab):
    for slug, speed in (("a", 0.8), ("bb", 0.9), ("ccc", 0.85)):
        Host.objects.create(lab=lab, slug=slug)
        native, vm = (
            np.random.default_rng([len(slug), side]).normal(mean, 0.3, 6).tolist()
            for side, mean in enumerate((100.0, 100.0 * speed))
        )
        measured(native, vm, system={"host": slug})

    whole = evidence_matrix(ANYONE)[DISK]
    parts = [found.average for found in study_averages(ANYONE, DISK)]

    assert whole == synthesis(parts).summary
    assert whole.pool.machine_count == 3
    assert exp(whole.pool.mean) == pytest.approx(0.85, rel=0.01)


def test_private_effects_are_not_pooled_for_others(measured, study, lab):
    measured()
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    assert not evidence_matrix(ANYONE)
    assert not study_averages(ANYONE, DISK)
    assert evidence_matrix(Viewer(frozenset({lab.pk})))[DISK].machines


def test_an_average_has_its_cells_and_lab(measured, study):
    measured()
    update_study(study=study, institution="LMU Munich", published="2010-05")

    (found,) = study_averages(ANYONE, DISK)

    assert found.average.lab == "LMU Munich"
    assert found.decade == "2010s"
    assert found.cell_ids == (Cell.objects.get(system__hypervisor="Xen").pk,)
    assert found.lowest == pytest.approx(log(0.8), rel=0.05)


def test_a_deleted_study_is_not_pooled(measured, study):
    measured()

    delete_study(study=study, actor="carol", reason="It was a test.")

    assert not evidence_matrix(ANYONE)
