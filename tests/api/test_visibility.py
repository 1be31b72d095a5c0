"""Every URL of the API, requested by every kind of client, reveals no private data.

A new URL fails here until it is added to one of the groups below.
"""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from api.urls import urlpatterns
from benchmarks.collaboration.comments import CommentTarget, author_of, write_comment
from benchmarks.collaboration.saved_views import save_view
from benchmarks.datasets.tables import TABLES
from benchmarks.jobs.queue import JobKind
from benchmarks.labs.tokens import issue_token
from benchmarks.models import (
    Agent,
    Case,
    Comment,
    CustomTool,
    Flag,
    Host,
    Lab,
    Membership,
    Plan,
    Review,
    Run,
    SavedView,
    Study,
    System,
    Version,
)
from benchmarks.plans.planning import create_plan
from benchmarks.power.meter_logs import store_power_chunk
from benchmarks.publishing.generation_requests import request_generation
from benchmarks.publishing.published_reviews import store_review_files
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.uploads import intake, processing
from tests import job_queue, publications
from tests.api.conftest import Api
from tests.custom_tools import declare
from tests.module_data import standing
from tests.power_logs import chunk, power
from tests.upload_documents import network_run

# URLs of single objects, with functions that return the URL of the private object.
DETAILS = {
    "study": lambda: "studies/secret-study/",
    "host": lambda: f"hosts/{Host.objects.get().pk}/",
    "system": lambda: f"systems/{System.objects.get().pk}/",
    "run": lambda: f"runs/{Run.objects.get().pk}/",
    "samples": lambda: f"runs/{Run.objects.get().pk}/samples/",
    "profile": lambda: "profile/?study=secret-study",
    "flag": lambda: f"flags/{Flag.objects.get().pk}/",
    "plan": lambda: f"plans/{Plan.objects.get().pk}/",
    "plan-steps": lambda: f"plans/{Plan.objects.get().pk}/steps/",
    "case": lambda: f"cases/{Case.objects.get().pk}/",
    "version": lambda: f"versions/{Version.objects.get().pk}/",
    "custom-tool": lambda: f"custom-tools/{CustomTool.objects.get().pk}/",
    "version-file": lambda: f"versions/{Version.objects.get().pk}/csv/",
    "comment": lambda: f"comments/{Comment.objects.get().pk}/",
    "saved-view": lambda: f"saved-views/{SavedView.objects.get().pk}/",
    "review": lambda: f"reviews/{Review.objects.get().pk}/",
    "review-file": lambda: f"reviews/{Review.objects.get().pk}/review.csv/",
}
MISSING = {
    "study": "studies/missing/",
    "host": "hosts/999999/",
    "system": "systems/999999/",
    "run": "runs/999999/",
    "samples": "runs/999999/samples/",
    "profile": "profile/?study=missing-study",
    "flag": "flags/999999/",
    "plan": "plans/999999/",
    "plan-steps": "plans/999999/steps/",
    "case": "cases/999999/",
    "version": "versions/999999/",
    "custom-tool": "custom-tools/999999/",
    "version-file": "versions/999999/csv/",
    "comment": "comments/999999/",
    "saved-view": "saved-views/999999/",
    "review": "reviews/999999/",
    "review-file": "reviews/999999/review.csv/",
}
# URLs for agents of the lab only, tested by test_plans.py and test_custom_tools.py, and
# webhooks, which only editors and agents of the lab see (test_webhooks.py).
AGENTS = {
    *("custom-tool-versions", "plan-slots", "plan-next", "part-arrive", "part-finish"),
    *("webhooks", "webhook", "webhook-test", "webhook-deliveries"),
}
ANALYSES = [
    *("factor-effects", "coruns", "energy", "publishing"),
    *("sweeps", "network", "trend"),
]
FACTS = [
    "comments",
    "events",
    "systems",
    "runs",
    "cases",
    "cells",
    "comparisons",
    "flags",
    "plans",
    "sessions",
    "versions",
]
# URLs that pool the results of all visible studies.
POOLED = ["evidence"]
# URLs of tables as files.
DATA = ["data", "data-file", "study-file"]
LISTS = ["studies", "hosts", "power", "custom-tools", "saved-views", "reviews", *FACTS]
# Objects of the lab that are not shared with the study. The custom tool is one, because
# the study has no results of it.
NOT_SHARED = {"power", "custom-tools", "custom-tool", "saved-views", "saved-view"}
BY_STUDY = [*FACTS, *ANALYSES]
OWN_LABS = ["agents", "labs"]
WITHOUT_LABS = {
    *(
        "runs-bulk",
        "archives",
        "bundles",
        "enrolments",
        "health",
        "ready",
        "parse",
        "parse-machine",
        "schema",
        "docs",
        "time",
    ),
    "data-schema",
    "study-file-schema",
    "unknown",
}
LABS = ["alpha", "beta", "gamma"]
OUTSIDERS = ["nobody", "upload", "other upload", "other read", "friend upload"]


