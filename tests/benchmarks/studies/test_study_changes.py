"""Creation and change of studies."""

import pytest

from benchmarks.errors import ConflictError, RateLimitError, UnknownNameError
from benchmarks.models import AuditEntry, Efficiency, Flag, Job, Study, System
from benchmarks.studies import saving
from benchmarks.studies.checking import check_study
from benchmarks.studies.saving import save_study, update_study
from benchmarks.viewer import ANYONE, Viewer


def test_saving_the_same_study_again_is_safe(lab):
    first, created = save_study(lab=lab, slug="study", title="A study")
    second, created_again = save_study(lab=lab, slug="study", title="A study")

    assert (first, created, created_again) == (second, True, False)


def test_new_studies_of_a_lab_are_limited_per_day(lab, other_lab, settings):
    settings.LAB_STUDIES_PER_DAY = 2
    for slug in ("a", "b"):
        save_study(lab=lab, slug=slug, title=slug)

    with pytest.raises(RateLimitError, match="2 new studies per day"):
        save_study(lab=lab, slug="c", title="c")
    assert not save_study(lab=lab, slug="b", title="b")[1]
    assert save_study(lab=other_lab, slug="c", title="c")[1]
    assert lab.studies.count() == 2


def test_another_title_under_the_same_slug_is_a_conflict(lab):
    save_study(lab=lab, slug="study", title="A study")

    with pytest.raises(ConflictError, match="differs in title"):
        save_study(lab=lab, slug="study", title="Another study")


def test_two_labs_may_use_the_same_slug(lab, other_lab):
    save_study(lab=lab, slug="study", title="A study")
    save_study(lab=other_lab, slug="study", title="Another study")

    assert Study.objects.count() == 2


def test_a_reference_system_of_another_lab_is_unknown(
    study, other_lab, submit, run_document
):
    submit(run_document())
    System.objects.update(lab=other_lab)

    with pytest.raises(UnknownNameError):
        update_study(study=study, reference_system=System.objects.get().pk)


def test_wider_margin_resolves_ambiguous_baselines(study, submit, run_document, xen):
    one, two = {"options": {"memory": "1 GiB"}}, {"options": {"memory": "2 GiB"}}
    submit(
        run_document(50.0, system=one),
        run_document(52.0, system=two),
        run_document(25.0, system=xen),
    )
    assert Efficiency.objects.filter(state="ambiguous").count() == 1

    update_study(study=study, equivalence_margin_percent=5.0)

    assert Efficiency.objects.filter(state="paired").count() == 1


@pytest.fixture
def study_with_native_run(study, private_study, submit, run_document, xen):
    """A public study whose native run is in a private study."""
    submit(run_document(50.0, study=private_study.slug), run_document(25.0, system=xen))
    return private_study


def test_changed_factors_queue_a_check(study):
    assert not Job.objects.filter(kind="check").exists()

    update_study(study=study, factors=["hypervisor"])

    assert Job.objects.filter(kind="check").get().study == study


def test_public_study_uses_only_public_baselines(study_with_native_run, study):
    against = Efficiency.objects.filter(cell__study=study)
    assert against.get().state == "missing"

    update_study(study=study_with_native_run, visibility="public")
    assert against.get().baseline_mean == 50.0

    update_study(study=study_with_native_run, visibility="private")
    assert (against.get().state, against.get().baseline_mean) == ("missing", None)


def test_private_study_uses_all_baselines_of_its_lab(study_with_native_run, study):
    update_study(study=study, visibility="private")

    assert Efficiency.objects.get(cell__study=study).baseline_mean == 50.0


def test_study_is_checked_before_it_becomes_visible(study, submit, run_document):
    update_study(study=study, visibility="private")
    submit(run_document(50.0), run_document(60.0, system={"options": {"a": "b"}}))
    assert not Flag.objects.exists()

    update_study(study=study, visibility="public")

    assert Flag.objects.visible_to(ANYONE).get().rule == "baselines-disagree"


def test_study_with_failing_check_stays_private(private_study, monkeypatch):
    def fail(study):
        raise ZeroDivisionError

    monkeypatch.setattr(saving, "check_study", fail)

    with pytest.raises(ConflictError, match="stays private"):
        update_study(study=private_study, visibility="public")
    assert not Study.objects.get(pk=private_study.pk).is_public


def test_study_with_failing_check_can_be_made_private(study, monkeypatch):
    def fail(study):
        raise ZeroDivisionError

    monkeypatch.setattr(saving, "check_study", fail)

    update_study(study=study, visibility="private")

    assert not Study.objects.get(pk=study.pk).is_public
    assert Job.objects.filter(kind="check", study=study).exists()


@pytest.mark.parametrize("status", ["open", "confirmed", "gone"])
def test_flag_is_visible_with_its_quoted_studies(
    lab, study, submit, run_document, status
):
    earlier = Study.objects.create(
        lab=lab, slug="earlier", title="Earlier", visibility="public"
    )
    submit(run_document(50.0, study="earlier"), run_document(60.0))
    check_study(study)
    flags = Flag.objects.filter(study=study, rule="baselines-disagree")
    if status != "open":
        flags.update(status="confirmed")
    if status == "gone":
        flags.update(resolved_at=earlier.created_at)
    assert flags.visible_to(ANYONE).count() == 1

    update_study(study=earlier, visibility="private")

    assert not flags.visible_to(ANYONE).exists()
    assert flags.visible_to(Viewer(frozenset({lab.pk}))).count() == 1


def test_visibility_changes_are_audited(private_study):
    update_study(study=private_study, actor="alice", title="Another title")
    update_study(study=private_study, actor="alice", visibility="public")
    update_study(study=private_study, actor="alice", visibility="public")

    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.about) == ("alice", "secret-study: private → public")
