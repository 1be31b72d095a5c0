"""What is new in a study is told once, summed, to whoever may see it."""

from datetime import timedelta

import pytest

from benchmarks.keeping.deletion import delete_study
from benchmarks.models import Event, Flag, Run, Study, StudyNews
from benchmarks.publishing.publications import withdraw
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.together import events
from benchmarks.together.events import note_news, tell_due_news, visible_events
from benchmarks.viewer import ANYONE, Viewer
from tests import jobs


def happen():
    """Check and tell what is due, as the sweeper does."""
    checking.check_due_studies(timedelta(0))
    tell_due_news()


def told(**filters):
    return [(it.kind, str(it.sentence)) for it in visible_events(ANYONE, **filters)]


def test_new_runs_are_summed(submit, run_document):
    submit(run_document(), run_document(13.0, system={"hypervisor": "Xen"}))
    happen()
    submit(run_document(12.0, system={"hypervisor": "Xen"}))
    happen()
    happen()

    runs = [it for it in told() if it[0] == "runs"]
    assert runs == [("runs", "2 new runs"), ("runs", "1 new run")]


def test_flags_are_told_once(submit, run_document):
    submit(run_document())
    doubt = [{"code": "doubt", "sentence": "It is doubtful."}]
    Run.objects.update(warnings=doubt)
    happen()
    note_news(Study.objects.get())
    happen()

    assert [it for it in told() if it[0] == "flags"] == [
        ("flags", "A new flag: tool-mark")
    ]


def test_flags_are_told_to_who_sees_what_they_quote(study, private_study, lab):
    for quoted in (None, private_study):
        flag = Flag.objects.create(
            lab=lab,
            study=study,
            rule=f"rule-{quoted}",
            severity="check",
            sentence="It is so.",
            fingerprint=f"{quoted}",
        )
        if quoted:
            flag.quotes.add(quoted)
    note_news(study)
    tell_due_news()

    own = visible_events(Viewer(frozenset({lab.pk})))
    assert [str(it.sentence) for it in own.order_by("pk")] == [
        "A new flag: rule-None",
        "A new flag: rule-secret-study",
    ]
    assert told() == [("flags", "A new flag: rule-None")]


def test_a_changed_verdict_is_told_and_the_first_is_not(submit, run_document, study):
    submit(run_document(), run_document(13.0, system={"hypervisor": "Xen"}))
    happen()
    assert not [it for it in told() if it[0] == "verdicts"]

    news = StudyNews.objects.get()
    cell = next(key for key, it in news.verdicts.items() if it == "not_assessed")
    news.verdicts[cell] = "slower"
    news.save()
    note_news(study)
    happen()

    event = Event.objects.get(kind="verdicts")
    assert event.content["cells"] == [
        {"cell": int(cell), "before": "slower", "verdict": "not_assessed"}
    ]


def test_what_is_published_and_withdrawn_is_told(submit, run_document, publish, study):
    submit(run_document())
    version = publish(study)
    withdraw(version, who="carol", reason="Wrong.")

    published = [it for it in told() if it[0] in ("published", "withdrawn")]
    assert published == [
        ("published", "Version 1 is published"),
        ("withdrawn", "Version 1 is withdrawn"),
    ]
    assert Event.objects.get(kind="published").content == {"version": version.pk}


def test_events_are_seen_by_who_sees_the_study(lab, other_lab, private_study):
    events.tell_published(private_study, 1, 7)

    assert not visible_events(ANYONE).exists()
    assert not visible_events(Viewer(frozenset({other_lab.pk}))).exists()
    assert visible_events(Viewer(frozenset({lab.pk}))).exists()
    update_study(study=private_study, visibility="public")
    assert visible_events(ANYONE).exists()


def test_a_study_that_fails_stops_no_other(study, private_study, monkeypatch):
    for it in (study, private_study):
        note_news(it)
    judge = events.study_verdicts

    def broken(judged):
        if judged == study:
            raise ValueError("no verdict")
        return judge(judged)

    monkeypatch.setattr(events, "study_verdicts", broken)

    assert tell_due_news() == 1
    work = jobs.failed().get()
    assert (work.kind, work.study, work.failures) == ("news", study, 1)
    assert jobs.waiting("news", study=study).exists()
    assert tell_due_news() == 0  # later


@pytest.mark.parametrize("is_published", [False, True])
def test_a_deleted_study_tells_nothing_more(
    submit, run_document, publish, study, is_published
):
    submit(run_document())
    happen()
    if is_published:
        publish(study)

    delete_study(study=study, who="test", reason="A mistake.")
    happen()

    assert told() == []