@pytest.fixture(scope="module")
def stored_tokens(django_db_setup, django_db_blocker):
    """Store a study of a lab, shared only with a second lab; yield tokens by client."""
    with standing(django_db_blocker):
        lab, other, friend = (Lab.objects.create(slug=f"{name}-lab") for name in LABS)
        agent = Agent.objects.create(lab=lab, name="alice")
        other_agent = Agent.objects.create(lab=other, name="bob")
        friendly_agent = Agent.objects.create(lab=friend, name="dora")
        store_private_study(lab, agent)
        update_study(
            study=Study.objects.get(), visibility="shared", shared_with=[friend.slug]
        )
        yield {
            "nobody": "",
            "read": issue_token(agent=agent, can_read=True)[1],
            "upload": issue_token(agent=agent, can_upload=True)[1],
            "other upload": issue_token(agent=other_agent, can_upload=True)[1],
            "other read": issue_token(agent=other_agent, can_read=True)[1],
            "friend upload": issue_token(agent=friendly_agent, can_upload=True)[1],
            "friend": issue_token(agent=friendly_agent, can_read=True)[1],
        }


def store_private_study(lab, agent):
    """Store one object of each kind in a private study."""
    study = Study.objects.create(lab=lab, slug="secret-study", title="A secret")
    Host.objects.create(lab=lab, slug="alpha")
    document = network_run(host="alpha", study=study.slug, session="secret day")
    intake.submit_runs(agent=agent, documents=[document])
    processing.process_due_uploads()
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    declare(lab)
    store_power_chunk(agent=agent, document=chunk(power(range(3))))
    create_plan(
        study=study,
        actor="alice",
        title="A secret plan",
        design={
            "systems": [{"system": System.objects.get().pk}],
            "tools": [{"tool": "hackbench"}],
            "repetitions": 1,
            "warm_up_rounds": 0,
        },
        budget_s=60,
    )
    checking.check_due_studies(timedelta(0))
    person = get_user_model().objects.create_user("carol")
    Membership.objects.create(lab=lab, user=person, role="maintainer")
    publications.published(study, person)
    write_comment(
        author=author_of(person), target=CommentTarget(study), text="A secret"
    )
    save_view(name="A secret", path="/compare/", person=person, lab=lab)
    store_review(study)


def store_review(study):
    """Store a review that is based on the study, as if the study had been public."""
    review = Review.objects.create(
        lab=study.lab,
        title="Of a secret",
        authors="Carol",
        published_by="carol",
        rule_set=2,
        content={"without_doubtful": False, "questions": [], "studies": []},
    )
    review.reviewed_studies.create(study=study)
    request_generation(JobKind.REVIEW, review)
    taken = job_queue.claim(review)
    store_review_files(review=taken, files={"review.csv": b"secret"})


@pytest.fixture
def lab_tokens(db, stored_tokens):
    return stored_tokens


@pytest.fixture
def reader(lab_tokens):
    """A client that may read the private data of the lab."""
    return Api(lab_tokens["read"])


@pytest.fixture(params=OUTSIDERS)
def outsider(request, lab_tokens):
    return lab_tokens[request.param]


def test_every_url_is_classified():
    named = {pattern.name for pattern in urlpatterns}

    of_labs = {*DETAILS, *LISTS, *DATA, *ANALYSES, *POOLED, *OWN_LABS}
    assert named == {*of_labs, *WITHOUT_LABS, *AGENTS}
    assert DETAILS.keys() == MISSING.keys()


@pytest.mark.parametrize("name", DETAILS)
def test_private_objects_are_404_like_missing_ones(anyone, lab_tokens, outsider, name):
    private = anyone.get(DETAILS[name](), token=outsider)
    missing = anyone.get(MISSING[name], token=outsider)

    assert private.status_code == missing.status_code == 404
    assert private.json()["code"] == missing.json()["code"] == "not_found"


