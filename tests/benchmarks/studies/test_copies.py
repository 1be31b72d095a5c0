"""Copies of runs under other hosts and in other labs: counted once, and flagged."""

from datetime import timedelta

import numpy as np
import pytest

from benchmarks.evidence.queries import Question, evidence_matrix
from benchmarks.maintenance.deletion import delete_study
from benchmarks.models import Agent, Effect, Flag, Host, Lab, Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.uploads import intake, processing
from benchmarks.viewer import ANYONE, Viewer
from tests.upload_documents import interleaved, network_run

QUESTION = Question("Xen", "network-throughput-out")
XEN = {"hypervisor": "Xen", "hypervisor_version": "3.3"}


def readings(seed, mean, n=10):
    values = np.random.default_rng(seed).normal(mean, 0.01 * mean, n)
    return [round(value, 3) for value in values.tolist()]


NATIVE, GUEST = readings(1, 112.0), readings(2, 95.0)


def measured(lab, slug, native=NATIVE, guest=GUEST, **changes):
    """Upload a study with its own host, and check."""
    agent, _ = Agent.objects.get_or_create(lab=lab, name="sender")
    Host.objects.get_or_create(lab=lab, slug=f"{slug}-host")
    study = Study.objects.create(
        lab=lab, slug=slug, title=slug, **{"visibility": "public", **changes}
    )
    of_study = {"host": f"{slug}-host", "study": slug}
    documents = interleaved(
        (network_run(value, **of_study) for value in native),
        (network_run(value, **of_study, system=XEN) for value in guest),
    )
    intake.submit_runs(agent=agent, documents=documents)
    processing.process_due_uploads()
    check_all()
    return study


def check_all():
    while checking.check_due_studies(timedelta(0)):
        pass


def exclusions():
    effects = Effect.objects.order_by("study__slug")
    return dict(effects.values_list("study__slug", "exclusion"))


def copy_flags(study):
    return list(Flag.objects.current().filter(study=study, rule="copied-runs"))


@pytest.fixture
def labs(db):
    return [Lab.objects.create(slug=slug, name=slug) for slug in ("one", "other")]


def test_runs_under_other_hosts_count_once(labs):
    first = measured(labs[0], "first")
    for number in range(3):
        factor = 1 + number / 10_000
        measured(
            labs[0],
            f"second-{number}",
            [round(value * factor, 3) for value in NATIVE[::-1]],
            [round(value * factor, 3) for value in GUEST[::-1]],
        )

    assert exclusions() == {
        "first": "",
        "second-0": "copy",
        "second-1": "copy",
        "second-2": "copy",
    }
    assert evidence_matrix(ANYONE)[QUESTION].pool.machine_count == 1
    assert copy_flags(first) == []


def test_runs_rounded_to_three_digits_count_once(labs):
    native, guest = readings(1, 912.0), readings(2, 895.0)
    measured(labs[0], "first", native, guest)
    measured(labs[1], "second", *(list(map(round, side)) for side in (native, guest)))

    assert exclusions() == {"first": "", "second": "copy"}


def test_a_copy_has_a_flag_that_names_the_earlier_study(labs):
    first = measured(labs[0], "first")
    second = measured(labs[0], "second")

    [flag, *_] = copy_flags(second)
    assert flag.severity == "implausible"
    assert [study.slug for study in flag.quoted_studies.all()] == [first.slug]


def test_a_copy_of_another_lab_keeps_its_verdict(labs):
    first = measured(labs[0], "first")
    second = measured(labs[1], "second")

    assert {flag.severity for flag in copy_flags(second)} == {"check"}
    assert copy_flags(first) == []
    assert exclusions() == {"first": "", "second": "copy"}


def test_other_runs_of_a_copied_native_machine_are_of_one_machine(labs):
    measured(labs[0], "first")
    measured(labs[0], "second", guest=readings(7, 93.0))

    assert exclusions() == {"first": "", "second": ""}
    assert evidence_matrix(ANYONE)[QUESTION].pool.machine_count == 1


def test_other_runs_are_another_machine(labs):
    measured(labs[0], "first")
    measured(labs[1], "second", readings(7, 112.0), readings(8, 95.0))

    assert evidence_matrix(ANYONE)[QUESTION].pool.machine_count == 2


def test_a_private_study_of_another_lab_is_not_compared(labs):
    measured(labs[0], "first", visibility="private")
    second = measured(labs[1], "second")

    assert exclusions() == {"first": "copy", "second": ""}
    assert copy_flags(second) == []
    assert evidence_matrix(ANYONE)[QUESTION].pool.machine_count == 1
    own = evidence_matrix(Viewer(frozenset({labs[0].pk})))[QUESTION]
    assert own.pool.machine_count == 1


def test_a_study_that_becomes_public_is_the_earlier_one(labs):
    first = measured(labs[0], "first", visibility="private")
    second = measured(labs[1], "second")

    update_study(study=first, visibility="public")
    check_all()

    assert exclusions() == {"first": "", "second": "copy"}
    assert len(copy_flags(second)) == 2


def test_a_copy_counts_when_its_original_is_deleted(labs):
    first = measured(labs[0], "first")
    second = measured(labs[1], "second")

    delete_study(study=first, actor="carol", reason="A test.")
    check_all()

    assert exclusions() == {"second": ""}
    assert copy_flags(second) == []


def test_a_repeated_check_changes_nothing(labs):
    first = measured(labs[0], "first")
    second = measured(labs[1], "second")
    before = exclusions()

    for study in (first, second):
        checking.check_study(study)

    assert exclusions() == before
    assert not checking.check_due_studies(timedelta(0))
