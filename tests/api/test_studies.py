"""/studies/: studies of a lab."""

import pytest

from benchmarks.models import Lab, Study, System

STUDY = {
    "slug": "lmu-2010-xen",
    "title": "Parameters that influence the efficiency of virtualization: Xen 3.3",
    "author": "Bastian Gebhardt",
    "institution": "LMU Munich",
    "published": "2010-07-29",
    "language": "de",
    "note": "One printed value per cell.\nGuests: 1 vCPU.",
    "visibility": "public",
    "factors": {"guest bits": [32, 64], "AMD-V": ["off", "on"]},
    "equivalence_margin_percent": 2,
    "baseline_max_age_days": 30,
}


def test_studies_can_be_created(api, lab):
    answer = api.post("studies/", STUDY)

    assert answer.status_code == 201
    assert answer.json() == {
        **STUDY,
        "id": Study.objects.get().pk,
        "url": "http://testserver/api/v1/studies/alpha-lab/lmu-2010-xen/",
        "lab": "alpha-lab",
        "reference_system": None,
        "system_references": {},
        "shared_with": [],
        "data_licence": "",
        "sources": [],
        "archived_at": None,
        "comments_closed": False,
        "created_at": answer.json()["created_at"],
    }
    assert answer.headers["Location"] == answer.json()["url"]
    assert Study.objects.get().lab == lab


def test_identical_studies_are_200(api):
    first = api.post("studies/", STUDY)

    again = api.post("studies/", STUDY)

    assert (again.status_code, again.json()) == (200, first.json())


def test_existing_slugs_with_another_title_are_409(api):
    api.post("studies/", STUDY)

    answer = api.post("studies/", {**STUDY, "title": "Another"})

    assert (answer.status_code, answer.json()["code"]) == (409, "study_exists")
    assert "differs in title" in answer.json()["detail"]
    assert "PATCH" in answer.json()["detail"]
    assert Study.objects.get().title == STUDY["title"]


def test_studies_name_the_works_that_their_numbers_come_from(api, anyone):
    source = {
        "title": "An updated performance comparison",
        "kind": "paper",
        "doi": "10.1109/ISPASS.2015.7095802",
    }
    assert api.post("studies/", {**STUDY, "sources": [source]}).status_code == 201
    assert api.post("studies/", {**STUDY, "sources": [source]}).status_code == 200

    (stored,) = anyone.get("studies/lmu-2010-xen/").json()["sources"]

    assert {name: stored[name] for name in source} == source
    assert stored["relation"] == "transcribed"
    assert stored["url"] == ""


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"title": "A", "doi": "https://doi.org/10.1/2"}, "doi"),
        ({"title": "A", "url": "javascript:alert(1)"}, "url"),
        ({"title": "A", "file_url": "https://example.org/data/"}, "file_url"),
        ({"kind": "report"}, "title"),
        ({"title": "A", "author": "B"}, "author"),
    ],
)
def test_invalid_sources_are_rejected(api, source, field):
    answer = api.post("studies/", {**STUDY, "sources": [source]})

    assert answer.status_code == 400
    assert any(field in name for name in answer.json()["fields"])


def test_two_labs_can_use_the_same_slug(api, stranger):
    assert api.post("studies/", STUDY).status_code == 201
    assert stranger.post("studies/", STUDY).status_code == 201


def test_new_studies_are_private(api):
    api.post("studies/", {"slug": "x", "title": "X"})

    assert Study.objects.get().visibility == "private"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"slug": "a b"}, "slug"),
        ({"slug": "a/b"}, "slug"),
        ({"slug": 5}, "slug"),
        ({"title": ""}, "title"),
        ({"title": " padded "}, "title"),
        ({"title": "x" * 301}, "title"),
        ({"published": "29.7.2010"}, "published"),
        ({"published": 2010}, "published"),
        ({"language": "german!"}, "language"),
        ({"visibility": "secret"}, "visibility"),
        ({"factors": {"bits": 32}}, "factors.bits"),
        ({"factors": {"bits": [[32]]}}, "factors.bits[0]"),
        ({"factors": ["bits"]}, "factors"),
        ({"equivalence_margin_percent": -1}, "equivalence_margin_percent"),
        ({"equivalence_margin_percent": "2"}, "equivalence_margin_percent"),
        ({"baseline_max_age_days": 1.5}, "baseline_max_age_days"),
        ({"baseline_max_age_days": True}, "baseline_max_age_days"),
        ({"reference_system": 1}, "reference_system"),
        ({"titel": "X"}, "titel"),
        ({"note": None}, "note"),
    ],
)
def test_invalid_studies_are_rejected(api, changes, field):
    answer = api.post("studies/", {**STUDY, **changes})

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not Study.objects.exists()


def test_missing_fields_are_named(api):
    answer = api.post("studies/", {})

    assert answer.json()["fields"] == {
        "slug": ["This is missing. Send it."],
        "title": ["This is missing. Send it."],
    }


def test_visible_studies_are_listed(anyone, reader, study, private_study):
    public = [row["slug"] for row in anyone.get("studies/").json()["results"]]
    own = [row["slug"] for row in reader.get("studies/").json()["results"]]

    assert (public, own) == (["study"], ["study", "secret-study"])


def test_studies_have_counts(anyone, measured):
    answer = anyone.get("studies/study/").json()

    assert answer["counts"] == {
        "runs": 2,
        "cells": 2,
        "systems": 2,
        "compared_cells": 1,
        "waiting_runs": 0,
        "rejected_runs": 0,
        "quarantined_runs": 0,
        "unchecked_runs": 1,
        "open_flags": 0,
    }
    assert answer["hypervisors"] == ["Xen", "native"]
    assert answer["tools"] == ["iometer"]


