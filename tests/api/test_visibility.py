"""Every address, asked by everybody, about what one lab keeps private.

A new address fails here until it is said what of a lab it could give away.
"""

from datetime import timedelta

import pytest

from api.urls import urlpatterns
from benchmarks.models import Case, Flag, Host, Plan, Run, Snapshot, System
from benchmarks.services import checking
from benchmarks.services.plans import create_plan
from benchmarks.services.power import keep_power
from tests.power_logs import piece, power

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
    "plan": lambda: f"plans/{Plan.objects.get().pk}/",
    "plan-steps": lambda: f"plans/{Plan.objects.get().pk}/steps/",
    "case": lambda: f"cases/{Case.objects.get().pk}/",
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
    "plan": "plans/999999/",
    "plan-steps": "plans/999999/steps/",
    "case": "cases/999999/",
}
# What only agents ask, with a token of the plan's lab: tests/api/test_plan_agents.py.
AGENTS = {"plan-seats", "plan-next", "part-meet", "part-finish"}
ANALYSES = ["influence", "coruns", "energy", "publishing"]
FACTS = [
    "systems",
    "runs",
    "cases",
    "cells",
    "comparisons",
    "flags",
    "plans",
    "snapshots",
]
LISTS = ["campaigns", "hosts", "power", *FACTS]
BY_CAMPAIGN = [*FACTS, *ANALYSES]
OF_ONES_LABS = ["agents"]
WITHOUT_LABS = {"bulk", "health", "parse", "schema", "docs", "time", "unknown"}
OUTSIDERS = ["nobody", "upload", "other upload", "other read"]


@pytest.fixture
def secret(submit, run_document, campaign, private_campaign, agent, freeze):
    """A doubtful run that nobody outside the lab may know of, and nothing else."""
    campaign.delete()
    submit(run_document(campaign="secret-study"))
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    checking.check_due_campaigns(timedelta(0))
    freeze(private_campaign)
    keep_power(agent=agent, document=piece(power(range(3))))
    create_plan(
        campaign=private_campaign,
        who="alice",
        title="A secret plan",
        design={
            "systems": [{"system": System.objects.get().pk}],
            "tools": [{"tool": "hackbench"}],
            "repetitions": 1,
            "warm_up": 0,
        },
        budget_s=60,
    )


@pytest.fixture(params=OUTSIDERS)
def outsider(request, token, other_token, other_read_token):
    secrets = ["", token, other_token, other_read_token]
    return dict(zip(OUTSIDERS, secrets, strict=True))[request.param]


def test_every_address_is_classified():
    named = {pattern.name for pattern in urlpatterns}

    assert named == {*DETAILS, *LISTS, *ANALYSES, *OF_ONES_LABS, *WITHOUT_LABS, *AGENTS}
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


@pytest.mark.parametrize("name", OF_ONES_LABS)
def test_a_list_of_ones_own_labs_holds_no_other_labs(
    anyone, reader, secret, outsider, name
):
    labs = {
        each["lab"] for each in anyone.get(f"{name}/", token=outsider).json()["results"]
    }

    assert labs <= {"beta-lab"}
    assert {each["lab"] for each in reader.get(f"{name}/").json()["results"]} == {
        "alpha-lab"
    }


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
