"""Events of studies: created once, aggregated, visible with the study."""

from datetime import timedelta

import pytest

from benchmarks.collaboration import study_events
from benchmarks.collaboration.study_events import (
    publish_due_events,
    queue_events,
    visible_events,
)
from benchmarks.maintenance.deletion import delete_study
from benchmarks.models import Event, Flag, Run, Study, StudyEventState
from benchmarks.publishing.publications import withdraw
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer
from tests import job_queue


def happen():
    """Run due checks and create events, as the sweeper does."""
    checking.check_due_studies(timedelta(0))
    publish_due_events()


def event_messages(**filters):
    return [
        (item.kind, str(item.message)) for item in visible_events(ANYONE, **filters)
    ]


def test_new_runs_give_one_event(submit, run_document):
    submit(run_document(), run_document(13.0, system={"hypervisor": "Xen"}))
    happen()
    submit(run_document(12.0, system={"hypervisor": "Xen"}))
    happen()
    happen()

    runs = [item for item in event_messages() if item[0] == "runs"]
    assert runs == [("runs", "2 new runs"), ("runs", "1 new run")]


def test_each_flag_gives_one_event(submit, run_document):
    submit(run_document())
    doubt = [{"code": "doubt", "sentence": "It is doubtful."}]
    Run.objects.update(warnings=doubt)
    happen()
    queue_events(Study.objects.get())
    happen()

    assert [item for item in event_messages() if item[0] == "flags"] == [
        ("flags", "1 new flag: tool-mark")
    ]


def test_flag_events_are_visible_with_quoted_studies(study, private_study, lab):
    for quoted in (None, private_study):
        flag = Flag.objects.create(
            lab=lab,
            study=study,
            rule=f"rule-{quoted}",
            severity="check",
            message="It is so.",
            fingerprint=f"{quoted}",
        )
        if quoted:
            flag.quoted_studies.add(quoted)
    queue_events(study)
    publish_due_events()

    own = visible_events(Viewer(frozenset({lab.pk})))
    assert [str(event.message) for event in own.order_by("pk")] == [
        "1 new flag: rule-None",
        "1 new flag: rule-secret-study",
    ]
    assert event_messages() == [("flags", "1 new flag: rule-None")]


def test_changed_verdict_gives_an_event_but_not_the_first(submit, run_document, study):
    submit(run_document(), run_document(13.0, system={"hypervisor": "Xen"}))
    happen()
    assert not [item for item in event_messages() if item[0] == "verdicts"]

    news = StudyEventState.objects.get()
    cell = next(key for key, item in news.verdicts.items() if item == "not_assessed")
    news.verdicts[cell] = "slower"
    news.save()
    queue_events(study)
    happen()

    event = Event.objects.get(kind="verdicts")
    assert event.content["cells"] == [
        {"cell": int(cell), "before": "slower", "verdict": "not_assessed"}
    ]


def test_publication_and_withdrawal_give_events(submit, run_document, publish, study):
    submit(run_document())
    version = publish(study)
    withdraw(version, actor="carol", reason="Wrong.")

    published = [
        item for item in event_messages() if item[0] in ("published", "withdrawn")
    ]
    assert published == [
        ("published", "Version 1 was published"),
        ("withdrawn", "Version 1 was withdrawn"),
    ]
    assert Event.objects.get(kind="published").content == {"version": version.pk}


def test_events_are_visible_with_the_study(lab, other_lab, private_study):
    study_events.notify_version_published(private_study, 1, 7)

    assert not visible_events(ANYONE).exists()
    assert not visible_events(Viewer(frozenset({other_lab.pk}))).exists()
    assert visible_events(Viewer(frozenset({lab.pk}))).exists()
    update_study(study=private_study, visibility="public")
    assert visible_events(ANYONE).exists()


def test_failing_study_does_not_stop_others(study, private_study, monkeypatch):
    for item in (study, private_study):
        queue_events(item)
    judge = study_events.study_verdicts

    def broken(judged):
        if judged == study:
            raise ValueError("no verdict")
        return judge(judged)

    monkeypatch.setattr(study_events, "study_verdicts", broken)

    assert publish_due_events() == 1
    work = job_queue.failed().get()
    assert (work.kind, work.study, work.failures) == ("events", study, 1)
    assert job_queue.waiting("events", study=study).exists()
    assert publish_due_events() == 0  # later


@pytest.mark.parametrize("is_published", [False, True])
def test_deleted_study_gives_no_events(
    submit, run_document, publish, study, is_published
):
    submit(run_document())
    happen()
    if is_published:
        publish(study)

    delete_study(study=study, actor="test", reason="A mistake.")
    happen()

    assert event_messages() == []
