"""What an installation has stored is read by the next version."""

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from benchmarks.models import Cell, CellSession, DueCheck, Flag, Plan, Run, System
from benchmarks.sentences import Sentence, counted
from benchmarks.studies.checking import check_due_studies
from benchmarks.studies.saving import register_system

words = import_module("benchmarks.migrations.0020_what_is_stored_says_study")
bimodal = import_module("benchmarks.migrations.0021_two_speeds_are_bimodal")
published = import_module("benchmarks.migrations.0022_versions_are_published")
named = import_module("benchmarks.migrations.0024_systems_know_emulation")
sittings = import_module("benchmarks.migrations.0028_sittings_are_derived")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("two_speeds", "bimodal"),
        ("two_speeds,periodic", "bimodal,periodic"),
        ("drift", "drift"),
        ("", ""),
    ],
)
def test_cells_of_two_speeds_become_bimodal(submit, run_document, old, new):
    submit(run_document())
    Cell.objects.update(shape_codes=old)

    with connection.cursor() as cursor:
        cursor.execute(bimodal.CODES)

    assert Cell.objects.get().shape_codes == new


EDITOR = SimpleNamespace(connection=connection)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            Sentence("{seats} never came.", seats=Sentence("Seat {n}", n=2)),
            "Slot 2 never came.",
        ),
        (
            counted("{n} campaign leans on it.", "{n} campaigns lean on it.", n=3),
            "3 studies lean on it.",
        ),
        (
            Sentence('Line 4 "{text}" on {host}.', text="no seat", host="campaign-4"),
            'Line 4 "no seat" on campaign-4.',
        ),
        ("A seat is a seat.", "A seat is a seat."),
    ],
)
def test_sentences_say_the_new_words_and_keep_what_people_wrote(
    submit, run_document, old, new
):
    submit(run_document())
    Run.objects.update(reason=old)

    words.say_sentences_anew(apps, EDITOR)

    assert Run.objects.get().reason == new


def test_a_plan_of_before_keeps_its_slots(study):
    options = {"tool": "hackbench", "options": {"peer": "seats"}}
    design = {"systems": [{"system": 1, "seats": 3}], "tools": [options]}
    Plan.objects.create(lab=study.lab, study=study, design=design, budget_s=60, seed=1)

    words.plan_slots(apps, EDITOR)

    new = {"systems": [{"system": 1, "slots": 3}], "tools": [options]}
    assert Plan.objects.get().design == new


def test_flags_of_before_have_the_new_severities_and_are_looked_for_again(study):
    rules = {"unit-slip": "error", "seats-do-not-add-up": "notice"}
    for rule, severity in rules.items():
        Flag.objects.create(
            lab=study.lab, study=study, rule=rule, severity=severity, fingerprint=rule
        )

    words.say_flags_anew(apps, EDITOR)

    assert set(Flag.objects.values_list("rule", "severity")) == {
        ("unit-slip", "impossible"),
        ("slots-do-not-add-up", "check"),
    }
    assert DueCheck.objects.filter(study=study).exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            Sentence("The study has changed. Look at it and freeze it again."),
            "The study has changed. Look at it and publish it again.",
        ),
        (
            Sentence("Freeze {study} when they are done.", study="freeze-2026"),
            "Publish freeze-2026 when they are done.",
        ),
        ("Do not freeze.", "Do not freeze."),
    ],
)
def test_why_a_version_was_not_published_is_told_in_the_new_words(
    study, person, old, new
):
    job = study.publishing_jobs.create(person=person, stage="failed", problem=old)

    published.say_problems_anew(apps, EDITOR)

    job.refresh_from_db()
    assert job.problem == new


def test_stored_systems_get_the_name_of_the_vocabulary(lab, host):
    stored = System.objects.create(
        lab=lab, host=host, hypervisor="qemu (no kvm)", fingerprint="of old"
    )
    real = System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kept"
    )

    named.name_platforms(apps, EDITOR)
    named.name_platforms(apps, EDITOR)

    stored.refresh_from_db()
    real.refresh_from_db()
    again, is_new = register_system(
        lab=lab, description={"host": host.slug, "hypervisor": "QEMU/TCG"}
    )
    assert (again, is_new, stored.is_emulated) == (stored, False, True)
    assert (real.fingerprint, real.is_emulated) == ("kept", False)


def test_two_spellings_that_were_stored_apart_stay_apart(lab, host):
    register_system(lab=lab, description={"host": host.slug, "hypervisor": "QEMU TCG"})
    other = System.objects.create(
        lab=lab, host=host, hypervisor="qemu (no kvm)", fingerprint="of old"
    )

    named.name_platforms(apps, EDITOR)

    other.refresh_from_db()
    assert (other.hypervisor, other.is_emulated) == ("qemu (no kvm)", True)
    assert System.objects.count() == 2


def test_what_agents_detected_before_is_known(submit, run_document):
    submit(
        run_document(5.0, system={"hypervisor": "KVM"}),
        run_document(
            5.0,
            system={"hypervisor": "Xen"},
            facts={"platform": {"layers": ["kvm", "qemu-tcg", "xen-pv"]}},
        ),
    )
    System.objects.update(is_emulated=False)

    with connection.cursor() as cursor:
        cursor.execute(named.DETECTED)

    assert [each.hypervisor for each in System.objects.filter(is_emulated=True)] == [
        "Xen"
    ]


def test_runs_of_before_sit_where_they_were_named_and_all_others_are_derived(
    submit, run_document, study
):
    started = {"started_at": "2021-05-03T08:00:00Z"}
    agents = {"session": "agent-0123456789ab", **started}
    # Of three values: what says the same again counts as uploaded twice.
    submit(
        run_document(52.9, session="day 1"),
        run_document(53.1, **agents),
        run_document(53.3),
    )
    check_due_studies(timedelta(0))
    Run.objects.update(sitting=None)
    CellSession.objects.all().delete()

    with connection.cursor() as cursor:
        for statement in (sittings.NAMED, sittings.LOOK_AGAIN, sittings.CHECK):
            cursor.execute(statement)

    runs = Run.objects.order_by("pk").values_list("sitting__name", flat=True)
    assert list(runs.all()) == ["day 1", None, None]
    assert DueCheck.objects.filter(study=study).exists()
    check_due_studies(timedelta(0))
    assert list(runs.all()) == ["day 1", "2021-05-03 08:00", None]
    assert CellSession.objects.count() == 3
