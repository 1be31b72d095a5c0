"""/api/v1/campaigns/: studies of a lab."""

import pytest

from benchmarks.models import Campaign, System

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
    "band_percent": 2,
    "baseline_max_age_days": 30,
}


def test_it_creates_a_campaign(api, lab):
    answer = api.post("campaigns/", STUDY)

    assert answer.status_code == 201
    assert answer.json() == {
        **STUDY,
        "id": Campaign.objects.get().pk,
        "url": "http://testserver/api/v1/campaigns/alpha-lab/lmu-2010-xen/",
        "lab": "alpha-lab",
        "reference_system": None,
        "created_at": answer.json()["created_at"],
    }
    assert answer.headers["Location"] == answer.json()["url"]
    assert Campaign.objects.get().lab == lab


def test_the_same_campaign_again_is_200(api):
    first = api.post("campaigns/", STUDY)

    again = api.post("campaigns/", STUDY)

    assert (again.status_code, again.json()) == (200, first.json())


def test_the_same_slug_with_another_title_is_409(api):
    api.post("campaigns/", STUDY)

    answer = api.post("campaigns/", {**STUDY, "title": "Another"})

    assert (answer.status_code, answer.json()["code"]) == (409, "campaign_exists")
    assert "another title" in answer.json()["detail"]
    assert "PATCH" in answer.json()["detail"]
    assert Campaign.objects.get().title == STUDY["title"]


def test_two_labs_may_use_one_slug(api, stranger):
    assert api.post("campaigns/", STUDY).status_code == 201
    assert stranger.post("campaigns/", STUDY).status_code == 201


def test_a_new_campaign_is_private(api):
    api.post("campaigns/", {"slug": "x", "title": "X"})

    assert Campaign.objects.get().visibility == "private"


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
        ({"band_percent": -1}, "band_percent"),
        ({"band_percent": "2"}, "band_percent"),
        ({"baseline_max_age_days": 1.5}, "baseline_max_age_days"),
        ({"baseline_max_age_days": True}, "baseline_max_age_days"),
        ({"reference_system": 1}, "reference_system"),
        ({"titel": "X"}, "titel"),
        ({"note": None}, "note"),
    ],
)
def test_it_refuses_a_bad_value_and_stores_nothing(api, changes, field):
    answer = api.post("campaigns/", {**STUDY, **changes})

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not Campaign.objects.exists()


def test_it_asks_for_what_is_missing(api):
    answer = api.post("campaigns/", {})

    assert answer.json()["fields"] == {
        "slug": ["This is missing. Send it."],
        "title": ["This is missing. Send it."],
    }


def test_it_lists_what_one_may_see(anyone, reader, campaign, private_campaign):
    public = [each["slug"] for each in anyone.get("campaigns/").json()["results"]]
    own = [each["slug"] for each in reader.get("campaigns/").json()["results"]]

    assert (public, own) == (["study"], ["study", "secret-study"])


def test_it_shows_a_campaign_with_its_numbers(anyone, measured):
    answer = anyone.get("campaigns/study/").json()

    assert answer["counts"] == {
        "runs": 2,
        "cells": 2,
        "systems": 2,
        "compared": 1,
        "waiting": 0,
        "rejected": 0,
        "quarantined": 0,
        "unchecked": 1,
        "flags": 0,
    }
    assert answer["hypervisors"] == ["Xen", "native"]
    assert answer["tools"] == ["iometer"]


def test_a_campaign_can_be_named_with_its_lab(anyone, campaign, other_lab):
    Campaign.objects.create(
        lab=other_lab, slug="study", title="Theirs", visibility="public"
    )

    ambiguous = anyone.get("campaigns/study/")
    theirs = anyone.get("campaigns/beta-lab/study/")

    assert (ambiguous.status_code, ambiguous.json()["code"]) == (
        400,
        "ambiguous_campaign",
    )
    assert theirs.json()["title"] == "Theirs"


@pytest.mark.parametrize("name", ["theirs", "beta-lab/theirs", "missing"])
def test_another_labs_private_campaign_is_404_like_a_missing_one(
    api, reader, foreign_campaign, name
):
    for caller in (api, reader):
        read = caller.get(f"campaigns/{name}/")
        changed = caller.patch(f"campaigns/{name}/", {"title": "Mine now"})
        assert (read.status_code, read.json()["code"]) == (404, "not_found")
        assert changed.status_code == (404 if caller is api else 403)

    assert Campaign.objects.get().title == "Their study"


def test_another_labs_public_campaign_cannot_be_changed(stranger, campaign):
    assert stranger.patch("campaigns/study/", {"title": "X"}).status_code == 404


def test_it_changes_what_is_sent_and_no_more(api, campaign):
    answer = api.patch("campaigns/study/", {"title": "Renamed", "band_percent": 5})

    assert answer.status_code == 200
    assert (answer.json()["title"], answer.json()["band_percent"]) == ("Renamed", 5)
    assert answer.json()["visibility"] == "public"


@pytest.mark.parametrize("changes", [{}, {"title": "A study"}])
def test_a_change_that_changes_nothing_is_fine(api, campaign, changes):
    assert api.patch("campaigns/study/", changes).status_code == 200


def test_a_slug_cannot_be_changed(api, campaign):
    answer = api.patch("campaigns/study/", {"slug": "other"})

    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["slug"])


def test_it_sets_and_clears_the_reference_system(api, campaign, measured):
    xen = System.objects.get(hypervisor="Xen")

    set_to = api.patch("campaigns/study/", {"reference_system": xen.pk})
    cleared = api.patch("campaigns/study/", {"reference_system": None})

    assert set_to.json()["reference_system"] == xen.pk
    assert cleared.json()["reference_system"] is None


def test_an_unknown_reference_system_is_422(api, campaign):
    answer = api.patch("campaigns/study/", {"reference_system": 999})

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_system")
