"""Replications of stored studies: their visibility and the resulting level."""

from datetime import timedelta

import pytest

from benchmarks.evidence.replication import reproduced_by, study_replications
from benchmarks.models import Agent, Host, Lab, Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.uploads import intake, processing
from benchmarks.viewer import ANYONE, Viewer
from tests.upload_documents import interleaved, network_run

NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
EVEN = (100.1, 100.3, 99.8, 100.0, 99.9, 100.2)
XEN = {"hypervisor": "Xen", "hypervisor_version": "3.3"}


def measured(lab, slug, vm=SLOW, **changes):
    """Measure a lab's machine natively and as a Xen guest in a separate study."""
    Host.objects.get_or_create(lab=lab, slug="alpha")
    agent, _is_new = Agent.objects.get_or_create(lab=lab, name="sender")
    values = {"title": slug, "visibility": "public", **changes}
    study = Study.objects.create(lab=lab, slug=slug, **values)
    of_study = {"host": "alpha", "study": slug}
    runs = interleaved(
        (network_run(value, **of_study) for value in NATIVE),
        (network_run(value, **of_study, system=XEN) for value in vm),
    )
    intake.submit_runs(agent=agent, documents=runs)
    processing.process_due_uploads()
    checking.check_due_studies(timedelta(0))
    return study


@pytest.fixture
def labs(db):
    return [
        Lab.objects.create(slug=slug, name=f"The {slug}") for slug in ("one", "other")
    ]


def outcomes(viewer, study):
    return [each.outcome for each in study_replications(viewer, study).replications]


@pytest.mark.parametrize(
    ("vm", "outcome"), [(SLOW, "confirmed"), (EVEN, "contradicted")]
)
def test_another_lab_confirms_or_contradicts(labs, vm, outcome):
    study = measured(labs[0], "first")
    other = measured(labs[1], "second", vm)

    (found,) = study_replications(ANYONE, study).replications
    assert found.outcome == outcome
    assert found.results[0].effect.lab == "The other"
    assert outcomes(ANYONE, other) == [outcome]
    assert reproduced_by(study) == (("The other",) if outcome == "confirmed" else ())


def test_a_private_study_is_a_replication_for_its_lab_only(labs):
    study = measured(labs[0], "first")
    secret = measured(labs[1], "second", EVEN, visibility="private")

    assert outcomes(ANYONE, study) == []
    assert outcomes(Viewer(frozenset({labs[0].pk})), study) == []
    assert outcomes(Viewer(frozenset({labs[1].pk})), study) == ["contradicted"]
    assert reproduced_by(study) == ()

    update_study(study=secret, visibility="public")
    assert outcomes(ANYONE, study) == ["contradicted"]
    update_study(study=secret, visibility="private")
    assert outcomes(ANYONE, study) == []


def test_one_lab_cannot_reproduce_itself_under_another_name(labs):
    study = measured(labs[0], "first", institution="Here")
    measured(labs[0], "second", institution="Elsewhere")

    # It is shown with its declared institution but gives no level.
    assert outcomes(ANYONE, study) == ["confirmed"]
    assert reproduced_by(study) == ()


def test_two_studies_of_one_institution_are_not_a_replication(labs):
    study = measured(labs[0], "first", institution="Here")
    measured(labs[1], "second", institution="Here")

    assert outcomes(ANYONE, study) == []


def test_replications_need_two_queries(labs, django_assert_num_queries):
    study = measured(labs[0], "first")
    for number in range(3):
        measured(labs[1], f"reply-{number}")

    with django_assert_num_queries(2):
        found = study_replications(ANYONE, study)
    assert len(found.studies) == 3


def test_pages_and_the_api_show_confirmations(labs, client):
    study = measured(labs[0], "first")
    measured(labs[1], "second")

    page = client.get(f"/studies/one/{study.slug}/").content.decode()
    assert 'data-outcome="confirmed"' in page
    assert "/studies/other/second/" in page
    answer = client.get(f"/api/v1/studies/one/{study.slug}/").json()
    (told,) = answer["replications"]
    assert told["results"][0]["study"] == "other/second"
    assert told["effect"]["ratio"] == pytest.approx(0.8, abs=0.01)
    judged = client.get(f"/api/v1/publishing/?study=one/{study.slug}").json()
    assert judged["reproduced_by"] == ["The other"]
    assert judged["level"] == "draft"  # its own required facts are incomplete


def test_pages_do_not_reveal_private_studies(labs, client):
    study = measured(labs[0], "first")
    measured(labs[1], "hidden-away", (71.234, *SLOW[1:]), visibility="private")

    page = client.get(f"/studies/one/{study.slug}/").content.decode()
    answer = client.get(f"/api/v1/studies/one/{study.slug}/").content.decode()
    assert "data-replications" not in page
    assert '"replications":[]' in answer
    assert "hidden-away" not in page + answer
