"""Partial checks against other studies give the same flags as full checks."""

import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.maintenance.deletion import delete_uploads
from benchmarks.models import Effect, Flag, Job, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.uploads.processing import reprocessing_jobs

AT_ONCE = timedelta(0)
STEPS = 14
# Native values that disagree, guests faster than native, and duplicates.
VALUES = (50.0, 50.0, 53.0, 75.0, 71.37, 400.0)


def stored():
    """All data written by checks, without ids."""
    flags = []
    for flag in Flag.objects.order_by("study", "fingerprint"):
        links = [
            sorted(getattr(flag, name).values_list("pk", flat=True))
            for name in ("cells", "runs", "quoted_studies")
        ]
        is_gone = flag.resolved_at is not None
        output = (flag.rule, flag.severity, str(flag.message), flag.evidence)
        about = (flag.fingerprint, flag.subjects, flag.status, is_gone)
        flags.append((flag.study_id, *output, *about, *links))
    effects = Effect.objects.order_by("pk").values()
    return flags, list(effects)


def check_all():
    while checking.check_due_studies(AT_ONCE):
        pass


@pytest.fixture
def act(submit, run_document, lab, study, xen):
    """Perform one of the actions of people and agents on a lab's studies."""
    studies = [
        study,
        Study.objects.create(lab=lab, slug="other", title="Other", visibility="public"),
        Study.objects.create(lab=lab, slug="hidden", title="Hidden"),
    ]

    def upload(dice):
        sides = [{}, {}, xen, {**xen, "hypervisor": "KVM"}]
        samples = [
            {
                "metric": "network throughput",
                "parameters": {"operation": operation},
                "value": dice.choice(VALUES),
                "unit": "MB/s",
            }
            for operation in dice.sample(("read", "write", "copy", "seek"), 3)
        ]
        submit(
            run_document(
                study=dice.choice(studies).slug,
                system=dice.choice(sides),
                samples=samples,
            )
        )

    def delete(dice):
        if runs := list(Run.objects.order_by("pk")):
            delete_uploads(
                lab=lab, runs=[dice.choice(runs)], actor="alice", reason="so"
            )

    def show(dice):
        one = Study.objects.get(pk=dice.choice(studies).pk)
        other = "public" if one.is_private else "private"
        update_study(study=one, actor="alice", visibility=other)

    def decide(dice):
        if flags := list(Flag.objects.filter(resolved_at=None).order_by("pk")):
            status = dice.choice((Flag.Status.CONFIRMED, Flag.Status.DISMISSED))
            decide_flag(
                flag=dice.choice(flags), status=status, note="Seen.", actor="bob"
            )

    return lambda dice: dice.choice((upload, upload, upload, delete, show, decide))(
        dice
    )


@pytest.mark.parametrize("seed", range(3))
def test_partial_check_finds_the_same_as_a_full_check(act, seed):
    dice = random.Random(seed)
    beside = rules = 0
    for _ in range(STEPS):
        act(dice)
        beside += Job.objects.filter(detail={"beside": True}).count()
        check_all()
        result = stored()
        rules = max(rules, len({flag[1] for flag in result[0]}))

        for study in Study.objects.order_by("pk"):
            checking.check_study(study)

        assert stored() == result
    assert beside > 3
    assert rules > 1


def test_partial_check_reads_no_runs(act, submit, run_document, study, monkeypatch):
    submit(run_document(50.0))
    check_all()
    submit(run_document(60.0, study="other"))
    total, beside = [], []
    check_study, check_beside = checking.check_study, checking.check_against_others
    monkeypatch.setattr(
        checking, "check_study", lambda one: (total.append(one.slug), check_study(one))
    )
    monkeypatch.setattr(
        checking,
        "check_against_others",
        lambda one: (beside.append(one.slug), check_beside(one)),
    )

    check_all()

    assert (total, beside) == (["other"], ["study"])
    assert Flag.objects.filter(study=study, rule="baselines-disagree").exists()


def test_unchanged_flags_are_not_written(submit, run_document, lab, study, xen):
    Study.objects.create(lab=lab, slug="other", title="Other", visibility="public")
    submit(*(run_document(value, system=xen) for value in VALUES))
    submit(run_document(50.0), run_document(75.0, study="other"))
    check_all()
    assert Flag.objects.filter(study=study, resolved_at=None).exists()

    with CaptureQueriesContext(connection) as queries:
        checking.check_against_others(study)

    words = {query["sql"].lstrip().split()[0] for query in queries}
    assert words == {"SELECT", "WITH", "SAVEPOINT", "RELEASE"}


def test_partial_check_waits_for_uploads_of_the_lab(act, submit, run_document):
    submit(run_document(50.0))
    check_all()
    submit(run_document(60.0, study="other"))
    [waiting] = reprocessing_jobs([Run.objects.order_by("pk").last()])
    waiting.save()

    assert checking.check_due_studies(AT_ONCE) == 0

    waiting.delete()
    assert checking.check_due_studies(AT_ONCE) == 2