@pytest.mark.parametrize("name", DETAILS)
def test_labs_can_read_their_private_objects(reader, lab_tokens, name):
    assert reader.get(DETAILS[name]()).status_code == 200


@pytest.mark.parametrize("name", LISTS)
def test_lists_contain_nothing_private(anyone, reader, lab_tokens, outsider, name):
    assert anyone.get(f"{name}/", token=outsider).json()["results"] == []
    assert len(reader.get(f"{name}/").json()["results"]) == 1


@pytest.mark.parametrize("name", OWN_LABS)
def test_lists_of_own_labs_contain_no_other_labs(
    anyone, reader, lab_tokens, outsider, name
):
    def labs(answer):
        field = "slug" if name == "labs" else "lab"
        return {row[field] for row in answer.json()["results"]}

    assert labs(anyone.get(f"{name}/", token=outsider)) <= {"beta-lab"}
    assert labs(reader.get(f"{name}/")) == {"alpha-lab"}


@pytest.mark.parametrize("name", DETAILS)
def test_labs_can_read_shared_objects(anyone, lab_tokens, name):
    answer = anyone.get(DETAILS[name](), token=lab_tokens["friend"])

    assert answer.status_code == (404 if name in NOT_SHARED else 200)


@pytest.mark.parametrize("name", LISTS)
def test_lists_contain_shared_objects(anyone, lab_tokens, name):
    found = anyone.get(f"{name}/", token=lab_tokens["friend"]).json()["results"]

    assert len(found) == (0 if name in NOT_SHARED else 1)


@pytest.mark.parametrize("name", BY_STUDY)
def test_labs_can_filter_by_shared_studies(anyone, lab_tokens, name):
    asked = {"token": lab_tokens["friend"], "study": "secret-study"}

    assert anyone.get(f"{name}/", **asked).status_code == 200


def test_unshared_objects_are_invisible(anyone, lab_tokens):
    update_study(study=Study.objects.get(), visibility="private")

    for name in LISTS:
        found = anyone.get(f"{name}/", token=lab_tokens["friend"])
        assert found.json()["results"] == [], name


@pytest.mark.parametrize("table", TABLES)
def test_files_contain_nothing_private(anyone, reader, lab_tokens, outsider, table):
    address = f"data/{table}/ndjson/"

    assert anyone.get(address, token=outsider).getvalue() == b""
    for token in (lab_tokens["read"], lab_tokens["friend"]):
        lines = anyone.get(address, token=token).getvalue().splitlines()
        assert len(lines) == 1, token
    listed = anyone.get("data/", token=outsider).json()["results"]
    assert {row["row_count"] for row in listed} == {0}


@pytest.mark.parametrize("address", ["data/", "data/samples/csv/", "study-file/"])
def test_files_do_not_reveal_that_a_study_exists(anyone, lab_tokens, outsider, address):
    private = anyone.get(address, token=outsider, study="secret-study")
    missing = anyone.get(address, token=outsider, study="missing-study")

    assert private.status_code == missing.status_code == 404
    said = private.json()["detail"].replace("secret", "missing")
    assert said == missing.json()["detail"]


@pytest.mark.parametrize("name", ANALYSES)
def test_labs_can_analyze_their_private_studies(reader, lab_tokens, name):
    assert reader.get(f"{name}/", study="secret-study").status_code == 200


@pytest.mark.parametrize("name", BY_STUDY)
def test_lists_do_not_reveal_that_a_study_exists(anyone, lab_tokens, outsider, name):
    private = anyone.get(f"{name}/", token=outsider, study="secret-study")
    missing = anyone.get(f"{name}/", token=outsider, study="missing-study")

    assert (private.status_code, missing.status_code) == (404, 404)
    assert (
        private.json()["detail"].replace("secret", "missing")
        == (missing.json()["detail"])
    )


@pytest.mark.parametrize("name", ["systems", "runs"])
def test_filters_by_id_or_slug_find_nothing_private(anyone, lab_tokens, outsider, name):
    query = {"systems": {"host": "alpha"}, "runs": {"system": System.objects.get().pk}}

    answer = anyone.get(f"{name}/", token=outsider, **query[name])

    assert answer.json()["results"] == []
