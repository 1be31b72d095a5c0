"""A check of what a study says beside others finds what a whole check finds."""

import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.keeping.deletion import delete_uploads
from benchmarks.models import Effect, Flag, Job, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.uploads.processing import jobs_of

AT_ONCE = timedelta(0)
STEPS = 14
# Native values that disagree, guests above them, and the same values twice.
VALUES = (50.0, 50.0, 53.0, 75.0, 71.37, 400.0)


def stored():
    """All that checks write, without the numbers of rows."""
    flags = []
    for flag in Flag.objects.order_by("study", "fingerprint"):
        links = [
            sorted(getattr(flag, name).values_list("pk", flat=True))
            for name in ("cells", "runs", "quotes")
        ]
        is_gone = flag.gone_at is not None
        said = (flag.rule, flag.severity, str(flag.sentence), flag.evidence)
        about = (flag.fingerprint, flag.subjects, flag.status, is_gone)
        flags.append((flag.study_id, *said, *about, *links))
    effects = Effect.objects.order_by("pk").values()
    return flags, list(effects)


def check_all():
    while checking.check_due_studies(AT_ONCE):
        pass


@pytest.fixture
def act(submit, run_document, lab, study, xen):
    """Do one of the things that people and agents do to a lab's studies."""
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
            delete_uploads(lab=lab, runs=[dice.choice(runs)], who="alice", reason="so")

    def show(dice):
        one = Study.objects.get(pk=dice.choice(studies).pk)
        other = "public" if one.is_private else "private"
        update_study(study=one, who="alice", visibility=other)

    def decide(dice):
        if flags := list(Flag.objects.filter(gone_at=None).order_by("pk")):
            status = dice.choice((Flag.Status.CONFIRMED, Flag.Status.DISMISSED))
            decide_flag(flag=dice.choice(flags), status=status, note="Seen.", who="bob")

    return lambda dice: dice.choice((upload, upload, upload, delete, show, decide))(
        dice
    )


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_done_it_finds_what_a_whole_check_finds(act, seed):
    dice = random.Random(seed)
    beside = rules = 0
    for _ in range(STEPS):
        act(dice)
        beside += Job.objects.filter(detail={"beside": True}).count()
        check_all()
        found = stored()
        rules = max(rules, len({flag[1] for flag in found[0]}))

        for study in Study.objects.order_by("pk"):
            checking.check_study(study)

        assert stored() == found
    assert beside > 3
    assert rules > 1


def test_it_reads_no_run(act, submit, run_document, study, monkeypatch):
    submit(run_document(50.0))
    check_all()
    submit(run_document(60.0, study="other"))
    whole, beside = [], []
    check_study, check_beside = checking.check_study, checking.check_beside
    monkeypatch.setattr(
        checking, "check_study", lambda one: (whole.append(one.slug), check_study(one))
    )
    monkeypatch.setattr(
        checking,
        "check_beside",
        lambda one: (beside.append(one.slug), check_beside(one)),
    )

    check_all()

    assert (whole, beside) == (["other"], ["study"])
    assert Flag.objects.filter(study=study, rule="baselines-disagree").exists()


def test_what_stands_is_not_written_again(submit, run_document, lab, study, xen):
    Study.objects.create(lab=lab, slug="other", title="Other", visibility="public")
    submit(*(run_document(value, system=xen) for value in VALUES))
    submit(run_document(50.0), run_document(75.0, study="other"))
    check_all()
    assert Flag.objects.filter(study=study, gone_at=None).exists()

    with CaptureQueriesContext(connection) as queries:
        checking.check_beside(study)

    words = {query["sql"].lstrip().split()[0] for query in queries}
    assert words == {"SELECT", "WITH", "SAVEPOINT", "RELEASE"}


def test_it_waits_while_uploads_of_the_lab_wait(act, submit, run_document):
    submit(run_document(50.0))
    check_all()
    submit(run_document(60.0, study="other"))
    [waiting] = jobs_of([Run.objects.order_by("pk").last()])
    waiting.save()

    assert checking.check_due_studies(AT_ONCE) == 0

    waiting.delete()
    assert checking.check_due_studies(AT_ONCE) == 2
