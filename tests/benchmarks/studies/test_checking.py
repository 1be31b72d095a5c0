"""Checks of studies: scheduling, flags, and shapes of cells."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.jobs import queue
from benchmarks.management.commands.recompute import recompute
from benchmarks.management.commands.upgrade_tables import update_warning_fingerprints
from benchmarks.models import (
    Cell,
    CellSession,
    Efficiency,
    Flag,
    FlagDecision,
    Run,
    Study,
)
from benchmarks.sentences import Sentence, serialize
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.studies.session_corrections import correct_sessions
from benchmarks.uploads.intake import submit_runs
from benchmarks.uploads.processing import process_due_uploads
from tests import job_queue
from tests.upload_documents import in_turn

AT_ONCE = timedelta(0)


@pytest.fixture
def run_with_warning(submit, run_document):
    """A run with a parse warning and one without."""
    first, _ = submit(run_document(50.0), run_document(51.0))
    warning = {"code": "not_valid", "sentence": "The run was too short."}
    Run.objects.filter(pk=first.run_id).update(warnings=[warning])
    checking.check_due_studies(AT_ONCE)
    return first


def flags(**which):
    return Flag.objects.filter(rule="tool-mark", **which)


def run_check(study):
    checking.check_study(Study.objects.get(pk=study.pk))


def test_finding_becomes_a_flag_with_run_and_cells(run_with_warning):
    flag = flags().get()

    assert flag.status == Flag.Status.OPEN
    assert "too short" in flag.message
    assert list(flag.runs.values_list("pk", flat=True)) == [run_with_warning.run_id]
    assert flag.cells.get() == Cell.objects.get()


def test_flag_with_cells_and_run_affects_only_these_cells(submit, run_document, study):
    latencies = [("request latency p95", 9.0, "ms"), ("request latency max", 3.0, "ms")]
    samples = [
        {"metric": metric, "value": value, "unit": unit, "parameters": {}}
        for metric, value, unit in [*latencies, ("event rate", 800.0, "1/s")]
    ]
    submit(run_document(tool="sysbench", samples=samples))
    run_check(study)

    flag = Flag.objects.get(rule="identity-violated")
    assert flag.runs.get() == Run.objects.get()
    assert {cell.case.metric for cell in flag.cells.all()} == {
        metric for metric, *_ in latencies
    }


def test_checking_again_changes_nothing(run_with_warning, study):
    before = list(Flag.objects.order_by("pk").values())

    run_check(study)

    assert list(Flag.objects.order_by("pk").values()) == before


def test_open_flag_is_deleted_with_its_finding(run_with_warning, study):
    Run.objects.update(warnings=[])

    run_check(study)

    assert not flags().exists()


def test_decision_is_kept_when_the_finding_returns(run_with_warning, study, person):
    warnings = Run.objects.get(pk=run_with_warning.run_id).warnings
    decide_flag(
        flag=flags().get(),
        status="dismissed",
        note="Known.",
        actor="carol",
        person=person,
    )

    Run.objects.update(warnings=[])
    run_check(study)
    assert flags().get().resolved_at

    Run.objects.filter(pk=run_with_warning.run_id).update(warnings=warnings)
    run_check(study)
    flag = flags().get()
    assert (flag.resolved_at, flag.status) == (None, "dismissed")


def test_upgrade_keeps_decisions_about_warnings_that_are_reworded(
    run_with_warning, study
):
    old = {
        "code": "errors",
        "words": serialize(Sentence("It read {n} errors.", n=5)),
    }
    new = {"code": "errors", "words": serialize(Sentence("{n} errors.", n=5))}
    Run.objects.filter(pk=run_with_warning.run_id).update(warnings=[old])
    run_check(study)
    Flag.objects.filter(evidence__code="errors").update(
        fingerprint="with the wording", status="dismissed"
    )

    update_warning_fingerprints()
    Run.objects.filter(pk=run_with_warning.run_id).update(warnings=[new])
    run_check(study)

    assert flags().get().status == "dismissed"


def test_all_decisions_are_stored(run_with_warning, person):
    flag = flags().get()

    decide_flag(
        flag=flag, status="confirmed", note="It is.", actor="carol", person=person
    )
    decide_flag(flag=flag, status="open", note="Perhaps not.", actor="carol")

    decisions = FlagDecision.objects.order_by("pk").values_list(
        "status", "note", "decided_by"
    )
    assert list(decisions) == [
        ("confirmed", "It is.", "carol"),
        ("open", "Perhaps not.", "carol"),
    ]
    assert flags().get().status == "open"


def test_a_decision_needs_a_note(run_with_warning):
    with pytest.raises(InvalidError, match="Give the reason"):
        decide_flag(flag=flags().get(), status="confirmed", note=" ", actor="carol")

    assert not FlagDecision.objects.exists()


def test_only_current_severe_flags_withhold_verdicts(run_with_warning):
    flag = flags().get()
    assert Flag.objects.withholding_verdicts().filter(pk=flag.pk).exists() == (
        flag.severity in Flag.WITHHOLDING_SEVERITIES
    )

    Flag.objects.update(severity="impossible", status="dismissed")
    assert not Flag.objects.withholding_verdicts().exists()
    Flag.objects.update(status="confirmed")
    assert Flag.objects.withholding_verdicts().exists()
    Flag.objects.update(severity="check")
    assert not Flag.objects.withholding_verdicts().exists()


def test_study_is_checked_after_a_quiet_period(submit, run_document):
    submit(run_document())

    assert checking.check_due_studies() == 0
    assert checking.check_due_studies(AT_ONCE) == 1
    assert checking.check_due_studies(AT_ONCE) == 0
    assert not job_queue.waiting("check").exists()


def test_busy_study_is_checked_after_the_maximum_wait(submit, run_document):
    submit(run_document())
    note = job_queue.waiting("check").get()
    long_ago = note.created_at - checking.MAX_WAIT
    queue.enqueue_checks([note.study_id], created_at=long_ago)

    assert checking.check_due_studies() == 1


def test_study_with_waiting_uploads_is_not_checked(submit, run_document, agent):
    submit(run_document())
    submit_runs(agent=agent, documents=[run_document(60.0)])

    assert checking.check_due_studies(AT_ONCE) == 0
    process_due_uploads()
    assert checking.check_due_studies(AT_ONCE) == 1


def test_quarantined_uploads_do_not_delay_a_check(submit, run_document, agent):
    submit(run_document())
    submit_runs(agent=agent, documents=[run_document(60.0)])
    job_queue.waiting("upload").update(quarantined_at=timezone.now())

    assert checking.check_due_studies(AT_ONCE) == 1


@pytest.fixture
def doomed(submit, run_document, study, lab, monkeypatch):
    """A study whose check fails, queued before one that works."""
    Study.objects.create(lab=lab, slug="sound", title="Sound", visibility="public")
    submit(run_document())
    submit(run_document(study="sound"))
    facts = checking.study_facts

    def fail(each):
        if each.pk == study.pk:
            raise KeyError("no such case")
        return facts(each)

    monkeypatch.setattr(checking, "study_facts", fail)
    return study


def test_failed_check_is_retried_and_does_not_stop_others(doomed, caplog):
    assert checking.check_due_studies(AT_ONCE) == 1
    [record] = caplog.records
    assert f"check of {doomed.pk} failed" in record.getMessage()
    assert record.exc_info

    assert {note.study for note in job_queue.waiting("check")} == {doomed}
    assert checking.check_due_studies(AT_ONCE) == 0
    assert len(caplog.records) == 1

    job_queue.make_due()
    checking.check_due_studies(AT_ONCE)
    assert len(caplog.records) == 2
    assert {job.failures for job in job_queue.failed()} == {2}


def test_quarantined_check_runs_again_after_a_change(
    doomed, submit, run_document, monkeypatch
):
    checking.check_due_studies(AT_ONCE)
    long_ago = timezone.now() - timedelta(days=1)
    job_queue.failed().update(quarantined_at=long_ago, failures=5)
    monkeypatch.undo()
    submit(run_document(13.0, study="study"))
    # Continuous uploads do not cause continuous checks.
    checking.check_due_studies(AT_ONCE)
    assert job_queue.failed().exists()

    job_queue.failed().update(attempted_at=timezone.now() - timedelta(minutes=2))
    job_queue.waiting("check", study=doomed).update(created_at=long_ago)
    assert checking.check_due_studies(AT_ONCE) == 0

    queue.enqueue_checks([doomed.pk])
    assert checking.check_due_studies(AT_ONCE) == 1
    assert not job_queue.failed().exists()


@pytest.mark.django_db(transaction=True)
def test_lost_connection_does_not_count_as_failed_check(doomed, monkeypatch):
    def gone(_study):
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(checking, "study_facts", gone)
    before = set(job_queue.waiting("check").values_list("pk", "created_at"))

    with pytest.raises(OperationalError):
        checking.check_due_studies(AT_ONCE)
    assert set(job_queue.waiting("check").values_list("pk", "created_at")) == before


@pytest.mark.django_db(transaction=True)
def test_runs_can_be_stored_during_a_check(submit, run_document, monkeypatch):
    submit(run_document())
    is_in_hand, may_go_on = Event(), Event()

    def wait(_study):
        is_in_hand.set()
        assert may_go_on.wait(60)

    def check():
        try:
            return checking.check_due_studies(AT_ONCE)
        finally:
            connection.close()

    monkeypatch.setattr(checking, "shape_cells", wait)
    with ThreadPoolExecutor(1) as thread:
        checked = thread.submit(check)
        assert is_in_hand.wait(60)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            submit(run_document())
        finally:
            may_go_on.set()
            connection.close()
    assert checked.result() == 1
    assert Run.objects.filter(status=Run.Status.PARSED).count() == 2


@pytest.mark.parametrize("repetitions", [False, True])
def test_bimodality_is_detected_in_runs_and_iterations(
    submit, run_document, repetitions
):
    values = [59.1, 58.9, 109.2, 59.0, 59.2, 108.8, 59.3, 58.8, 109.0, 59.1, 58.7]
    if repetitions:
        sample = run_document()["samples"][0]
        samples = [
            {**sample, "value": value, "repetition": place}
            for place, value in enumerate(values, start=1)
        ]
        submit(run_document(samples=samples))
    else:
        submit(*in_turn(run_document(value) for value in values))

    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert cell.shape["sentence"].startswith("two speeds, 59 (73%) and 109 (27%)")
    assert cell.shape_codes == "bimodal,periodic"


def test_shape_is_updated_after_a_new_run(submit, run_document):
    submit(*(run_document(value) for value in (50.0, 51.0, 50.5, 50.2)))
    checking.check_due_studies(AT_ONCE)
    assert (Cell.objects.get().shape, Cell.objects.get().order_shift) == (None, 0.0)

    submit(run_document(50.1))
    checking.check_due_studies(AT_ONCE)

    assert Cell.objects.get().shape["n"] == 5


def on(day, value, document):
    return document(value, started_at=f"2026-03-{day:02}T10:00:00Z")


def test_difference_between_days_is_not_bimodality(submit, run_document):
    first = [100.1, 99.8, 100.3, 99.9, 100.0]
    documents = [on(2, value, run_document) for value in first]
    documents += [on(9, value - 8, run_document) for value in first]
    submit(*documents)

    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert (cell.shape["sessions"], cell.shape_codes) == (2, "")


def test_iterations_have_the_session_of_their_run(submit, run_document):
    sample = run_document()["samples"][0]
    for day, level in ((2, 100.0), (9, 92.0)):
        samples = [
            {**sample, "value": level + place % 3 / 10, "repetition": place}
            for place in range(1, 7)
        ]
        started = f"2026-03-{day:02}T10:00:00Z"
        submit(run_document(samples=samples, started_at=started))

    checking.check_due_studies(AT_ONCE)

    shape = Cell.objects.get().shape
    assert (shape["n"], shape["sessions"], len(shape["modes"])) == (12, 2, 1)


def test_runs_of_unknown_order_have_no_autocorrelation(submit, run_document):
    # Uploaded in another order than measured, so this is not a decline.
    falling = [109.0, 107.9, 107.1, 106.0, 104.9, 104.1, 103.0, 102.1, 101.0, 100.1]
    submit(*(run_document(value) for value in falling))
    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert (cell.shape_codes, cell.shape["is_ordered"]) == ("", False)
    (session,) = CellSession.objects.all()
    assert (session.rho, session.first_mean) == (None, None)


def test_numbered_repetitions_define_the_order(submit, run_document):
    falling = [109.0, 107.9, 107.1, 106.0, 104.9, 104.1, 103.0, 102.1, 101.0, 100.1]
    documents = [run_document(value) for value in falling]
    for number, document in enumerate(documents, start=1):
        document["samples"][0]["repetition"] = number
    submit(*documents)
    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert (cell.shape_codes, cell.shape["is_ordered"]) == ("drift", True)


@pytest.mark.parametrize("is_told", [True, False])
def test_runs_with_equal_start_have_no_order(submit, run_document, is_told):
    falling = [109.0, 107.9, 107.1, 106.0, 104.9, 104.1, 103.0, 102.1, 101.0, 100.1]
    reported = in_turn(run_document(value) for value in falling)
    if not is_told:
        reported[3]["started_at"] = reported[2]["started_at"]
    submit(*reported)
    checking.check_due_studies(AT_ONCE)

    codes = "drift" if is_told else ""
    cell = Cell.objects.get()
    assert (cell.shape_codes, cell.shape["is_ordered"]) == (codes, is_told)


def test_wider_margin_ignores_a_shape(submit, run_document, study):
    values = [100.0, 104.1, 100.1, 104.0, 99.9, 104.2, 100.2, 103.9, 100.0, 104.1]
    submit(*in_turn(run_document(value) for value in values))
    checking.check_due_studies(AT_ONCE)
    assert Cell.objects.get().shape_codes == "bimodal"

    update_study(study=Study.objects.get(), equivalence_margin_percent=6.0)
    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert cell.shape_codes == ""
    assert cell.shape["sentence"].startswith("two speeds that differ by at most 6%")
    assert (cell.shape["band"], cell.shape["moves"].keys()) == (0.06, {"periodic"})


@pytest.fixture
def pair(submit, run_document, xen):
    """Upload a native run and a guest run with start times; return the efficiency."""

    def measured(*starts, **changes):
        native, guest = (
            run_document(started_at=f"2021-05-{start}:00:00Z", **item, **changes)
            for start, item in zip(starts, ({}, {"system": xen}), strict=True)
        )
        submit(native, guest)
        checking.check_due_studies(AT_ONCE)
        return Efficiency.objects.get(cell__system__hypervisor="Xen")

    return measured


def test_baseline_of_another_session_is_recognized_by_time(pair):
    efficiency = pair("03T08", "04T08")

    assert efficiency.state == "other_session"
    assert efficiency.reason == "The baseline is from another session."
    assert not job_queue.waiting("check").exists()


def test_age_of_baseline_replaces_its_other_session(pair, study):
    Study.objects.update(baseline_max_age_days=0)

    efficiency = pair("03T08", "04T08")

    assert efficiency.state == "stale"
    assert efficiency.reason == (
        "The baseline was measured 1 day before this system (limit: 0)."
    )
    assert recompute(study) == []


def test_two_agent_starts_in_one_afternoon_are_one_session(pair):
    assert pair("03T08", "03T10").state == "paired"


def test_corrected_session_pairs_its_runs(pair, study):
    pair("03T08", "04T08")

    correct_sessions(
        study=study,
        name="by night",
        actor="carol",
        sessions=study.sessions.values_list("pk", flat=True),
    )
    checking.check_due_studies(AT_ONCE)

    assert Efficiency.objects.get(cell__system__hypervisor="Xen").state == "paired"


def test_sessions_of_unknown_time_are_not_different_sessions(
    pair, submit, run_document
):
    submit(run_document())

    assert pair("03T08", "04T08").state == "paired"
