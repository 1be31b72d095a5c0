"""Versions: whole, never changed, withdrawn with a reason, signed by others."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import ProgrammingError, transaction
from django.db.models import ProtectedError

from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, Study, Version, VersionFile
from benchmarks.own_tools.declaring import change_tool, declared
from benchmarks.publishing.publications import withdraw
from benchmarks.publishing.versions import (
    publish_version,
    sign_version,
)
from benchmarks.studies import checking
from benchmarks.uploads import intake
from tests import jobs, publishing
from tests.own_tools import boot_sample, declaration, declare, metric


@pytest.fixture
def measured(study, submit, run_document):
    submit(run_document())
    return study


@pytest.fixture
def settled(measured):
    """Its checks are done."""
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def reviewer(other_lab):
    return get_user_model().objects.create_user("dave")


def test_it_keeps_every_form_with_its_digest(measured, publish):
    version = publish(measured)

    files = {each.name: each for each in version.files.all()}
    assert bytes(files["csv"].content) == b"a,b\r\n"
    assert files["csv"].digest == hashlib.sha256(b"a,b\r\n").hexdigest()
    assert (files["csv"].size, version.number, version.published_by) == (5, 1, "carol")
    lines = f"{files['bib'].digest}  bib\n{files['csv'].digest}  csv\n"
    assert version.digest == hashlib.sha256(lines.encode()).hexdigest()
    lines = "".join(f"{files[name].digest}  {name}\n" for name in sorted(files))
    assert version.digest == hashlib.sha256(lines.encode()).hexdigest()


def test_it_says_what_it_was_judged_as_and_by_which_rules(measured, publish, settings):
    version = publish(measured)

    assert (version.rule_set, version.level) == (2, "draft")
    assert "microcode" in version.undisclosed["host"]
    assert version.product_version == settings.VERSION


def test_each_has_the_next_number(measured, publish):
    assert [publish(measured).number for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "change",
    [lambda files: files.update(content=b"x"), lambda files: files.delete()],
    ids=["update", "delete"],
)
def test_the_database_refuses_to_change_what_is_published(measured, publish, change):
    publish(measured)
    files = VersionFile.objects.filter(name="csv")

    with transaction.atomic(), pytest.raises(ProgrammingError, match="never change"):
        change(files)


def test_its_study_cannot_be_deleted(measured, publish):
    publish(measured)

    with pytest.raises(ProtectedError):
        measured.delete()


def test_a_study_without_results_is_not_published(study, publish):
    with pytest.raises(InvalidError, match="no results"):
        publish(study)


def test_runs_that_wait_are_waited_for(measured, publish, agent, run_document):
    intake.submit_runs(agent=agent, documents=[run_document()])

    with pytest.raises(InvalidError, match="still being processed"):
        publish(measured)


def test_one_that_changes_meanwhile_is_not_published(measured, publish):
    def write(version):
        with transaction.atomic():
            Study.objects.update(note="another")
        return {"csv": b""}

    with pytest.raises(InvalidError, match="study has changed"):
        publish(measured, write=write)
    assert not Version.objects.exists()


def test_one_that_changed_before_anybody_began_is_not_published_unseen(
    measured, person, settled
):
    job = publishing.requested(measured, person)
    with transaction.atomic():
        Study.objects.update(note="another")

    with pytest.raises(InvalidError, match="study has changed"):
        publish_version(job=jobs.taken(job), write=publishing.two_forms)


def test_nothing_of_it_is_there_before_all_of_it_is(measured, publish):
    seen = []

    def write(version):
        seen.append((version.pk, Version.objects.count()))
        return {"csv": b"", "bib": b""}

    assert seen == [(publish(measured, write=write).pk, 0)]


def test_who_was_taken_for_dead_and_is_not_stores_nothing(measured, person, settled):
    slow = jobs.taken(publishing.requested(measured, person))
    quick = jobs.taken(slow)
    publish_version(job=quick, write=publishing.two_forms)

    with pytest.raises(InvalidError, match="Another worker"):
        publish_version(job=slow, write=publishing.two_forms)
    assert Version.objects.count() == 1


@pytest.mark.parametrize(
    ("licence", "note", "refusal"),
    [
        ("", "", "Say whether a licence"),
        ("maybe", "", "Say whether a licence"),
        ("permitted", "  ", "Say who permitted it"),
    ],
)
def test_the_question_about_licences_must_be_answered(
    measured, publish, licence, note, refusal
):
    with pytest.raises(InvalidError, match=refusal):
        publish(measured, licence=licence, licence_note=note)


def test_the_answer_about_licences_is_kept(measured, publish):
    version = publish(measured, licence="permitted", licence_note="VMware, 2026-05-01")

    assert (version.licence, version.licence_note) == (
        "permitted",
        "VMware, 2026-05-01",
    )


def test_it_is_withdrawn_once_with_a_reason_and_stays(measured, publish):
    version = publish(measured)
    with pytest.raises(InvalidError, match="Give a reason"):
        withdraw(version, who="carol", reason=" ")

    withdraw(version, who="carol", reason="Wrong disk.")

    with pytest.raises(InvalidError, match="withdrawn before"):
        withdraw(version, who="carol", reason="Another reason.")
    stored = Version.objects.get()
    assert (stored.withdrawn_by, stored.withdrawn_reason) == ("carol", "Wrong disk.")
    assert stored.files.count() == 2
    log = AuditEntry.objects.filter(lab=version.lab).order_by("pk")
    assert [(entry.kind, entry.who) for entry in log][-2:] == [
        ("published", version.published_by),
        ("withdrew_published", "carol"),
    ]
    assert "Wrong disk." in log[len(log) - 1].about


def test_another_lab_verifies_what_is_a_labs(measured, publish, other_lab, reviewer):
    version = publish(measured)
    Version.objects.update(judged="lab")

    sign_version(version=version, lab=other_lab, person=reviewer, note="Repeated it.")

    stored = Version.objects.get()
    assert stored.level == "verified"
    assert stored.signatures.get().who == "dave"
    signed = AuditEntry.objects.filter(kind=AuditEntry.Kind.SIGNED)
    assert {entry.lab for entry in signed} == {version.lab, other_lab}


def test_a_signature_lifts_no_draft(measured, publish, other_lab, reviewer):
    version = publish(measured)
    sign_version(version=version, lab=other_lab, person=reviewer, note="Read it.")

    assert Version.objects.get().level == "draft"


def test_a_signature_that_means_nothing_is_refused(
    measured, publish, lab, other_lab, reviewer
):
    version = publish(measured)

    def refused(match, **changes):
        given = {"lab": other_lab, "person": reviewer, "note": "Read it.", **changes}
        with pytest.raises(InvalidError, match=match):
            sign_version(version=version, **given)

    refused("its own", lab=lab)
    refused("Describe what", note=" ")
    sign_version(version=version, lab=other_lab, person=reviewer, note="Read it.")
    refused("already")
    withdraw(version, who="carol", reason="Wrong disk.")
    refused("withdrawn")


@pytest.fixture
def stopwatch(study, submit, run_document, lab):
    """A study that measured with a tool of its lab."""
    tool = declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    checking.check_due_studies(timedelta(0))
    return tool


def test_it_keeps_the_declarations_that_it_was_judged_by(
    study, stopwatch, publish, agent
):
    version = publish(study)

    metrics = [metric(title="Time to the prompt")]
    change_tool(
        tool=stopwatch, declaration=declared(declaration(metrics=metrics)), by=agent
    )

    version.refresh_from_db()
    (kept,) = version.declarations
    assert (kept["name"], kept["version"]) == ("alpha-lab:boot-time", 1)
    assert kept["metrics"][0]["title"] == ""
    assert stopwatch.versions.count() == 2


def test_the_database_refuses_to_change_a_declaration_of_it(study, stopwatch, publish):
    publish(study)

    with transaction.atomic(), pytest.raises(ProgrammingError, match="never change"):
        Version.objects.update(declarations=[])


def test_a_study_without_own_tools_keeps_none(measured, publish):
    assert publish(measured).declarations == []
