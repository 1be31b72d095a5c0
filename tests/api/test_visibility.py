"""Every address, asked by everybody, about what one lab keeps private.

A new address fails here until it is said what of a lab it could give away.
"""

from datetime import timedelta

import pytest

from api.urls import urlpatterns
from benchmarks.models import Flag, Host, Run, Snapshot, System
from benchmarks.services import checking

# Addresses of one thing, and how to find the private one.
DETAILS = {
    "campaign": lambda: "campaigns/secret-study/",
    "host": lambda: f"hosts/{Host.objects.get().pk}/",
    "system": lambda: f"systems/{System.objects.get().pk}/",
    "run": lambda: f"runs/{Run.objects.get().pk}/",
    "samples": lambda: f"runs/{Run.objects.get().pk}/samples/",
    "profile": lambda: "profile/?campaign=secret-study",
    "flag": lambda: f"flags/{Flag.objects.get().pk}/",
    "snapshot": lambda: f"snapshots/{Snapshot.objects.get().pk}/",
    "snapshot-file": lambda: f"snapshots/{Snapshot.objects.get().pk}/csv/",
}
MISSING = {
    "campaign": "campaigns/missing/",
    "host": "hosts/999999/",
    "system": "systems/999999/",
    "run": "runs/999999/",
    "samples": "runs/999999/samples/",
    "profile": "profile/?campaign=missing-study",
    "flag": "flags/999999/",
    "snapshot": "snapshots/999999/",
    "snapshot-file": "snapshots/999999/csv/",
}
LISTS = ["campaigns", "hosts", "systems", "runs", "cells", "comparisons", "flags"]
LISTS += ["snapshots"]
ANALYSES = ["influence", "coruns", "energy", "publishing"]
BY_CAMPAIGN = ["systems", "runs", "cells", "comparisons", "flags", *ANALYSES]
BY_CAMPAIGN += ["snapshots"]
WITHOUT_LABS = {"bulk", "health", "parse", "schema", "docs", "time", "unknown"}
OUTSIDERS = ["nobody", "upload", "other upload", "other read"]


@pytest.fixture
def secret(submit, run_document, campaign, private_campaign, freeze):
    """A doubtful run that nobody outside the lab may know of, and nothing else."""
    campaign.delete()
    submit(run_document(campaign="secret-study"))
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    checking.check_due_campaigns(timedelta(0))
    freeze(private_campaign)


@pytest.fixture(params=OUTSIDERS)
def outsider(request, token, other_token, other_read_token):
    secrets = ["", token, other_token, other_read_token]
    return dict(zip(OUTSIDERS, secrets, strict=True))[request.param]


def test_every_address_is_classified():
    named = {pattern.name for pattern in urlpatterns}

    assert named == {*DETAILS, *LISTS, *ANALYSES, *WITHOUT_LABS}
    assert DETAILS.keys() == MISSING.keys()


@pytest.mark.parametrize("name", DETAILS)
def test_a_private_thing_answers_like_a_missing_one(anyone, secret, outsider, name):
    private = anyone.get(DETAILS[name](), token=outsider)
    missing = anyone.get(MISSING[name], token=outsider)

    assert private.status_code == missing.status_code == 404
    assert private.json()["code"] == missing.json()["code"] == "not_found"


@pytest.mark.parametrize("name", DETAILS)
def test_the_lab_reads_its_own(reader, secret, name):
    assert reader.get(DETAILS[name]()).status_code == 200


@pytest.mark.parametrize("name", LISTS)
def test_lists_hold_nothing_private(anyone, reader, secret, outsider, name):
    assert anyone.get(f"{name}/", token=outsider).json()["results"] == []
    assert len(reader.get(f"{name}/").json()["results"]) == 1


@pytest.mark.parametrize("name", ANALYSES)
def test_the_lab_analyses_its_own(reader, secret, name):
    assert reader.get(f"{name}/", campaign="secret-study").status_code == 200


@pytest.mark.parametrize("name", BY_CAMPAIGN)
def test_lists_do_not_tell_that_a_campaign_exists(anyone, secret, outsider, name):
    private = anyone.get(f"{name}/", token=outsider, campaign="secret-study")
    missing = anyone.get(f"{name}/", token=outsider, campaign="missing-study")

    assert (private.status_code, missing.status_code) == (404, 404)
    assert (
        private.json()["detail"].replace("secret", "missing")
        == (missing.json()["detail"])
    )


@pytest.mark.parametrize("name", ["systems", "runs"])
def test_filters_by_id_or_slug_find_nothing_private(anyone, secret, outsider, name):
    query = {"systems": {"host": "alpha"}, "runs": {"system": System.objects.get().pk}}

    answer = anyone.get(f"{name}/", token=outsider, **query[name])

    assert answer.json()["results"] == []
