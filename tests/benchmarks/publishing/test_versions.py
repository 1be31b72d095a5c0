"""Versions: complete, immutable, withdrawn with a reason, signed by other labs."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import ProgrammingError, transaction
from django.db.models import ProtectedError

from benchmarks.custom_tools.registration import change_tool, read_declaration
from benchmarks.errors import InvalidError
from benchmarks.models import AuditEntry, Study, Version, VersionFile
from benchmarks.publishing.publications import withdraw
from benchmarks.publishing.versions import (
    publish_version,
    sign_version,
)
from benchmarks.studies import checking
from benchmarks.uploads import intake
from tests import job_queue, publications
from tests.custom_tools import boot_sample, declaration, declare, metric


@pytest.fixture
def measured(study, submit, run_document):
    submit(run_document())
    return study


@pytest.fixture
def settled(measured):
    """The study with finished checks."""
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def reviewer(other_lab):
    return get_user_model().objects.create_user("dave")


def test_version_stores_all_formats_with_digests(measured, publish):
    version = publish(measured)

    files = {item.name: item for item in version.files.all()}
    assert bytes(files["csv"].content) == b"a,b\r\n"
    assert files["csv"].digest == hashlib.sha256(b"a,b\r\n").hexdigest()
    assert (files["csv"].size, version.number, version.published_by) == (5, 1, "carol")
    lines = f"{files['bib'].digest}  bib\n{files['csv'].digest}  csv\n"
    assert version.digest == hashlib.sha256(lines.encode()).hexdigest()
    lines = "".join(f"{files[name].digest}  {name}\n" for name in sorted(files))
    assert version.digest == hashlib.sha256(lines.encode()).hexdigest()


def test_version_stores_level_and_rule_set(measured, publish, settings):
    version = publish(measured)

    assert (version.rule_set, version.level) == (3, "draft")
    assert "microcode" in version.undisclosed["host"]
    assert version.product_version == settings.VERSION


def test_versions_are_numbered(measured, publish):
    assert [publish(measured).number for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "change",
    [lambda files: files.update(content=b"x"), lambda files: files.delete()],
    ids=["update", "delete"],
)
def test_database_rejects_changes_of_versions(measured, publish, change):
    publish(measured)
    files = VersionFile.objects.filter(name="csv")

    with transaction.atomic(), pytest.raises(ProgrammingError, match="never change"):
        change(files)


def test_study_of_a_version_cannot_be_deleted(measured, publish):
    publish(measured)

    with pytest.raises(ProtectedError):
        measured.delete()


def test_a_study_without_results_is_not_published(study, publish):
    with pytest.raises(InvalidError, match="no results"):
        publish(study)


def test_waiting_runs_prevent_publication(measured, publish, agent, run_document):
    intake.submit_runs(agent=agent, documents=[run_document()])

    with pytest.raises(InvalidError, match="still being processed"):
        publish(measured)


def test_study_changed_while_publishing_is_not_published(measured, publish):
    def write(version):
        with transaction.atomic():
            Study.objects.update(note="another")
        return {"csv": b""}

    with pytest.raises(InvalidError, match="study has changed"):
        publish(measured, write=write)
    assert not Version.objects.exists()


def test_study_changed_since_the_request_is_not_published(measured, person, settled):
    job = publications.requested(measured, person)
    with transaction.atomic():
        Study.objects.update(note="another")

    with pytest.raises(InvalidError, match="study has changed"):
        publish_version(job=job_queue.claim(job), write=publications.small_files)


def test_version_becomes_visible_as_a_whole(measured, publish):
    visible = []

    def write(version):
        visible.append((version.pk, Version.objects.count()))
        return {"csv": b"", "bib": b""}

    assert visible == [(publish(measured, write=write).pk, 0)]


def test_superseded_publisher_stores_nothing(measured, person, settled):
    slow = job_queue.claim(publications.requested(measured, person))
    quick = job_queue.claim(slow)
    publish_version(job=quick, write=publications.small_files)

    with pytest.raises(InvalidError, match="Another worker"):
        publish_version(job=slow, write=publications.small_files)
    assert Version.objects.count() == 1


@pytest.mark.parametrize(
    ("publishing_permission", "note", "refusal"),
    [
        ("", "", "whether a license"),
        ("maybe", "", "whether a license"),
        ("granted", "  ", "who gave permission"),
    ],
)
def test_question_about_licenses_must_be_answered(
    measured, publish, publishing_permission, note, refusal
):
    with pytest.raises(InvalidError, match=refusal):
        publish(
            measured, publishing_permission=publishing_permission, permission_note=note
        )


def test_answer_about_licenses_is_stored(measured, publish):
    version = publish(
        measured, publishing_permission="granted", permission_note="VMware, 2026-05-01"
    )

    assert (version.publishing_permission, version.permission_note) == (
        "granted",
        "VMware, 2026-05-01",
    )


def test_version_is_withdrawn_once_and_kept(measured, publish):
    version = publish(measured)
    with pytest.raises(InvalidError, match="Give a reason"):
        withdraw(version, actor="carol", reason=" ")

    withdraw(version, actor="carol", reason="Wrong disk.")

    with pytest.raises(InvalidError, match="already withdrawn"):
        withdraw(version, actor="carol", reason="Another reason.")
    stored = Version.objects.get()
    assert (stored.withdrawn_by, stored.withdrawal_reason) == ("carol", "Wrong disk.")
    assert stored.files.count() == 2
    log = AuditEntry.objects.filter(lab=version.lab).order_by("pk")
    assert [(entry.kind, entry.actor) for entry in log][-2:] == [
        ("published", version.published_by),
        ("withdrew_published", "carol"),
    ]
    assert "Wrong disk." in log[len(log) - 1].about


def test_signature_of_another_lab_verifies_a_version(
    measured, publish, other_lab, reviewer
):
    version = publish(measured)
    Version.objects.update(assessed_level="lab")

    sign_version(version=version, lab=other_lab, person=reviewer, note="Repeated it.")

    stored = Version.objects.get()
    assert stored.level == "verified"
    assert stored.signatures.get().signed_by == "dave"
    signed = AuditEntry.objects.filter(kind=AuditEntry.Kind.SIGNED_VERSION)
    assert {entry.lab for entry in signed} == {version.lab, other_lab}


def test_signature_does_not_raise_a_draft(measured, publish, other_lab, reviewer):
    version = publish(measured)
    sign_version(version=version, lab=other_lab, person=reviewer, note="Read it.")

    assert Version.objects.get().level == "draft"


def test_invalid_signatures_are_rejected(measured, publish, lab, other_lab, reviewer):
    version = publish(measured)

    def refused(match, **changes):
        given = {"lab": other_lab, "person": reviewer, "note": "Read it.", **changes}
        with pytest.raises(InvalidError, match=match):
            sign_version(version=version, **given)

    refused("its own", lab=lab)
    refused("Describe what", note=" ")
    sign_version(version=version, lab=other_lab, person=reviewer, note="Read it.")
    refused("already")
    withdraw(version, actor="carol", reason="Wrong disk.")
    refused("withdrawn")


@pytest.fixture
def stopwatch(study, submit, run_document, lab):
    """A study with results of a custom tool."""
    tool = declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    checking.check_due_studies(timedelta(0))
    return tool


def test_version_stores_declarations_of_custom_tools(study, stopwatch, publish, agent):
    version = publish(study)

    metrics = [metric(title="Time to the prompt")]
    change_tool(
        tool=stopwatch,
        declaration=read_declaration(declaration(metrics=metrics)),
        actor=agent,
    )

    version.refresh_from_db()
    (stored,) = version.custom_tools
    assert (stored["name"], stored["version"]) == ("alpha-lab:boot-time", 1)
    assert stored["metrics"][0]["title"] == ""
    assert stopwatch.versions.count() == 2


def test_database_rejects_changes_of_declarations(study, stopwatch, publish):
    publish(study)

    with transaction.atomic(), pytest.raises(ProgrammingError, match="never change"):
        Version.objects.update(custom_tools=[])


def test_study_without_custom_tools_stores_no_declarations(measured, publish):
    assert publish(measured).custom_tools == []
