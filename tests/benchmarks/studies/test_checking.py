"""Checks of studies: due after every change, true to what the rules find."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.models import (
    Cell,
    CellSession,
    Decision,
    Efficiency,
    Flag,
    Run,
    Study,
)
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.studies.session_corrections import correct_sessions
from benchmarks.unattended import queue
from benchmarks.uploads.intake import submit_runs
from benchmarks.uploads.processing import drain
from tests import jobs
from tests.documents import in_turn

AT_ONCE = timedelta(0)


@pytest.fixture
def marked(submit, run_document):
    """A run whose tool doubted itself, and one that is sound."""
    first, _ = submit(run_document(50.0), run_document(51.0))
    mark = {"code": "not_valid", "sentence": "The run was too short."}
    Run.objects.filter(pk=first.run_id).update(warnings=[mark])
    checking.check_due_studies(AT_ONCE)
    return first


def flags(**which):
    return Flag.objects.filter(rule="tool-mark", **which)


def check_again(study):
    checking.check_study(Study.objects.get(pk=study.pk))


def test_a_finding_becomes_a_flag_of_its_run_and_cells(marked):
    flag = flags().get()

    assert flag.status == Flag.Status.OPEN
    assert "too short" in flag.sentence
    assert list(flag.runs.values_list("pk", flat=True)) == [marked.run_id]
    assert flag.cells.get() == Cell.objects.get()


def test_a_flag_that_names_cells_beside_a_run_doubts_these_alone(
    submit, run_document, study
):
    latencies = [("request latency p95", 9.0, "ms"), ("request latency max", 3.0, "ms")]
    samples = [
        {"metric": metric, "value": value, "unit": unit, "parameters": {}}
        for metric, value, unit in [*latencies, ("event rate", 800.0, "1/s")]
    ]
    submit(run_document(tool="sysbench", samples=samples))
    check_again(study)

    flag = Flag.objects.get(rule="identity-violated")
    assert flag.runs.get() == Run.objects.get()
    assert {cell.case.metric for cell in flag.cells.all()} == {
        metric for metric, *_ in latencies
    }


def test_checking_again_changes_nothing(marked, study):
    before = list(Flag.objects.order_by("pk").values())

    check_again(study)

    assert list(Flag.objects.order_by("pk").values()) == before


def test_an_open_flag_goes_with_its_finding(marked, study):
    Run.objects.update(warnings=[])

    check_again(study)

    assert not flags().exists()


def test_a_decision_outlives_the_finding_and_holds_when_it_comes_back(
    marked, study, person
):
    warnings = Run.objects.get(pk=marked.run_id).warnings
    decide_flag(
        flag=flags().get(),
        status="dismissed",
        note="Known.",
        who="carol",
        person=person,
    )

    Run.objects.update(warnings=[])
    check_again(study)
    assert flags().get().gone_at

    Run.objects.filter(pk=marked.run_id).update(warnings=warnings)
    check_again(study)
    flag = flags().get()
    assert (flag.gone_at, flag.status) == (None, "dismissed")


def test_every_decision_is_kept(marked, person):
    flag = flags().get()

    decide_flag(
        flag=flag, status="confirmed", note="It is.", who="carol", person=person
    )
    decide_flag(flag=flag, status="open", note="Perhaps not.", who="carol")

    decisions = Decision.objects.order_by("pk").values_list("status", "note", "who")
    assert list(decisions) == [
        ("confirmed", "It is.", "carol"),
        ("open", "Perhaps not.", "carol"),
    ]
    assert flags().get().status == "open"


def test_a_decision_needs_a_note(marked):
    with pytest.raises(InvalidError, match="Give the reason"):
        decide_flag(flag=flags().get(), status="confirmed", note=" ", who="carol")

    assert not Decision.objects.exists()


def test_only_flags_that_stand_and_are_grave_withhold(marked):
    flag = flags().get()
    assert Flag.objects.withholding().filter(pk=flag.pk).exists() == (
        flag.severity in Flag.SEVERE
    )

    Flag.objects.update(severity="impossible", status="dismissed")
    assert not Flag.objects.withholding().exists()
    Flag.objects.update(status="confirmed")
    assert Flag.objects.withholding().exists()
    Flag.objects.update(severity="check")
    assert not Flag.objects.withholding().exists()


def test_a_study_is_checked_when_it_is_quiet(submit, run_document):
    submit(run_document())

    assert checking.check_due_studies() == 0
    assert checking.check_due_studies(AT_ONCE) == 1
    assert checking.check_due_studies(AT_ONCE) == 0
    assert not jobs.waiting("check").exists()


def test_one_that_is_never_quiet_is_checked_too(submit, run_document):
    submit(run_document())
    note = jobs.waiting("check").get()
    long_ago = note.created_at - checking.LONGEST_WAIT
    queue.put_checks([note.study_id], created_at=long_ago)

    assert checking.check_due_studies() == 1


def test_one_of_which_uploads_wait_is_not_checked_before_they_are_processed(
    submit, run_document, agent
):
    submit(run_document())
    submit_runs(agent=agent, documents=[run_document(60.0)])

    assert checking.check_due_studies(AT_ONCE) == 0
    drain()
    assert checking.check_due_studies(AT_ONCE) == 1


def test_one_whose_upload_was_set_aside_waits_for_nothing(submit, run_document, agent):
    submit(run_document())
    submit_runs(agent=agent, documents=[run_document(60.0)])
    jobs.waiting("upload").update(quarantined_at=timezone.now())

    assert checking.check_due_studies(AT_ONCE) == 1


@pytest.fixture
def doomed(submit, run_document, study, lab, monkeypatch):
    """A study whose check fails, noted before one that is sound."""
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


def test_a_study_that_fails_stops_no_other_and_is_tried_again_later(doomed, caplog):
    assert checking.check_due_studies(AT_ONCE) == 1
    [record] = caplog.records
    assert f"check of {doomed.pk} failed" in record.getMessage()
    assert record.exc_info

    assert {note.study for note in jobs.waiting("check")} == {doomed}
    assert checking.check_due_studies(AT_ONCE) == 0
    assert len(caplog.records) == 1

    jobs.make_due()
    checking.check_due_studies(AT_ONCE)
    assert len(caplog.records) == 2
    assert {job.failures for job in jobs.failed()} == {2}


def test_one_that_was_set_aside_is_checked_again_when_it_changes(
    doomed, submit, run_document, monkeypatch
):
    checking.check_due_studies(AT_ONCE)
    long_ago = timezone.now() - timedelta(days=1)
    jobs.failed().update(quarantined_at=long_ago, failures=5)
    monkeypatch.undo()
    submit(run_document(13.0, study="study"))
    # Who uploads all day does not have it checked all day.
    checking.check_due_studies(AT_ONCE)
    assert jobs.failed().exists()

    jobs.failed().update(tried_at=timezone.now() - timedelta(minutes=2))
    jobs.waiting("check", study=doomed).update(created_at=long_ago)
    assert checking.check_due_studies(AT_ONCE) == 0

    queue.put_checks([doomed.pk])
    assert checking.check_due_studies(AT_ONCE) == 1
    assert not jobs.failed().exists()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_went_away_is_no_fault_of_a_study(doomed, monkeypatch):
    def gone(_study):
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(checking, "study_facts", gone)
    before = set(jobs.waiting("check").values_list("pk", "created_at"))

    with pytest.raises(OperationalError):
        checking.check_due_studies(AT_ONCE)
    assert set(jobs.waiting("check").values_list("pk", "created_at")) == before


@pytest.mark.django_db(transaction=True)
def test_a_run_is_stored_while_its_study_is_checked(submit, run_document, monkeypatch):
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
def test_two_speeds_are_seen_in_runs_and_in_iterations(
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
    assert cell.shape["sentence"].startswith("two speeds, 59 (73 %) and 109 (27 %)")
    assert cell.shape_codes == "bimodal,periodic"


def test_a_shape_is_looked_at_again_when_a_run_is_added(submit, run_document):
    submit(*(run_document(value) for value in (50.0, 51.0, 50.5, 50.2)))
    checking.check_due_studies(AT_ONCE)
    assert (Cell.objects.get().shape, Cell.objects.get().shape_moves) == (None, 0.0)

    submit(run_document(50.1))
    checking.check_due_studies(AT_ONCE)

    assert Cell.objects.get().shape["n"] == 5


def on(day, value, document):
    return document(value, started_at=f"2026-03-{day:02}T10:00:00Z")


def test_another_day_with_another_speed_is_no_second_speed(submit, run_document):
    first = [100.1, 99.8, 100.3, 99.9, 100.0]
    documents = [on(2, value, run_document) for value in first]
    documents += [on(9, value - 8, run_document) for value in first]
    submit(*documents)

    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert (cell.shape["sessions"], cell.shape_codes) == (2, "")


def test_iterations_are_of_their_runs_sessions(submit, run_document):
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


def test_runs_of_unknown_order_have_none(submit, run_document):
    # Read in another order than they ran: this is no decline.
    falling = [109.0, 107.9, 107.1, 106.0, 104.9, 104.1, 103.0, 102.1, 101.0, 100.1]
    submit(*(run_document(value) for value in falling))
    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert (cell.shape_codes, cell.shape["is_ordered"]) == ("", False)
    (session,) = CellSession.objects.all()
    assert (session.rho, session.first) == (None, None)


def test_runs_that_were_numbered_through_have_that_order(submit, run_document):
    falling = [109.0, 107.9, 107.1, 106.0, 104.9, 104.1, 103.0, 102.1, 101.0, 100.1]
    documents = [run_document(value) for value in falling]
    for number, document in enumerate(documents, start=1):
        document["samples"][0]["repetition"] = number
    submit(*documents)
    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert (cell.shape_codes, cell.shape["is_ordered"]) == ("drift", True)


@pytest.mark.parametrize("is_told", [True, False])
def test_runs_of_one_moment_have_no_order_either(submit, run_document, is_told):
    falling = [109.0, 107.9, 107.1, 106.0, 104.9, 104.1, 103.0, 102.1, 101.0, 100.1]
    told = in_turn(run_document(value) for value in falling)
    if not is_told:
        told[3]["started_at"] = told[2]["started_at"]
    submit(*told)
    checking.check_due_studies(AT_ONCE)

    codes = "drift" if is_told else ""
    cell = Cell.objects.get()
    assert (cell.shape_codes, cell.shape["is_ordered"]) == (codes, is_told)


def test_a_wider_margin_lets_a_shape_count_no_more(submit, run_document, study):
    values = [100.0, 104.1, 100.1, 104.0, 99.9, 104.2, 100.2, 103.9, 100.0, 104.1]
    submit(*in_turn(run_document(value) for value in values))
    checking.check_due_studies(AT_ONCE)
    assert Cell.objects.get().shape_codes == "bimodal"

    update_study(study=Study.objects.get(), equivalence_margin_percent=6.0)
    checking.check_due_studies(AT_ONCE)

    cell = Cell.objects.get()
    assert cell.shape_codes == ""
    assert cell.shape["sentence"].startswith("two speeds within the band of 6 %")
    assert (cell.shape["band"], cell.shape["moves"].keys()) == (0.06, {"periodic"})


@pytest.fixture
def pair(submit, run_document, xen):
    """A native run and a guest's, each with its start; the guest's efficiency."""

    def measured(*starts, **changes):
        native, guest = (
            run_document(started_at=f"2021-05-{start}:00:00Z", **each, **changes)
            for start, each in zip(starts, ({}, {"system": xen}), strict=True)
        )
        submit(native, guest)
        checking.check_due_studies(AT_ONCE)
        return Efficiency.objects.get(cell__system__hypervisor="Xen")

    return measured


def test_a_baseline_of_another_session_is_known_by_when_it_ran(pair):
    efficiency = pair("03T08", "04T08")

    assert efficiency.state == "other_session"
    assert efficiency.reason == "The native run is from another session."
    assert not jobs.waiting("check").exists()


def test_two_starts_of_an_agent_in_one_afternoon_are_no_two_sessions(pair):
    assert pair("03T08", "03T10").state == "paired"


def test_a_correction_pairs_what_was_one_sitting(pair, study):
    pair("03T08", "04T08")

    correct_sessions(
        study=study,
        name="by night",
        who="carol",
        sessions=study.sessions.values_list("pk", flat=True),
    )
    checking.check_due_studies(AT_ONCE)

    assert Efficiency.objects.get(cell__system__hypervisor="Xen").state == "paired"


def test_sessions_of_unknown_time_are_no_other_sessions(pair, submit, run_document):
    submit(run_document())

    assert pair("03T08", "04T08").state == "paired"