def test_studies_can_be_named_with_their_lab(anyone, study, other_lab):
    Study.objects.create(
        lab=other_lab, slug="study", title="Theirs", visibility="public"
    )

    ambiguous = anyone.get("studies/study/")
    theirs = anyone.get("studies/beta-lab/study/")

    assert (ambiguous.status_code, ambiguous.json()["code"]) == (
        400,
        "ambiguous_study",
    )
    assert theirs.json()["title"] == "Theirs"


@pytest.mark.parametrize("name", ["theirs", "beta-lab/theirs", "missing"])
def test_private_studies_of_other_labs_are_404_like_missing_ones(
    api, reader, foreign_study, name
):
    for caller in (api, reader):
        read = caller.get(f"studies/{name}/")
        changed = caller.patch(f"studies/{name}/", {"title": "Mine now"})
        assert (read.status_code, read.json()["code"]) == (404, "not_found")
        assert changed.status_code == (404 if caller is api else 403)

    assert Study.objects.get().title == "Their study"


def test_public_studies_of_other_labs_cannot_be_changed(stranger, study):
    assert stranger.patch("studies/study/", {"title": "X"}).status_code == 404


def test_only_sent_fields_are_changed(api, study):
    answer = api.patch(
        "studies/study/", {"title": "Renamed", "equivalence_margin_percent": 5}
    )

    assert answer.status_code == 200
    assert (answer.json()["title"], answer.json()["equivalence_margin_percent"]) == (
        "Renamed",
        5,
    )
    assert answer.json()["visibility"] == "public"


@pytest.mark.parametrize("changes", [{}, {"title": "A study"}])
def test_changes_may_be_empty(api, study, changes):
    assert api.patch("studies/study/", changes).status_code == 200


def test_slugs_cannot_be_changed(api, study):
    answer = api.patch("studies/study/", {"slug": "other"})

    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["slug"])


def test_reference_systems_can_be_set_and_cleared(api, study, measured):
    xen = System.objects.get(hypervisor="Xen")

    set_to = api.patch("studies/study/", {"reference_system": xen.pk})
    cleared = api.patch("studies/study/", {"reference_system": None})

    assert set_to.json()["reference_system"] == xen.pk
    assert cleared.json()["reference_system"] is None


def test_unknown_reference_systems_are_422(api, study):
    answer = api.patch("studies/study/", {"reference_system": 999})

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_system")


def test_single_systems_can_have_another_reference_system(api, study, measured):
    ids = list(System.objects.values_list("pk", flat=True)[:2])
    references = {str(ids[0]): ids[1]}

    answer = api.patch("studies/study/", {"system_references": references})

    assert answer.json()["system_references"] == references


@pytest.mark.parametrize("references", [{"999": 999}, {"Xen": 999}])
def test_unknown_systems_with_another_reference_system_are_422(api, study, references):
    answer = api.patch("studies/study/", {"system_references": references})

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_system")


def test_studies_can_be_shared_with_labs(api, other_lab):
    answer = api.post(
        "studies/",
        {**STUDY, "visibility": "shared", "shared_with": ["beta-lab"]},
    )

    assert answer.status_code == 201
    assert answer.json()["shared_with"] == ["beta-lab"]


def test_labs_see_only_themselves_in_shared_with(
    api, anyone, other_lab, other_read_token
):
    Lab.objects.create(slug="gamma-lab")
    shared = {"visibility": "shared", "shared_with": ["beta-lab", "gamma-lab"]}
    api.post("studies/", {**STUDY, **shared})

    seen = anyone.get("studies/alpha-lab/lmu-2010-xen/", token=other_read_token)

    assert seen.json()["shared_with"] == ["beta-lab"]
    assert anyone.get("studies/alpha-lab/lmu-2010-xen/").status_code == 404


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"visibility": "shared"}, "invalid_sharing"),
        ({"visibility": "shared", "shared_with": []}, "invalid_sharing"),
        ({"visibility": "shared", "shared_with": ["alpha-lab"]}, "invalid_sharing"),
        ({"visibility": "private", "shared_with": ["beta-lab"]}, "invalid_sharing"),
        ({"visibility": "shared", "shared_with": ["missing"]}, "unknown_lab"),
    ],
)
def test_sharing_requires_known_labs(api, other_lab, changes, code):
    answer = api.post("studies/", {**STUDY, **changes})

    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert not Study.objects.exists()


def test_private_studies_are_shared_with_no_lab(api, other_lab):
    api.post("studies/", {**STUDY, "visibility": "shared", "shared_with": ["beta-lab"]})

    api.patch("studies/lmu-2010-xen/", {"visibility": "private"})

    assert not Study.objects.get().shared_with.exists()
    again = api.patch("studies/lmu-2010-xen/", {"visibility": "shared"})
    assert again.status_code == 422


def test_archived_studies_accept_no_runs(api, study, run_document):
    archived = api.patch("studies/study/", {"archived": True}).json()

    refused = api.post("runs/", run_document())

    assert archived["archived_at"]
    assert (refused.status_code, refused.json()["code"]) == (409, "study_archived")
    assert (
        api.patch("studies/study/", {"archived": False}).json()["archived_at"] is None
    )
    assert api.post("runs/", run_document()).status_code == 202
